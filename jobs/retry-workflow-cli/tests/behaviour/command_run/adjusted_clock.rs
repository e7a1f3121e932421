//! The system clock is changed while a job waits: an hour back stops nothing, a day forward ends no
//! budget.
//!
//! The tests change it with libfaketime, for the command and everything that it starts; if that is
//! not installed, they are skipped and say so.

use std::path::Path;
use std::process::Command;

use retry_tests_support::faketime;

use super::support::{Place, Running, until};

/// A job with an item that fails once and records the system time.
fn place(wait: &str) -> Place {
    let workflow = format!(
        "name: job\nmap:\n  input: items.json\n  agent_template:\n    - shell: './work.sh'\n      retry_config: {{ attempts: 5, backoff: fixed, initial_delay: {wait}, max_elapsed: 1h, retry_budget: 30m }}\n"
    );
    Place::with(&workflow)
        .items(&["a"])
        .script("work.sh", "date +%s >> log; [ $(wc -l < log) -ge 2 ]")
        .file("wall", "+0")
}

fn command(place: &Place, library: &Path, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", place.path("wall"))
        .env("FAKETIME_NO_CACHE", "1")
        // Durations are measured with the monotonic clock, which cannot be set.
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("DONT_FAKE_MONOTONIC", "1");
    command
}

/// The change of the clock between the two attempts of the item, in hours.
fn hours_between(place: &Place) -> i64 {
    let log = place.read("log");
    let times: Vec<i64> = log.lines().map(|line| line.parse().unwrap()).collect();
    let &[first, second] = times.as_slice() else { panic!("{log}") };
    (second - first + 1_800).div_euclid(3_600)
}

const CHANGES: [(&str, i64); 2] = [("-1h", -1), ("+1d", 24)];

#[test]
fn a_wall_clock_set_during_a_wait_has_no_effect() {
    let Some(library) = faketime::library() else { return };
    for (change, hours) in CHANGES {
        let place = place("2s");
        let running = Running::spawned(&mut command(&place, &library, &["run", "job.yml"]));
        until("it has failed", || place.read("log").lines().count() == 1);
        place.write("wall", change);
        until("it is tried again", || place.read("log").lines().count() == 2);
        let ran = running.ended();
        assert_eq!(ran.code, Some(0), "{change}: {ran:#?}");
        assert_eq!(hours_between(&place), hours, "the wall was set");
    }
}

#[test]
fn a_wall_clock_set_between_two_processes_has_no_effect() {
    let Some(library) = faketime::library() else { return };
    for (change, hours) in CHANGES {
        let place = place("4s");
        let mut running = Running::spawned(&mut command(&place, &library, &["run", "job.yml"]));
        assert!(running.line_with(", next attempt in ").is_some());
        running.signal("INT");
        assert_eq!(running.ended().code, Some(1));
        place.write("wall", change);
        let resumed = Running::spawned(&mut command(&place, &library, &["resume"]));
        until("it is tried again", || place.read("log").lines().count() == 2);
        let ran = resumed.ended();
        assert_eq!(ran.code, Some(0), "{change}: {ran:#?}");
        assert_eq!(hours_between(&place), hours, "the wall was set");
    }
}
