//! `not_before` and `skip_after`: the begin of jobs, and items that come too late.

use super::support::{Place, stores, until};

#[test]
fn nothing_begins_before_its_time_and_all_parts_wait_once() {
    let file = "name: later\nnot_before: 1h\nmap:\n  input: items.json\n  agent_template: { shell: 'echo >> ran' }\nsetup: { shell: 'echo >> ran' }\n";
    let place = Place::with(file).items(&["a", "b"]);
    let mut running = place.spawn(&["run", "job.yml"]);
    running.line_with(", starts in ").unwrap();
    running.signal("INT");
    assert_eq!((running.ended().code, &*place.read("ran")), (Some(1), ""));
    place.backdate("later-1");
    place.ends(0, &["resume", "--deadline", "1m"]);
    assert_eq!(place.read("ran"), "\n\n\n");
}

#[test]
fn one_file_runs_after_another_by_the_shell() {
    let import = "name: import\nmap:\n  input: items.json\n  agent_template: { shell: '[ -e repaired ]' }\nreduce: { shell: 'touch reducing; while [ ! -e go ]; do sleep 0.05; done; echo import >> order' }\n";
    let export = "name: export\ncommands: [{ shell: 'echo export >> order' }]\n";
    for store in stores() {
        let place = Place::new().on(store).items(&["a"]).file("import.yml", import);
        let place = place.file("export.yml", export);
        let import = ["run", "import.yml", "--job-id", "import-1", "--continue"];
        let import = [&import[..], &["--if-running", "wait", "--if-ended", "report"]].concat();
        place.write("go", "");
        assert_eq!(place.ran(&import).code, Some(3), "a dead letter");
        assert_eq!(place.ran(&import).code, Some(3), "the same end is reported");
        std::fs::remove_file(place.path("go")).unwrap();
        std::fs::remove_file(place.path("reducing")).unwrap();
        place.write("repaired", "");
        let again = place.spawn(&["dlq", "retry", "import-1"]);
        until("it reduces", || place.path("reducing").exists());
        let mut waits = place.spawn(&import);
        waits.line_with("waiting for ").unwrap();
        assert_eq!(place.read("order"), "import\n", "the first reduce");
        place.write("go", "");
        assert_eq!((again.ended().code, waits.ended().code), (Some(0), Some(0)));
        place.ends(0, &["run", "export.yml"]);
        assert_eq!(place.read("order"), "import\nimport\nexport\n");
    }
}

/// A night's job, which may begin items for an hour. Item `a` fails until there is a file
/// `repaired`, once there is a file `on`, and so does `reduce`.
const NIGHT: &str = "\
name: night
skip_after: 1h
error_policy: { max_failures: 2 }
map:
  input: items.json
  max_parallel: 1
  agent_template:
    - shell: 'echo ${item.id} >> ran; [ ${item.id} != a ] || { while [ ! -e on ]; do sleep 0.05; done; [ -e repaired ]; }'
      retry_config: { attempts: 50, backoff: fixed, initial_delay: 300ms }
    - shell: '[ ${item.id} != bad ]'
reduce: { shell: '[ -e repaired ]' }
";

/// Stops a night's job when only its first item has begun, and makes it the job of last night.
fn stopped_last_night(place: &Place) {
    let running = place.spawn(&["run", "job.yml", "--no-progress"]);
    until("the first item runs", || place.read("ran") == "a\n");
    place.stops(running, "on");
    place.backdate("night-1");
}

fn is_skipped(place: &Place, job: &str) -> u64 {
    place.object(&["status", job])["counts"]["skipped"].as_u64().unwrap()
}

#[test]
fn the_next_night_ends_late_items_and_starts_its_own_job() {
    for store in stores() {
        let place = Place::with(NIGHT).on(store).items(&["a", "b", "c", "d", "e"]);
        stopped_last_night(&place);
        place.write("repaired", "");
        let place = place.items(&["x", "y"]);
        let ran = place.ends(5, &["run", "job.yml", "--continue"]);
        ran.says("the `skip_after` of night-1 has passed");
        ran.says("job night-1: finished\n  items     1 succeeded, 4 skipped, of 5");
        ran.says("job night-2: finished\n  items     2 succeeded, of 2");
        ran.says("to run 4 late items after all: retry-workflow");
        place.ends(0, &["items", "show", "night-1", "e"]).says("late").says("its `skip_after`");
        assert_eq!(place.read("ran"), "a\na\nx\ny\n");
        // Only these are re-driven by their class.
        place.ends(5, &["resume", "night-1"]).says("has ended");
        let ended = ["--continue", "--if-ended", "report"];
        place.ends(5, &[&["run", "job.yml", "--job-id", "night-1"][..], &ended].concat());
        let ran = place.ends(0, &["dlq", "retry", "night-1", "--class", "late"]);
        ran.says("4 items re-driven").says("5 succeeded, of 5");
        assert_eq!(place.read("ran"), "a\na\nx\ny\nb\nc\nd\ne\n");
        place.ends(0, &["resume", "night-1"]);
    }
}

#[test]
fn of_several_jobs_the_worst_end_is_the_exit_code() {
    let place = Place::with(NIGHT).items(&["a", "b"]);
    stopped_last_night(&place);
    // Last night's `reduce` fails, and tonight has a dead letter.
    let text = place.read("job.yml").replace("[ -e repaired ]; }", "true; }");
    place.write("job.yml", &text);
    let place = place.items(&["x", "bad"]);
    let ran = place.ends(1, &["run", "job.yml", "--continue"]);
    ran.says("night-1/reduce-1: stopped").says("night-2/reduce-1: stopped");
    place.write("repaired", "");
    place.ends(3, &["resume", "night-2"]).says("1 dead letter");
    place.ends(5, &["resume", "night-1"]).says("1 skipped");
    // A dead letter comes before a late item.
    assert_eq!(is_skipped(&place, "night-1"), 1);
}

#[test]
fn an_input_that_was_not_read_to_its_end_is_not_read_into_the_job_of_last_night() {
    let text = "name: night\nskip_after: 1h\nsetup:\n  - shell: 'echo >> prepared; while [ ! -e on ]; do sleep 0.05; done'\n  - shell: 'echo >> prepared'\nmap:\n  input: items.json\n  agent_template: { shell: 'echo ${item.id} >> ran' }\n";
    let place = Place::with(text).items(&["a", "b"]);
    let running = place.spawn(&["run", "job.yml", "--no-progress"]);
    until("it is prepared", || !place.read("prepared").is_empty());
    place.stops(running, "on");
    assert_eq!(place.read("prepared"), "\n", "and no item is known");
    place.backdate("night-1");
    let place = place.items(&["x"]);
    let ran = place.ends(5, &["run", "job.yml", "--continue"]);
    ran.says("has passed before it had any items").says("1 succeeded, of 1");
    assert_eq!((&*place.read("ran"), &*place.read("prepared")), ("x\n", "\n\n\n"));
    place.ends(5, &["resume", "night-1"]);
    // The next one has nothing to do with it.
    place.ends(0, &["run", "job.yml", "--continue"]).says("job night-3: ");
}

#[test]
fn a_job_that_ends_before_it_had_any_items_does_not_reduce_them_later() {
    let text = "name: night\nskip_after: 1h\nmap:\n  input: { command: '[ -e on ] && echo x' }\n  agent_template: { shell: 'echo ${item} >> ran' }\nreduce: { shell: 'echo >> reduced' }\n";
    let place = Place::with(text);
    place.ends(1, &["run", "job.yml"]);
    place.backdate("night-1");
    place.write("on", "");
    let ran = place.ends(5, &["run", "job.yml", "--continue"]);
    ran.says("has passed before it had any items").says("1 succeeded, of 1");
    place.ends(5, &["resume", "night-1"]).says("has ended");
    assert_eq!((&*place.read("ran"), &*place.read("reduced")), ("x\n", "\n"));
}

#[test]
fn a_night_runs_the_killed_last_steps_before_it_starts_its_job() {
    let text = "name: night\nmap:\n  input: items.json\n  agent_template: { shell: 'echo ${item.id} >> ran' }\non_finish: { shell: 'echo $RETRY_WORKFLOW_FINISH >> ends; while [ ! -e on ]; do sleep 0.05; done' }\n";
    let place = Place::with(text).items(&["a"]);
    let running = place.spawn(&["run", "job.yml"]);
    until("it is at the end", || !place.read("ends").is_empty());
    running.signal("KILL");
    running.ended();
    place.write("on", "");
    let place = place.items(&["x"]);
    until("it is known to be dead", || {
        !place.ends(0, &["status"]).out.contains("its steps run in process")
    });
    let ran = place.ends(0, &["run", "job.yml", "--continue"]);
    ran.says("the steps of on_finish of night-1 run").says("job night-2: finished");
    assert_eq!(place.read("ran"), "a\nx\n");
    assert_eq!(place.read("ends"), "night-1/end-1\nnight-1/end-1\nnight-2/end-1\n");
}
