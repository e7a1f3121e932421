//! A job whose process is killed, and jobs that several processes work on.

use std::process::Command;

use super::support::{Place, Running, parent, stores, until};

const MAP: &str = "\
name: job
map:
  input: items.json
  max_parallel: 2
  agent_template:
    - shell: './work.sh ${item.id}'
reduce:
  - shell: 'echo one >> reduced'
  - shell: './second.sh'
";

fn place(work: &str) -> Place {
    let ids: Vec<_> = (0..12).map(|id| format!("item-{id}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    Place::with(MAP).items(&ids).script("work.sh", work).script("second.sh", "echo two >> reduced")
}

#[test]
fn a_killed_job_resumes_its_unfinished_items() {
    // The last six wait.
    let place = place(
        "echo $1 >> begun; case $1 in *-[0-5]) ;; *) until [ -e go ]; do sleep 0.05; done;; esac; echo $1 >> ended",
    );
    let running = place.spawn(&["run", "job.yml", "--lease", "2s"]);
    until("some have ended", || place.read("ended").lines().count() >= 4);
    running.signal("KILL");
    assert_eq!(running.ended().code, None);
    place.write("go", "");
    let status = place.ends(0, &["status"]);
    // "until …", or "that is gone", once the lease is over.
    status.says("leases    ").says(" with a worker ");
    status.says("status    stopped\n").says("the process that worked on it is gone");
    let recorded = place.objects(&["items", "list", "job-1", "--state", "succeeded"]);
    let recorded: Vec<_> = recorded.iter().map(|item| item["id"].as_str().unwrap()).collect();
    let ran = place.ends(0, &["resume"]);
    ran.says("12 succeeded, of 12");
    let ended = place.sorted("ended");
    let once: std::collections::BTreeSet<_> = ended.iter().map(String::as_str).collect();
    assert_eq!(once.len(), 12);
    let mut lost = 0;
    for id in once {
        let runs = ended.iter().filter(|other| *other == id).count();
        // An attempt that had ended but was not recorded before the kill runs again as well.
        let most = if recorded.contains(&id) { 1 } else { 2 };
        assert!(runs <= most, "what is recorded is not run again: {id}, {ended:?}");
        let shown = place.object(&["dlq", "show", "job-1", id]);
        let history = shown["history"].as_array().unwrap();
        lost += history.iter().filter(|attempt| attempt["outcome"] == "lost").count();
    }
    // Those whose start was recorded.
    assert_eq!(ran.out.contains("lost with their worker"), lost > 0, "{lost}, {ran:#?}");
    assert_eq!(place.read("reduced"), "one\ntwo\n");
}

#[test]
fn lines_deleted_from_an_input_after_a_kill_lose_no_item() {
    for store in stores() {
        let place = Place::with(
            "name: job\nmap:\n  input: { command: ./list.sh }\n  agent_template:\n    - { shell: 'echo ${item} >> seen', when: \"${item} matches '^line (99.|10..|2.)$'\" }\n",
        )
        .on(store)
        .script("list.sh", "[ -e go ] || { head -n 1005 lines; sleep 60; }; cat lines; echo 'line 20'");
        let lines: Vec<_> = (1..=1_200).map(|number| format!("line {number}\n")).collect();
        place.write("lines", &lines.concat());
        let running = place.spawn(&["run", "job.yml", "--lease", "2s"]);
        until("all of them have run", || place.read("seen").lines().count() == 26);
        running.signal("KILL");
        running.ended();
        place.write("lines", &[&lines[..499], &lines[500..]].concat().concat());
        place.write("go", "");
        let ran = place.ends(0, &["resume"]);
        ran.says("1201 succeeded, of 1201");
        ran.says(", 1 no longer in the input, which stay in the job");
        let mut seen = place.sorted("seen");
        seen.dedup();
        assert_eq!(seen.len(), 120, "{seen:?}");
        let twice = place.object(&["dlq", "show", "job-1", "line 20~2"]);
        assert_eq!(twice["payload"], "line 20");
    }
}

/// Kills the job from within, once the test has written its process id.
const KILLS: &str =
    "while [ ! -f pid ]; do sleep 0.05; done; [ -f repaired ] || kill -9 $(cat pid)";

#[test]
fn a_job_that_is_killed_as_its_reduce_begins_runs_it_later() {
    let place = place("echo $1 >> log").script("second.sh", "echo two >> reduced");
    let workflow = place
        .read("job.yml")
        .replace("echo one >> reduced", &format!("{KILLS}; echo one >> reduced"));
    place.write("job.yml", &workflow);
    let running = place.spawn(&["run", "job.yml", "--lease", "2s"]);
    place.write("pid", &running.worker().to_string());
    assert_eq!(running.ended().code, None);
    place.write("repaired", "");
    place.write("reduced", "");
    place.ends(0, &["resume"]).says("12 succeeded, of 12");
    assert_eq!(place.read("log").lines().count(), 12);
    assert!(place.read("reduced").ends_with("one\ntwo\n"));
}

#[test]
fn a_job_killed_during_reduce_repeats_no_finished_step() {
    let place =
        place("echo $1 >> log").script("second.sh", &format!("{KILLS}\necho two >> reduced"));
    let running = place.spawn(&["run", "job.yml", "--lease", "2s"]);
    place.write("pid", &running.worker().to_string());
    assert_eq!(running.ended().code, None);
    place.write("repaired", "");
    place.ends(0, &["resume"]);
    assert_eq!(place.read("reduced").matches("one").count(), 1);
    assert!(place.read("reduced").contains("two"));
    assert_eq!(place.read("log").lines().count(), 12);
    let again = place.ends(0, &["resume", "job-1/reduce-1"]);
    again.says("job-1 has ended: there is nothing to resume");
}

#[test]
fn two_processes_may_go_on_with_a_job_and_each_item_is_run_once() {
    let place = place("echo $1 >> log; until [ -e go ]; do sleep 0.05; done");
    let running = place.spawn(&["run", "job.yml"]);
    until("some have begun", || place.read("log").lines().count() >= 2);
    place.stops(running, "go");
    let both = [place.spawn(&["resume"]), place.spawn(&["resume"])];
    for running in both {
        let ran = running.ended();
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran.says("12 succeeded, of 12");
    }
    assert_eq!(place.read("log").lines().count(), 12);
    assert_eq!(place.read("reduced"), "one\ntwo\n");
}

#[test]
fn a_second_process_may_join_while_the_first_one_works() {
    let place = place("echo $1 >> log; sleep 0.05");
    let first = place.spawn(&["run", "job.yml"]);
    until("some have begun", || place.read("log").lines().count() >= 2);
    let second = place.spawn(&["resume"]);
    for running in [first, second] {
        let ran = running.ended();
        assert_eq!(ran.code, Some(0), "{ran:#?}");
    }
    assert_eq!(place.read("log").lines().count(), 12);
    assert_eq!(place.read("reduced"), "one\ntwo\n");
}

/// As on a machine that sleeps: the first process is stopped for longer than its leases last.
#[test]
fn a_suspended_process_ends_commands_of_lost_items_on_wake_up() {
    let ids: Vec<_> = (0..5).map(|id| format!("item-{id}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let workflow = "\
name: job
map:
  input: items.json
  max_parallel: 5
  agent_template:
    - shell: './work.sh ${item.id}'
";
    let work = "echo $1 >> begun; while [ ! -f go ]; do sleep 0.05; done; echo $1 >> ended";
    let place = Place::with(workflow).items(&ids).script("work.sh", work);
    let first = place.spawn(&["run", "job.yml", "--lease", "1s"]);
    until("all have begun", || place.read("begun").lines().count() == 5);
    let worker = first.worker().to_string();
    let signal = |name: &str| {
        let sent = Command::new("kill").args(["-s", name, &worker]).status().unwrap();
        assert!(sent.success());
    };
    signal("STOP");
    let second = place.spawn(&["resume"]);
    until("another has all of them", || place.read("begun").lines().count() == 10);
    let runs = || {
        let listed = Command::new("pgrep").args(["-P", &worker]).output().unwrap();
        String::from_utf8(listed.stdout).unwrap().lines().count()
    };
    assert_eq!(runs(), 5);
    signal("CONT");
    until("it ends its commands", || runs() == 0);
    place.write("go", "");
    for running in [first, second] {
        let ran = running.ended();
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran.says("5 succeeded, of 5");
    }
    assert_eq!(place.sorted("ended"), ids, "once each");
}

#[test]
fn a_burst_of_kills_buries_no_item() {
    let work = "echo $1 >> begun; while [ ! -f go ]; do sleep 0.05; done";
    let place = place(work).items(&["item"]);
    for kill in 0..6 {
        let before = place.read("begun").lines().count();
        let events = std::fs::File::create(place.path("events")).unwrap();
        let mut command = place.command(&["run", "job.yml", "--continue", "--events"]);
        let running = Running::spawned(command.stdout(events));
        until("the item runs, or waits for a worker that lives for longer", || {
            let has_begun = place.read("begun").lines().count() > before;
            has_begun || place.read("events").contains(r#""reason":"new_worker""#)
        });
        let has_begun = place.read("begun").lines().count() > before;
        assert_eq!(has_begun, kill < 2, "no process is to blame it that has just begun");
        running.signal("KILL");
        assert_eq!(running.ended().code, None);
    }
    place.write("go", "");
    place.ends(0, &["resume"]).says("1 succeeded, of 1").says("2 lost with their worker");
}

#[test]
fn a_kill_within_an_item_restarts_it_at_its_first_step() {
    let place = Place::with(
        "name: job\nmap:\n  input: items.json\n  agent_template:\n    - shell: 'echo one >> log'\n    - shell: 'echo two >> log; ./second.sh'\n",
    )
    .items(&["a"])
    .script("second.sh", KILLS);
    let running = place.spawn(&["run", "job.yml"]);
    place.write("pid", &running.worker().to_string());
    assert_eq!(running.ended().code, None);
    place.write("repaired", "");
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), "one\ntwo\none\ntwo\n");
}

#[test]
#[cfg(target_os = "linux")]
fn a_start_right_after_a_kill_waits_until_the_worker_has_ended() {
    let place = place("echo $1 >> log; [ -e fast ] || sleep 30");
    let running = place.spawn(&["run", "job.yml"]);
    let worker = running.worker().to_string();
    until("items run", || place.read("log").lines().count() >= 2);
    // The worker cannot end itself before it continues.
    let signal = |name: &str| {
        assert!(Command::new("kill").args(["-s", name, &worker]).status().unwrap().success());
    };
    signal("STOP");
    running.signal("KILL");
    until("the keeper has ended", || parent(&worker) != Some(running.id()));
    place.write("fast", "");
    let mut again = place.spawn(&["run", "job.yml", "--continue"]);
    again.line_with("waiting for process").expect("a line about the worker");
    signal("CONT");
    let ran = again.ended();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    drop(running);
}
