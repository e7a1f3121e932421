//! `not_before`, `skip_after` and `after`: when jobs begin, and what comes too late.

use std::time::{Duration, Instant};

use super::support::{Place, stores, until};

#[test]
fn nothing_begins_before_its_time_and_all_parts_wait_once() {
    let file = "name: later\nnot_before: 2s\nmap:\n  input: items.json\n  agent_template: { shell: 'date +%s%N >> ran' }\nsetup: { shell: 'date +%s%N >> prepared' }\n";
    let place = Place::with(file).items(&["a", "b"]);
    let begun = Instant::now();
    let ran = place.ends(0, &["run", "job.yml"]);
    assert!(begun.elapsed() >= Duration::from_secs(2));
    let stamps = |file: &str| -> Vec<u64> {
        place.read(file).lines().map(|line| line.parse().expect("nanoseconds")).collect()
    };
    let (prepared, items) = (stamps("prepared"), stamps("ran"));
    assert_eq!((prepared.len(), items.len()), (1, 2), "{ran:?}");
    let between = Duration::from_nanos(items[0].saturating_sub(prepared[0]));
    assert!(between < Duration::from_secs(2), "the items wait a second time: {between:?}");
}

#[test]
fn items_not_started_in_time_are_skipped_with_the_reason() {
    let file = "name: night\nskip_after: 300ms\nmap:\n  input: items.json\n  max_parallel: 1\n  agent_template: { shell: 'echo >> ran; sleep 0.5' }\n";
    let place = Place::with(file).items(&["a", "b", "c"]);
    place.ends(5, &["run", "job.yml"]).says("1 succeeded, 2 skipped, of 3");
    assert_eq!(place.read("ran"), "\n");
    place.ends(0, &["items", "show", "c"]).says("late").says("its `skip_after`");
}

#[test]
fn a_job_waits_for_another_one_with_its_reduce() {
    let import = "name: import\nmap:\n  input: items.json\n  agent_template: { shell: '[ -e repaired ]' }\nreduce: { shell: 'while [ ! -e go ]; do sleep 0.02; done; echo import >> order' }\n";
    let export = "name: export\nafter: import\ncommands: [{ shell: 'echo export >> order' }]\n";
    let place = Place::new().items(&["a"]).file("import.yml", import).file("export.yml", export);
    place.write("go", "");
    let mut waits = place.spawn(&["run", "export.yml", "--no-progress"]);
    waits.line_with("waiting for the job that has to end first").expect("it says so");
    place.ends(3, &["run", "import.yml"]);
    std::fs::remove_file(place.path("go")).unwrap();
    place.write("repaired", "");
    let again = place.spawn(&["dlq", "retry", "import-1"]);
    until("the items have succeeded", || {
        place.object(&["status", "import-1"])["counts"]["succeeded"] == 1
    });
    assert_eq!(place.read("order"), "import\n", "the first reduce");
    place.write("go", "");
    assert_eq!((again.ended().code, waits.ended().code), (Some(0), Some(0)));
    assert_eq!(place.read("order"), "import\nimport\nexport\n");
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
    - shell: 'echo ${item.id} >> ran; [ ${item.id} != a ] || { while [ ! -e on ]; do sleep 0.02; done; [ -e repaired ]; }'
      retry_config: { attempts: 50, backoff: fixed, initial_delay: 300ms }
    - shell: '[ ${item.id} != bad ]'
reduce: { shell: '[ -e repaired ]' }
";

/// Stops a night's job when only its first item has begun, and makes it the job of last night.
fn stopped_last_night(place: &Place) {
    let mut running = place.spawn(&["run", "job.yml", "--no-progress"]);
    until("the first item runs", || place.read("ran") == "a\n");
    running.signal("INT");
    running.line_with("stopping").unwrap();
    place.write("on", "");
    assert_eq!(running.ended().code, Some(1));
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
    let text = "name: night\nskip_after: 1h\nsetup:\n  - shell: 'echo >> prepared; while [ ! -e on ]; do sleep 0.02; done'\n  - shell: 'echo >> prepared'\nmap:\n  input: items.json\n  agent_template: { shell: 'echo ${item.id} >> ran' }\n";
    let place = Place::with(text).items(&["a", "b"]);
    let mut running = place.spawn(&["run", "job.yml", "--no-progress"]);
    until("it is prepared", || !place.read("prepared").is_empty());
    running.signal("INT");
    running.line_with("stopping").unwrap();
    place.write("on", "");
    assert_eq!(running.ended().code, Some(1));
    assert_eq!(place.read("prepared"), "\n", "and no item is known");
    place.backdate("night-1");
    let place = place.items(&["x"]);
    let ran = place.ends(5, &["run", "job.yml", "--continue"]);
    ran.says("has passed before it had any items").says("1 succeeded, of 1");
    assert_eq!((&*place.read("ran"), &*place.read("prepared")), ("x\n", "\n\n\n"));
    place.ends(5, &["resume", "night-1"]);
    let export = "name: export\nafter: night-1\ncommands: [{ shell: 'true' }]\n";
    place.write("export.yml", export);
    let end = "it finished before the end of its input";
    let cure = "it cannot succeed any more: start a new job of its file with `retry-workflow";
    let ran = place.ends(1, &["run", "export.yml", "--deadline", "1s"]);
    ran.says(&format!("until job night-1 has succeeded: {end}: {cure}"));
    place.ends(0, &["status", "export-1"]).says(end).says(cure);
    let status = place.object(&["status", "export-1"]);
    assert_eq!(status["after_ended"]["cut_short"], true, "{status}");
    // The next one has nothing to do with it.
    place.ends(0, &["run", "job.yml", "--continue"]).says("job night-3: ");
}

#[test]
fn a_job_with_late_items_satisfies_no_other_one() {
    let place = Place::with(NIGHT).items(&["a", "c"]).file(
        "export.yml",
        "name: export\nafter: night\ncommands: [{ shell: 'echo >> exported' }]\n",
    );
    place.write("repaired", "");
    stopped_last_night(&place);
    place.ends(5, &["resume", "night-1"]).says("1 succeeded, 1 skipped");
    place.ends(1, &["run", "export.yml", "--deadline", "1500ms"]);
    assert!(!place.path("exported").exists());
    place.ends(0, &["dlq", "retry", "night-1", "--class", "late"]);
    place.ends(0, &["resume", "export-1"]);
    assert!(place.path("exported").exists());
}

#[test]
fn a_night_runs_the_killed_last_steps_before_it_starts_its_job() {
    let text = "name: night\nmap:\n  input: items.json\n  agent_template: { shell: 'echo ${item.id} >> ran' }\non_finish: { shell: 'echo $RETRY_WORKFLOW_FINISH >> ends; while [ ! -e on ]; do sleep 0.02; done' }\n";
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

/// A job that waits for another one, and the other one.
fn export(after: &str, more: &str) -> Place {
    let export = format!(
        "name: export\nafter: {after}\n{more}commands: [{{ shell: 'echo >> exported' }}]\n"
    );
    Place::with(&export).file("import.yml", "name: import\ncommands: [{ shell: 'true' }]\n")
}

fn in_night(place: &Place, night: &str, code: i32, arguments: &[&str]) -> String {
    let output = place.command(arguments).env("NIGHT", night).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn a_job_waits_for_the_one_that_its_variables_name_when_it_is_created() {
    for store in stores() {
        let place = export("import-${NIGHT}", "").on(store);
        place.ends(0, &["check", "job.yml"]).says("not checked: $NIGHT of `after` is not set here");
        place
            .ends(2, &["run", "job.yml"])
            .says("$NIGHT is not set: set it before you start the job");
        assert!(in_night(&place, " ", 2, &["run", "job.yml"]).contains("$NIGHT is empty"));
        assert!(place.objects(&["jobs"]).is_empty(), "nothing is created");
        place.ends(0, &["run", "import.yml", "--job-id", "import-23"]);
        in_night(&place, "24", 1, &["run", "job.yml", "--deadline", "1s"]);
        place
            .ends(0, &["status", "export-1"])
            .says("nothing begins before job import-24 has succeeded");
        // Later its variables may have other values, or none.
        in_night(&place, "23", 1, &["resume", "export-1", "--deadline", "1s"]);
        place.ends(1, &["run", "job.yml", "--continue", "--deadline", "1s"]);
        place.ends(0, &["run", "import.yml", "--job-id", "import-24"]);
        place.ends(0, &["resume", "export-1"]);
        assert_eq!(place.read("exported"), "\n");
        in_night(&place, "23", 0, &["run", "job.yml"]);
        assert_eq!(place.read("exported"), "\n\n");
    }
}

#[test]
fn the_variables_of_the_file_count_and_a_name_that_is_edited_is_read_again() {
    let place = export("import-${NIGHT}", "env_files: [night.env]\nenv: { NIGHT: 24 }\n");
    place.write("night.env", "NIGHT=23\n");
    in_night(&place, "22", 1, &["run", "job.yml", "--deadline", "1s"]);
    assert_eq!(place.object(&["status", "export-1"])["after"], "import-24");
    let edited = place.read("job.yml").replace("import-${", "load-${");
    place.write("job.yml", &edited);
    place.ends(1, &["resume", "--deadline", "1s"]);
    assert_eq!(place.object(&["status", "export-1"])["after"], "load-24");
    let edited = place.read("job.yml").replace("after: load-${NIGHT}\n", "");
    place.write("job.yml", &edited);
    place.ends(0, &["resume"]);
}

#[test]
fn the_job_of_last_night_does_not_satisfy_newer_than() {
    for store in stores() {
        let place = export("{ job: import, newer_than: 2s }", "").on(store);
        place.ends(0, &["run", "import.yml"]);
        std::thread::sleep(Duration::from_secs(2));
        let running = place.spawn(&["run", "job.yml"]);
        until("it waits", || {
            let said = place.ran(&["status", "export-1"]).out;
            said.contains(
                "nothing begins before job import has succeeded: there is no job newer than 20",
            )
        });
        place.ends(0, &["run", "import.yml"]);
        assert_eq!(running.ended().code, Some(0));
        assert_eq!(place.read("exported"), "\n");
        // The newest one counts, if several are new enough.
        let text = place.read("job.yml").replace("newer_than: 2s", "newer_than: 1h");
        place.write("job.yml", &text);
        place.write("import.yml", "name: import\ncommands: [{ shell: 'false' }]\n");
        place.ends(1, &["run", "import.yml"]);
        place.ends(1, &["run", "job.yml", "--deadline", "1s"]);
        place
            .ends(0, &["status", "export-2"])
            .says("nothing begins before job import-3 has succeeded");
    }
}

/// A job that has to wait for another one, whose only item fails until there is a file `fixed`.
fn after_dead_letters() -> Place {
    let import =
        "name: import\nmap:\n  input: items.json\n  agent_template: { shell: 'test -e fixed' }\n";
    export("import", "").file("import.yml", import).items(&["x", "y"])
}

#[test]
fn a_job_reports_that_the_one_before_it_has_dead_letters_and_the_cure() {
    for store in stores() {
        let place = after_dead_letters().on(store);
        let mut running = place.spawn(&["run", "job.yml"]);
        until("it waits", || place.ran(&["status", "export-1"]).code == Some(0));
        place.ends(3, &["run", "import.yml"]);
        let line = running.line_with("this job waits until job import-1 has succeeded").unwrap();
        assert!(line.contains("it finished with 2 dead letters: re-drive them with"), "{line}");
        assert!(line.contains("dlq retry import-1`"), "{line}");
        place
            .ends(0, &["status", "export-1"])
            .says("before job import-1 has succeeded: it finished with 2 dead letters")
            .says("re-drive them with `retry-workflow")
            .says("dlq retry import-1`");
        let status = place.object(&["status", "export-1"]);
        assert_eq!(
            (&status["after"], &status["after_ended"]["dead"]),
            (&"import-1".into(), &2.into())
        );
        place.write("fixed", "");
        place.ends(0, &["dlq", "retry", "import-1"]);
        assert_eq!(running.ended().code, Some(0));
    }
}

#[test]
fn a_job_that_has_to_finish_may_have_dead_letters_but_not_stop() {
    for store in stores() {
        let place = after_dead_letters().on(store);
        let stops = place.read("import.yml") + "error_policy: { max_failures: 1 }\n";
        let job = place.read("job.yml");
        place.write("stops.yml", &stops.replace("name: import", "name: stops"));
        place.write("job.yml", &job.replace("import", "{ job: import, status: finished }"));
        place.write("late.yml", &job.replace("import", "{ job: stops, status: finished }"));
        place.ends(3, &["run", "import.yml"]);
        place.ends(0, &["run", "job.yml"]);
        assert_eq!(place.read("exported"), "\n");

        place.ends(1, &["run", "stops.yml", "--max-parallel", "1"]);
        let ran = place.ends(1, &["run", "late.yml", "--deadline", "1s"]);
        ran.says("this job waits until job stops-1 has finished: it stopped with 1 dead letter");
        ran.says("resume it with `retry-workflow");
        place
            .ends(0, &["status", "export-2"])
            .says("nothing begins before job stops-1 has finished: it stopped");
        assert_eq!(place.object(&["status", "export-2"])["after_status"], "finished");
        place.write("fixed", "");
        place.ends(3, &["resume", "stops-1"]);
        place.ends(0, &["resume", "export-2"]);
        assert_eq!(place.read("exported"), "\n\n");
    }
}

#[test]
fn an_event_reports_the_dead_letters_of_the_job_before() {
    let place = after_dead_letters();
    place.ends(3, &["run", "import.yml"]);
    let ran = place.ends(1, &["run", "job.yml", "--events", "--deadline", "1s"]);
    let event = ran.out.lines().find(|line| line.contains("awaited_ended")).unwrap();
    let event: serde_json::Value = serde_json::from_str(event).unwrap();
    assert_eq!((&event["after"], &event["dead"]), (&"import-1".into(), &2.into()));
    assert_eq!(ran.err, "");
}
