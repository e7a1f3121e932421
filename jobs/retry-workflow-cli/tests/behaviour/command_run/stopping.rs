//! Stopping is not failing: Ctrl-C on a terminal, which also reaches commands that have just been
//! started, and services whose processes are all signalled at once.
//!
//! `CTRL_CS=100 CTRL_C_ITEMS=20000 cargo test --test behaviour stopping:: -- --nocapture` presses
//! more often.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use super::support::{Place, until};

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

/// Runs the command on a terminal, with a channel that reports when it first shows items.
fn on_terminal(place: &Place, arguments: &[&str]) -> (Child, Pty, Receiver<()>) {
    let (terminal, side) = open().unwrap();
    terminal.resize(Size::new(24, 80)).unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_retry-workflow")).args(arguments);
    let command = command.current_dir(place.path(".")).env_remove("RETRY_WORKFLOW_STORE");
    let child = command.spawn(side).unwrap();
    let copy = std::os::fd::AsFd::as_fd(&terminal).try_clone_to_owned().unwrap();
    let (tell, shows_items) = channel();
    std::thread::spawn(move || {
        let mut screen = std::fs::File::from(copy);
        let (mut bytes, mut shown) = ([0; 4096], Vec::new());
        // Reading ends with an error when the terminal is gone.
        while let Ok(read @ 1..) = screen.read(&mut bytes) {
            let is_new = !has_items(&shown);
            shown.extend_from_slice(&bytes[..read]);
            if is_new && has_items(&shown) {
                // The reader of the output is gone.
                let _ = tell.send(());
            }
        }
    });
    (child, terminal, shows_items)
}

fn has_items(shown: &[u8]) -> bool {
    shown.windows(7).any(|part| part == b" items ")
}

#[test]
fn ctrl_c_on_a_terminal_makes_no_dead_letter() {
    let (presses, items) = (number("CTRL_CS", 8), number("CTRL_C_ITEMS", 360));
    // The last third waits, so that no job ends before it is stopped.
    let fast = items / 3 * 2;
    let place = Place::with(&format!(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 8\n  agent_template:\n    - shell: '[ ${{item.id}} -lt {fast} ] || [ -e go ] || sleep 0.3; exec true'\n",
    ));
    let ids: Vec<_> = (0..items).map(|id| id.to_string()).collect();
    let place = place.items(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let random = RandomState::new();
    for press in 0..presses {
        let arguments: &[&str] = if press == 0 { &["run", "job.yml"] } else { &["resume"] };
        let (mut child, mut terminal, shows_items) = on_terminal(&place, arguments);
        shows_items.recv().expect("it shows its items");
        std::thread::sleep(Duration::from_millis(random.hash_one(press) % 200));
        terminal.write_all(b"\x03").unwrap();
        if press % 4 == 3 {
            std::thread::sleep(Duration::from_millis(random.hash_one(press) % 10));
            // It may have ended by then.
            let _ = terminal.write_all(b"\x03");
        }
        assert_ne!(
            child.wait().unwrap().code(),
            Some(0),
            "the job has ended before it was stopped"
        );
    }
    place.write("go", "");
    place.ends(0, &["resume"]);
    let counts = &place.object(&["status", "job-1"])["counts"];
    println!("{presses} times Ctrl-C: {counts}");
    assert_eq!((&counts["succeeded"], &counts["dead"]), (&items.into(), &0.into()), "{counts}");
}

/// A job with a step that writes its process id and waits for a signal.
fn waiting() -> Place {
    let step = "name: job\nmap:\n  input: items.json\n  agent_template:\n    - shell: './work.sh'\n      retry_config: { attempts: 1 }\n      on_failure: continue\n    - shell: 'echo on >> log'\n";
    Place::with(step).items(&["a"]).script("work.sh", "echo $$ > pid; sleep 5 & wait")
}

fn signal(name: &str, ids: &[String]) {
    let sent = std::process::Command::new("kill").args(["-s", name]).args(ids).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_command_that_dies_of_the_signal_that_stops_its_job_is_put_back() {
    for is_first in [true, false] {
        let place = waiting();
        let running = place.spawn(&["run", "job.yml"]);
        until("it runs", || !place.read("pid").trim().is_empty());
        let pid = [place.read("pid").trim().to_owned()];
        // As a service manager does: one process after the other.
        if is_first {
            signal("TERM", &pid);
            std::thread::sleep(Duration::from_millis(20));
            running.signal("TERM");
        } else {
            running.signal("TERM");
            signal("TERM", &pid);
        }
        let ran = running.ended();
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        let status = place.object(&["status", "job-1"]);
        let counts = &status["counts"];
        assert_eq!((&counts["pending"], &counts["attempts"]), (&1.into(), &0.into()), "{counts}");
        assert_eq!(place.read("log"), "", "no further step was started");
    }
}

#[test]
fn a_command_that_dies_of_a_signal_of_its_own_has_failed() {
    let place = Place::with("name: job\ncommands:\n  - shell: 'kill -TERM $$'\n");
    place.ends(1, &["run", "job.yml"]).says("terminated by signal 15");
    let place = Place::with("name: job\ncommands:\n  - shell: 'exit 130'\n");
    place.ends(1, &["run", "job.yml"]).says("exit status 130");
}

#[test]
fn signals_for_users_and_timers_are_requests_to_stop() {
    for name in ["USR1", "USR2", "ALRM"] {
        for all in [false, true] {
            let place = Place::with(
                "name: job\ncommands:\n  - shell: 'echo on > begun; until [ -e go ]; do sleep 0.05; done; echo end > log'\n  - shell: 'echo no >> log'\n",
            );
            let mut running = place.spawn(&["run", "job.yml"]);
            let ids = [running.id(), running.worker()].map(|id| id.to_string());
            until("it runs", || !place.read("begun").is_empty());
            // At once: later, the second one would be a second request.
            signal(name, &ids[..if all { 2 } else { 1 }]);
            running.line_with("stopping: ").unwrap();
            place.write("go", "");
            let ran = running.ended();
            assert_eq!(ran.code, Some(1), "{name} {ran:#?}");
            assert_eq!(place.read("log"), "end\n", "{name}, {all}: {ran:#?}");
        }
    }
}
