//! Processes that commands leave behind, orphaned or in their own session: they end with the
//! command, whichever process is killed.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::support::{Place, Running, until};

/// Starts three processes that keep writing: one in the background, one in its own session, and one
/// whose parent ends at once.
const STARTS: &str = "\
./beat.sh plain &
setsid ./beat.sh session &
(setsid sh -c './beat.sh orphan & exit' &)
wait; sleep 60";

const BEATS: [&str; 3] = ["plain", "session", "orphan"];

fn place(step: &str) -> Place {
    let workflow = format!(
        "name: job\nmap:\n  input: items.json\n  agent_template:\n    - shell: './work.sh'\n{step}"
    );
    Place::with(&workflow)
        .items(&["a"])
        // Over as well once its folder has gone: nothing outlives the tests.
        .script(
            "beat.sh",
            "while [ -e beat.sh ] && [ ! -e over ]; do echo x >> \"$1\"; sleep 0.02; done",
        )
        .script("work.sh", STARTS)
}

fn all_beat(place: &Place) {
    until("all have begun", || BEATS.iter().all(|name| place.read(name).len() > 2));
}

/// Asserts that nothing writes any more.
#[track_caller]
fn none_beats(place: &Place) {
    let lengths = || BEATS.map(|name| place.read(name).len());
    let before = lengths();
    std::thread::sleep(Duration::from_millis(200));
    let after = lengths();
    // End them even if the test fails.
    place.write("over", "");
    assert_eq!(before, after);
}

fn signal(name: &str, to: &str) {
    assert!(Command::new("kill").args(["-s", name, "--", to]).status().unwrap().success());
}

#[test]
fn a_timeout_ends_all_that_the_command_has_started() {
    let place = place("      timeout: 1s\n");
    // Until all of them have begun in time.
    until("all have begun", || {
        place.ends(3, &["run", "job.yml"]).says("timed out after");
        BEATS.iter().all(|name| place.read(name).len() > 2)
    });
    none_beats(&place);
}

#[test]
fn one_that_ignores_the_polite_signal_of_a_timeout_is_killed() {
    let place = place("      timeout: 1s\n").script(
        "beat.sh",
        "trap '' TERM; while [ ! -e over ]; do echo x >> \"$1\"; sleep 0.02; done",
    );
    place.ends(3, &["run", "job.yml"]);
    none_beats(&place);
}

#[test]
fn an_input_that_is_read_no_further_ends_all_that_its_command_has_started() {
    let workflow = "name: job\nmap:\n  input: { command: ./input.sh }\n  max_items: 1\n  \
                    agent_template:\n    - shell: 'true'\n";
    let begun = BEATS.map(|name| format!("until [ -s {name} ]; do sleep 0.02; done")).join("; ");
    let place = place("").script(
        "input.sh",
        &STARTS.replace("wait;", &format!("{begun}; printf '{{\"id\": 1}}\\n{{\"id\": 2}}\\n';")),
    );
    place.write("job.yml", workflow);
    place.ends(0, &["run", "job.yml"]).says("1 succeeded");
    none_beats(&place);
}

#[test]
fn stopping_at_once_ends_them() {
    let place = place("");
    let mut running = place.spawn(&["run", "job.yml"]);
    all_beat(&place);
    running.signal("INT");
    assert!(running.line_with("press Ctrl-C again to stop at once").is_some());
    running.signal("INT");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("stopped at once");
    none_beats(&place);
}

#[test]
fn they_end_if_the_process_that_was_started_is_killed() {
    let place = place("");
    let running = place.spawn(&["run", "job.yml", "--lease", "200ms"]);
    all_beat(&place);
    running.signal("KILL");
    // The command's outputs stay open for as long as its worker runs.
    assert_eq!(running.ended().code, None);
    none_beats(&place);
    let place = place.script("work.sh", "exit 0");
    place.ends(0, &["resume"]).says("1 succeeded");
}

#[test]
fn commands_end_if_the_worker_or_the_supervisor_is_killed() {
    let place = place("");
    let running = place.spawn(&["run", "job.yml"]);
    all_beat(&place);
    signal("KILL", &running.worker().to_string());
    assert_eq!(running.ended().code, None);
    none_beats(&place);
}

#[test]
fn a_signal_to_the_whole_group_is_one_request() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'echo x >> begun; until [ -e go ]; do sleep 0.02; done; echo x >> ended'\n  - shell: 'echo x >> second'\n",
    );
    for name in ["INT", "TERM"] {
        let mut command = place.command(&["run", "job.yml"]);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let _ = ["begun", "go"].map(|file| fs::remove_file(place.path(file)));
        let mut running = Running::spawned(&mut command);
        until("it runs", || !place.read("begun").is_empty());
        signal(name, &format!("-{}", running.id()));
        running.line_with("stopping: ").unwrap();
        place.write("go", "");
        let ran = running.ended();
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        ran.says("stopped: it was requested to stop");
    }
    assert_eq!(place.read("ended"), "x\nx\n", "what ran has come to its end");
    assert_eq!(place.read("second"), "");
}

#[test]
fn adopted_processes_are_reaped() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'for i in 1 2 3 4 5 6 7 8; do (setsid sleep 0.1 &) ; done; echo x > begun'\n  - shell: 'while [ ! -e over ]; do sleep 0.02; done'\n",
    );
    let running = place.spawn(&["run", "job.yml"]);
    until("all have begun", || !place.read("begun").is_empty());
    let worker = running.worker();
    let zombies = || {
        let stats = fs::read_dir("/proc").unwrap().filter_map(|it| {
            let stat = fs::read_to_string(it.ok()?.path().join("stat")).ok()?;
            Some(stat.rsplit_once(") ")?.1.to_owned())
        });
        stats.filter(|stat| stat.starts_with(&format!("Z {worker} "))).count()
    };
    until("some have ended", || zombies() > 0);
    until("none is kept", || zombies() == 0);
    place.write("over", "");
    assert_eq!(running.ended().code, Some(0));
}

#[test]
fn background_processes_of_a_successful_step_keep_running() {
    let place = place("").script("work.sh", "setsid ./beat.sh session >/dev/null 2>&1 & exit 0");
    place.ends(0, &["run", "job.yml"]);
    let before = place.read("session").len();
    until("it goes on", || place.read("session").len() > before + 4);
    place.write("over", "");
}

#[test]
fn a_job_inside_a_job_has_a_keeper_of_its_own() {
    let place = place("");
    let name = env!("CARGO_BIN_EXE_retry-workflow");
    let inner = format!("'{name}' run --store inner.db inner.yml & wait; sleep 60");
    let place = place
        .file("inner.yml", "name: inner\ncommands:\n  - shell: './begin.sh'\n")
        .script("begin.sh", STARTS)
        .script("work.sh", &inner);
    let running = place.spawn(&["run", "job.yml"]);
    all_beat(&place);
    signal("KILL", &running.worker().to_string());
    assert_eq!(running.ended().code, None);
    none_beats(&place);
}
