//! Ctrl-C and the signals that stop a service: once, and twice.

use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use super::support::{Place, Running, until};

/// A map over six items, two at a time; each takes a moment.
fn place(work: &str) -> Place {
    Place::with(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 2\n  agent_template:\n    - shell: './work.sh ${item.id}'\nreduce:\n  - shell: 'echo ${map.successful} >> reduced'\n",
    )
    .items(&["a", "b", "c", "d", "e", "f"])
    .script("work.sh", work)
}

/// Notes its begin and, once there is a file `go`, its end.
const HELD: &str =
    "echo \"begin $1\" >> log; while [ ! -e go ]; do sleep 0.05; done; echo \"end $1\" >> log";

#[track_caller]
fn stops_and_goes_on(signal: &str) {
    let place = place(HELD);
    let mut running = place.spawn(&["run", "job.yml"]);
    until("two have begun", || place.read("log").lines().count() == 2);
    running.signal(signal);
    let said = "stopping: waiting for running items to finish; press Ctrl-C again to stop at once";
    running.line_with(said).unwrap();
    place.write("go", "");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("job job-1: stopped: it was requested to stop").says("2 succeeded, 4 to do, of 6");
    ran.says("to resume: retry-workflow resume job-1");
    assert_eq!(place.sorted("log").len(), 4, "what had begun has ended");
    assert_eq!(place.read("reduced"), "");
    let status = place.ends(0, &["status"]);
    status.says("next      an item can run now").says("resume    retry-workflow resume");
    place.ends(0, &["resume"]).says("6 succeeded, of 6");
    let begun = place.sorted("log").iter().filter(|line| line.starts_with("begin")).count();
    assert_eq!(begun, 6, "none is run twice");
    assert_eq!(place.read("reduced"), "6\n");
}

#[test]
fn an_interrupted_job_lets_running_items_end_and_is_gone_on_with() {
    stops_and_goes_on("INT");
}

#[test]
fn a_terminated_job_does_the_same() {
    stops_and_goes_on("TERM");
}

#[test]
fn a_job_whose_terminal_closes_or_quits_stops_and_resumes() {
    stops_and_goes_on("QUIT");
    // If the test suite was started with `nohup`, its children ignore the signal as well.
    if ignored(std::process::id()) & 1 == 0 {
        stops_and_goes_on("HUP");
    }
}

/// The signals that a process ignores, one bit each.
fn ignored(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn a_job_started_by_nohup_outlives_its_terminal() {
    let place = place("echo $1 >> log; sleep 0.1");
    let name = env!("CARGO_BIN_EXE_retry-workflow");
    let line = format!("trap '' HUP; exec '{name}' run job.yml");
    let child = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(place.path("."))
        .env_remove("RETRY_WORKFLOW_STORE")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    until("two have begun", || place.read("log").lines().count() >= 2);
    let id = child.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-s", "HUP", &id]).status().unwrap().success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(place.read("log").lines().count(), 6);
}

#[test]
fn two_hangups_of_a_terminal_count_once() {
    if ignored(std::process::id()) & 1 == 1 {
        return;
    }
    let place = place(HELD);
    let mut running = place.spawn(&["run", "job.yml"]);
    until("two have begun", || place.read("log").lines().count() == 2);
    running.signal("HUP");
    assert!(running.line_with("stopping: ").is_some());
    running.signal("HUP");
    place.write("go", "");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("to resume: retry-workflow resume job-1");
    assert_eq!(place.sorted("log").len(), 4, "what had begun has ended");
}

#[test]
fn a_second_signal_ends_commands_and_all_that_they_have_started() {
    // These neither end by themselves nor on SIGTERM.
    let place = place(
        "trap 'echo asked >> asked' TERM; while :; do echo x >> beats; sleep 0.02; done & wait; wait",
    );
    let mut running = place.spawn(&["run", "job.yml"]);
    until("they run", || place.read("beats").len() > 4);
    running.signal("INT");
    assert!(running.line_with("press Ctrl-C again to stop at once").is_some());
    running.signal("TERM");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(place.read("asked"), "", "at once is without a word");
    ran.says(
        "stopped at once; to resume, and restart what was running: retry-workflow resume \
              job-1",
    );
    let beats = place.read("beats").len();
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(place.read("beats").len(), beats, "they are gone");
    let status = place.object(&["status"]);
    assert_eq!((&status["counts"]["leased"], &status["counts"]["pending"]), (&0.into(), &6.into()));
}

#[test]
fn a_job_that_only_waits_stops_at_once() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'echo x >> log; false'\n    retry_config: { attempts: 3, backoff: fixed, initial_delay: 10h, max_delay: 10h }\n",
    );
    let mut running = place.spawn(&["run", "job.yml"]);
    assert!(running.line_with(", next attempt in 9h 59m").is_some());
    place.ends(0, &["status"]).says("next      nothing until ").says("Z, in 9h 59m");
    running.signal("INT");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(place.read("log"), "x\n");
}

#[test]
fn a_job_stopped_before_its_reduce_resumes_with_it() {
    let place = place("echo $1 >> log; while [ ! -e go ]; do sleep 0.05; done");
    let running = place.spawn(&["run", "job.yml", "--max-parallel", "6"]);
    until("all have begun", || place.read("log").lines().count() == 6);
    place.stops(running, "go");
    assert_eq!(place.read("reduced"), "");
    place.ends(0, &["resume"]);
    assert_eq!((place.read("log").lines().count(), place.read("reduced")), (6, "6\n".to_owned()));
}

/// As `timeout 6h retry-workflow run` sends it: to the process that it has started, and to its group.
#[track_caller]
fn sent_twice_is_one_request(signal: &str) {
    let place = place(HELD);
    let mut command = place.command(&["run", "job.yml"]);
    let mut running = Running::spawned(command.process_group(0));
    until("two have begun", || place.read("log").lines().count() == 2);
    let id = running.id();
    let twice = format!("kill -s {signal} {id}; kill -s {signal} -- -{id}; kill -s CONT -- -{id}");
    let sent = std::process::Command::new("sh").args(["-c", &twice]).status().unwrap();
    assert!(sent.success());
    assert!(running.line_with("stopping: ").is_some());
    place.write("go", "");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("to resume: retry-workflow resume job-1").says("2 succeeded, 4 to do, of 6");
    assert_eq!(place.sorted("log").len(), 4, "what had begun has ended");
}

#[test]
fn a_signal_that_timeout_sends_twice_is_one_request() {
    sent_twice_is_one_request("TERM");
    sent_twice_is_one_request("INT");
}

#[test]
fn a_signal_that_is_sent_again_later_is_a_second_request() {
    let place = place("while [ ! -e end ]; do sleep 0.05; done");
    let mut command = place.command(&["run", "job.yml"]);
    let mut running = Running::spawned(command.process_group(0));
    assert!(running.line_with("0 of 6").is_some());
    let group = format!("-{}", running.id());
    let sent = std::process::Command::new("kill").args(["-s", "TERM", "--", &group]).status();
    assert!(sent.unwrap().success());
    assert!(running.line_with("stopping: ").is_some());
    std::thread::sleep(Duration::from_millis(1_100));
    running.signal("TERM");
    let ran = running.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("stopped at once; to resume");
}
