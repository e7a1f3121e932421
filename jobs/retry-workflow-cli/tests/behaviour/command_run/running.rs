//! `run --continue` and `--if-running`: what `run` does if a job of the same file has not ended, or
//! another process is working on it.

use std::sync::mpsc;

use super::support::{Place, Running, stores, until};

fn place(work: &str) -> Place {
    let ids: Vec<_> = (0..8).map(|id| format!("item-{id}")).collect();
    Place::with(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 2\n  agent_template:\n    - shell: './work.sh ${item.id}'\nreduce:\n  - shell: 'echo on >> reduced; while [ -f hold ]; do sleep 0.05; done'\n",
    )
    .items(&ids.iter().map(String::as_str).collect::<Vec<_>>())
    .script("work.sh", work)
}

/// A job that is under way.
fn begun(place: &Place) -> Running {
    let running = place.spawn(&["run", "job.yml"]);
    until("some have begun", || place.read("log").lines().count() >= 2);
    running
}

/// Items that begin, and go on once there is a file `go`.
const HELD: &str = "echo $1 >> log; while [ ! -f go ]; do sleep 0.05; done";

fn jobs(place: &Place) -> usize {
    let jobs = place.objects(&["jobs"]);
    jobs.iter().filter(|job| !job["id"].as_str().unwrap().contains("/reduce-")).count()
}

#[test]
fn a_second_run_of_a_running_file_is_refused() {
    let place = place(HELD);
    place.write("hold", "");
    let first = begun(&place);
    let second = place.ends(4, &["run", "job.yml"]);
    let why = format!("error: job-1 of this file is running in process {}", first.worker());
    second.says(&why).says("with --if-running wait").says("with --if-running join");
    place.ends(4, &["run", "job.yml", "--continue"]).says(&why);
    // Also during `reduce`.
    place.write("go", "");
    until("it reduces", || !place.read("reduced").is_empty());
    place.ends(4, &["run", "job.yml"]).says(&why);
    std::fs::remove_file(place.path("hold")).unwrap();
    assert_eq!(first.ended().code, Some(0));
    assert_eq!(jobs(&place), 1);
    place.ends(0, &["run", "job.yml"]).says("job job-2: ");
}

#[test]
fn a_run_waits_for_the_end_of_another_and_begins_then() {
    let place = place(HELD);
    let first = begun(&place);
    let mut second = place.spawn(&["run", "job.yml", "--if-running", "wait"]);
    let told = second.line_with("waiting for job-1, which process ").unwrap();
    assert!(told.ends_with(&format!(" {} is working on", first.worker())), "{told}");
    assert_eq!(jobs(&place), 1);
    place.write("go", "");
    assert_eq!((first.ended().code, second.ended().code), (Some(0), Some(0)));
    assert_eq!((jobs(&place), place.read("log").lines().count()), (2, 16));
    assert_eq!(place.read("reduced"), "on\non\n");
}

#[test]
fn a_run_joins_another_and_each_item_is_run_once() {
    let place = place(HELD);
    let first = begun(&place);
    let second = place.spawn(&["run", "job.yml", "--if-running", "join"]);
    until("both work", || place.read("log").lines().count() >= 4);
    place.write("go", "");
    let second = second.ended();
    assert_eq!(second.code, Some(0));
    second.says("job job-1: ").says("8 succeeded, of 8");
    assert_eq!(first.ended().code, Some(0));
    assert_eq!((jobs(&place), place.read("log").lines().count()), (1, 8));
}

#[test]
fn a_process_without_items_waits_for_the_lease_of_another() {
    let place = place(HELD).items(&["a", "b"]);
    let first = begun(&place);
    let mut second = place.spawn(&["run", "job.yml", "--if-running", "join"]);
    let told = second.line_with(", waiting for another worker, whose lease lasts ").unwrap();
    assert!(told.starts_with("0 of 2 items (0 %)"), "{told}");
    place.write("go", "");
    assert_eq!((first.ended().code, second.ended().code), (Some(0), Some(0)));
}

#[test]
fn run_continue_resumes_an_unfinished_job_or_starts_one() {
    let place = place(HELD);
    let first = begun(&place);
    place.stops(first, "go");
    place.ends(0, &["run", "job.yml", "--continue"]).says("job job-1: ").says("8 succeeded, of 8");
    assert_eq!((jobs(&place), place.read("log").lines().count()), (1, 8));
    place.ends(0, &["run", "job.yml", "--continue"]).says("job job-2: ");
    // Without `--continue`, `run` starts a new job.
    place.write("work.sh", "#!/bin/sh\nexit 1\n");
    place.ends(3, &["run", "job.yml"]).says("job job-3: ");
}

#[test]
#[cfg(target_os = "linux")]
fn a_job_whose_process_was_killed_is_not_running() {
    let place = place(HELD);
    let first = begun(&place);
    first.signal("KILL");
    assert_eq!(first.ended().code, None);
    place.write("go", "");
    // Without waiting for its leases of 30 s to expire.
    let again = place.ends(0, &["run", "job.yml", "--continue"]);
    again.says("job job-1: ").says("8 succeeded, of 8").says("2 lost with their worker");
}

#[test]
fn runs_that_begin_at_once_make_one_job() {
    for arguments in [&["run", "job.yml"][..], &["run", "job.yml", "--continue"]] {
        let place = place(HELD);
        let (tell, ends) = mpsc::channel();
        for one in [(); 6].map(|()| place.spawn(arguments)) {
            let tell = tell.clone();
            std::thread::spawn(move || tell.send(one.ended().code));
        }
        let refused: Vec<_> = ends.iter().take(5).collect();
        assert_eq!(refused, [Some(4); 5], "{arguments:?}");
        place.write("go", "");
        assert_eq!(ends.recv(), Ok(Some(0)), "{arguments:?}");
        assert_eq!((jobs(&place), place.read("log").lines().count()), (1, 8));
    }
}

#[test]
fn a_job_has_the_id_that_it_is_given() {
    let place = place(HELD);
    let nightly = ["run", "job.yml", "--job-id", "night 2026-11-22"];
    let first = place.spawn(&nightly);
    until("some have begun", || place.read("log").lines().count() >= 2);
    let other = ["run", "job.yml", "--if-running", "join", "--job-id", "other"];
    place.ends(4, &other).says("night 2026-11-22 of this file is running").says("remove --job-id");
    place.ends(4, &nightly).says("night 2026-11-22 of this file is running");
    place.stops(first, "go").says("resume 'night 2026-11-22'");
    let again = place.ends(2, &nightly);
    again.says("there is already a job night 2026-11-22 of this file, which has not ended");
    again.says("resume it with --continue, or choose another --job-id");
    place.write("other.yml", &place.read("job.yml").replace("name: job", "name: other"));
    let other = place.ends(2, &["run", "other.yml", "--continue", "--job-id", "night 2026-11-22"]);
    other.says("which belongs to another file: choose another --job-id");
    let went_on = place.ends(0, &[&nightly[..], &["--continue"]].concat());
    went_on.says("job night 2026-11-22: ").says("8 succeeded, of 8");
    for arguments in [&nightly[..], &[&nightly[..], &["--continue"]].concat()] {
        let ended = place.ends(2, arguments);
        ended.says("night 2026-11-22 has ended: choose another --job-id, have its end reported");
        ended.says("with: retry-workflow jobs rm 'night 2026-11-22'");
    }
    assert_eq!((jobs(&place), place.read("log").lines().count()), (1, 8));
    // The requested job is started, whatever others there are.
    place.ends(0, &["run", "job.yml", "--continue", "--job-id", "job-7"]).says("job job-7: ");
    place.ends(0, &["run", "job.yml"]).says("job job-8: ");
}

#[test]
fn a_file_is_the_same_whatever_path_leads_to_it() {
    for store in stores() {
        let place = place(HELD).on(store);
        std::fs::create_dir(place.path("sub")).unwrap();
        std::os::unix::fs::symlink(place.path("job.yml"), place.path("link.yml")).unwrap();
        let running = place.spawn(&["run", "job.yml"]);
        until("some have begun", || place.read("log").lines().count() >= 2);
        for path in ["sub/../job.yml", "link.yml"] {
            place.ends(4, &["run", path]).says("job-1 of this file is running");
        }
        running.signal("INT");
        place.write("go", "");
        assert_eq!(running.ended().code, Some(1));
        let ran = place.ends(0, &["run", "link.yml", "--continue"]);
        ran.says("job job-1: link.yml").says("8 succeeded, of 8");
        assert_eq!((jobs(&place), place.read("log").lines().count()), (1, 8));
    }
}

/// Copies the files to a folder of their own, to which the link `current` then leads.
fn release(place: &Place, number: &str) {
    let folder = place.path(number);
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["job.yml", "items.json", "work.sh"] {
        std::fs::copy(place.path(name), folder.join(name)).unwrap();
    }
    let _ = std::fs::remove_file(place.path("current"));
    std::os::unix::fs::symlink(&folder, place.path("current")).unwrap();
}

/// A job of release 1 that has stopped, and the number of items that it has done; release 2 has
/// replaced it.
fn released_again(store: Option<String>, arguments: &[&str]) -> (Place, usize) {
    let place = place(HELD).on(store);
    release(&place, "1");
    let running = place.spawn(arguments);
    until("some have begun", || place.read("1/log").lines().count() >= 2);
    running.signal("INT");
    place.write("1/go", "");
    assert_eq!(running.ended().code, Some(1));
    let done = place.read("1/log").lines().count();
    release(&place, "2");
    (place, done)
}

#[test]
fn a_job_with_a_given_id_continues_with_the_file_of_the_next_release() {
    for store in stores() {
        let nightly = ["run", "current/job.yml", "--continue", "--job-id", "night"];
        let (place, done) = released_again(store, &nightly);
        place.write("2/go", "");
        let ran = place.ends(0, &nightly);
        ran.says("night was started from ").says("8 succeeded, of 8");
        assert_eq!(place.read("2/log").lines().count(), 8 - done);
        place.ends(2, &nightly).says("night has ended");
    }
}

#[test]
fn a_job_resumed_after_its_link_has_moved_is_a_job_of_the_next_release() {
    for store in stores() {
        let (place, done) = released_again(store, &["run", "current/job.yml"]);
        let mut resumed = place.spawn(&["resume", "job-1"]);
        let moved = resumed.line_with("job-1 was started from ").unwrap();
        assert!(moved.ends_with("/2/job.yml"), "{moved}");
        until("some have begun", || place.read("2/log").lines().count() >= 2);
        place.ends(4, &["run", "current/job.yml"]).says("job-1 of this file is running");
        place.write("2/go", "");
        assert_eq!(resumed.ended().code, Some(0));
        assert_eq!((jobs(&place), place.read("2/log").lines().count()), (1, 8 - done));
    }
}

#[test]
fn a_change_of_the_mode_is_mentioned_by_the_next_job() {
    let place = place(HELD);
    let running = place.spawn(&["run", "job.yml"]);
    until("some have begun", || place.read("log").lines().count() >= 2);
    running.signal("INT");
    place.write("go", "");
    assert_eq!(running.ended().code, Some(1));
    place.write("job.yml", "name: job\nmode: standard\ncommands:\n- shell: 'true'\n");
    let ran = place.ends(0, &["run", "job.yml", "--continue"]);
    ran.says("job job-2: ").says("although job-1 has not ended: ");
    ran.says("now says `mode: standard`, but the job was started with mode mapreduce");
    let named = ["run", "job.yml", "--continue", "--job-id", "job-1"];
    place.ends(2, &named).says("now says `mode: standard`");
}

/// As a supervisor starts them: each process again until it ends with code 0 or 3.
#[test]
fn a_worker_that_is_started_again_after_the_end_of_its_job_reports_that_end() {
    let place = place("echo $1 >> log; [ ! -f bad ] || [ $1 != item-3 ]");
    let worker = ["run", "job.yml", "--job-id", "night", "--continue", "--if-running", "join"];
    let reports = [&worker[..], &["--if-ended", "report"]].concat();
    place.write("bad", "");
    // It begins a job that is not there, and reports nothing before the end.
    place.ends(3, &reports).says("job night: ").says("7 succeeded, 1 dead letter, of 8");
    let ended = place.ends(3, &reports);
    ended.says("night has ended: there is nothing to resume").says("to inspect 1 dead letter");
    place.ends(2, &worker).says("night has ended: ").says("--if-ended report");
    std::fs::remove_file(place.path("bad")).unwrap();
    place.ends(0, &["dlq", "retry", "--all"]);
    place.ends(0, &reports).says("night has ended: there is nothing to resume");
    assert_eq!(place.object(&reports)["status"]["status"], "finished");
    assert_eq!((jobs(&place), place.read("log").lines().count()), (1, 9));
    // A job of another file is left alone.
    place.write("other.yml", &place.read("job.yml").replace("name: job", "name: other"));
    let other = [&["run", "other.yml"], &reports[2..]].concat();
    place.ends(2, &other).says("which belongs to another file");
    place.ends(2, &["run", "job.yml", "--if-ended", "report"]).says("--job-id");
}

#[test]
fn the_id_of_a_job_is_checked_as_its_name_is() {
    let place = place(HELD);
    place.ends(2, &["run", "job.yml", "--job-id", " "]).says("it is empty");
    let control = place.ends(2, &["run", "job.yml", "--job-id", "a\u{1b}[2J"]);
    control.says("it contains the control character `\\u{1b}`");
    assert!(!place.path("retry-workflow.db").exists());
}
