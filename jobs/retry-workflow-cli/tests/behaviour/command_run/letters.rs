//! From dead letters to a finished job: inspect, repair, `dlq retry`.

use std::time::{Duration, Instant};

use super::support::{Place, stores, until};

/// An import of five customers, three of whom cannot be imported until something is repaired.
fn place() -> Place {
    Place::with(
        "name: import\nmap:\n  input: items.json\n  agent_template:\n    - shell: './import.sh ${item.id}'\nreduce:\n  - shell: 'echo ${map.successful} ${map.failed} >> summary'\n",
    )
    .items(&["ada-1", "ada-2", "bob-1", "eve-1", "eve-2"])
    .script(
        "import.sh",
        "echo $1 >> log\n[ -f repaired ] && exit\ncase $1 in ada*) echo \"order 471${1#ada-} has no customer\" >&2; exit 1;; bob*) echo 'read timed out' >&2; exit 1;; esac",
    )
}

#[test]
fn a_failed_import_is_diagnosed_fixed_and_completed() {
    let place = place();
    place.ends(3, &["run", "job.yml"]).says("2 succeeded, 3 dead letters, of 5");
    let stats = place.ends(0, &["dlq", "stats"]);
    stats.says("order <n> has no customer").says("3 dead letters in 2 groups");
    place.write("repaired", "");
    let ran = place.ends(0, &["dlq", "retry", "import-1"]);
    ran.says("3 dead letters re-driven")
        .says("job import-1: finished\n  items     5 succeeded, of 5");
    assert_eq!(place.read("summary"), "2 3\n5 0\n", "reduced again");
    assert_eq!(place.read("log").lines().count(), 8);
    let shown = place.ends(0, &["dlq", "show", "import-1", "ada-1"]);
    shown
        .says("succeeded, run 1, attempt 1")
        .says("\nrun 0\n   1. failed")
        .says("\nrun 1\n  re-driven by ")
        .says("\n   1. succeeded");
    place.ends(0, &["dlq", "list"]).says("no dead letters");
    place.ends(0, &["resume", "import-1"]).says("has ended");
}

#[test]
fn skipped_items_are_re_driven_as_dead_letters_are() {
    let place = place();
    let skips = format!("{}error_policy: {{ on_item_failure: skip }}\n", place.read("job.yml"));
    place.write("job.yml", &skips);
    place.ends(0, &["run", "job.yml"]).says("2 succeeded, 3 skipped, of 5");
    place.write("repaired", "");
    place.ends(0, &["dlq", "retry", "import-1"]).says("0 dead letters re-driven");
    let skipped = ["dlq", "retry", "import-1", "--skipped", "--item", "bob-1"];
    place.ends(0, &[&skipped[..], &["--dry-run"]].concat()).says("1 item would be re-driven");
    place.ends(0, &skipped).says("1 item re-driven").says("3 succeeded, 2 skipped, of 5");
    let all = place.ends(0, &["dlq", "retry", "--skipped", "--all"]);
    all.says("2 items re-driven").says("5 succeeded, of 5");
    assert_eq!(place.read("log").lines().count(), 8, "each of the three ran again once");
    place.ends(0, &["items", "show", "import-1", "bob-1"]).says("\nrun 1\n  re-driven by ");
}

#[test]
fn only_selected_letters_are_re_driven() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    place.write("repaired", "");
    let groups = place.objects(&["dlq", "stats"]);
    let group = groups.iter().find(|group| group["count"] == 2).unwrap();
    let id = group["id"].as_str().unwrap();
    place.ends(3, &["dlq", "retry", "--item", "bob-1"]).says("1 dead letter re-driven");
    let of_it = ["dlq", "retry", "--signature", &id[..4], "--max", "1"];
    place.ends(3, &of_it).says("1 dead letter re-driven").says("4 succeeded, 1 dead letter, of 5");
    place.ends(0, &of_it).says("5 succeeded, of 5");
    assert_eq!(place.read("summary"), "2 3\n3 2\n4 1\n5 0\n");
}

#[test]
fn re_driven_letters_keep_to_the_requested_rate() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    place.write("repaired", "");
    let begun = Instant::now();
    place.ends(0, &["dlq", "retry", "--all", "--rate", "5/s"]).says("at 5/s");
    assert!(begun.elapsed() >= Duration::from_millis(400), "the last one is due after 400 ms");
}

#[test]
fn letters_re_driven_for_later_wait_for_resume() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    place.write("repaired", "");
    let ran = place.ends(0, &["dlq", "retry", "--all", "--later"]);
    let reason = "it had finished, and items were re-driven or imported since";
    place.ends(0, &["status"]).says("status    stopped at ").says(reason);
    let job = &place.objects(&["jobs"])[0];
    assert_eq!((&job["status"], &job["reason"]), (&"stopped".into(), &reason.into()));
    ran.says("a running worker picks them up; if there is none: retry-workflow resume");
    assert_eq!(place.read("log").lines().count(), 5);
    place.ends(0, &["status"]).says("3 waiting").says("resume    retry-workflow resume import-1");
    place.ends(0, &["resume"]).says("5 succeeded, of 5");
    assert_eq!(place.read("summary"), "2 3\n5 0\n");
}

#[test]
fn a_running_process_works_on_letters_that_another_re_drives() {
    let place = place().script(
        "import.sh",
        "echo $1 >> log\ncase $1 in ada*) [ -f repaired ] || exit 1;; eve-2) while [ ! -f go ]; do sleep 0.05; done;; esac",
    );
    let running = place.spawn(&["run", "job.yml"]);
    until("two are dead", || place.objects(&["jobs"]).iter().any(|job| job["counts"]["dead"] == 2));
    place.write("repaired", "");
    place.ends(0, &["dlq", "retry", "--all", "--later"]).says("2 dead letters re-driven");
    until("they are imported", || place.read("log").lines().count() == 7);
    place.write("go", "");
    let ran = running.ended();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(place.read("summary"), "5 0\n");
}

#[test]
fn obstacles_are_reported_before_letters_are_re_driven() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    let workflow = place.read("job.yml");
    place.write("job.yml", &workflow.replace("map:", "mapp:"));
    place.ends(2, &["dlq", "retry", "--all"]).says("job.yml:2:1");
    std::fs::remove_file(place.path("job.yml")).unwrap();
    place.ends(2, &["dlq", "retry", "--all"]).says("there is no such file");
    place.write("job.yml", "name: import\ncommands: [{ shell: 'true' }]\n");
    place.ends(2, &["dlq", "retry", "--all"]).says("was started with mode mapreduce");
    let letters = place.objects(&["dlq", "list"]);
    assert_eq!(letters.len(), 3);
}

#[test]
fn a_failed_reduce_is_re_driven_with_its_job() {
    let place = place();
    let workflow = place.read("job.yml").replace("echo ${map", "[ -f repaired ] && echo ${map");
    place.write("job.yml", &workflow);
    place.ends(1, &["run", "job.yml"]);
    place.write("repaired", "");
    place.ends(3, &["dlq", "retry", "import-1/reduce-1"]).says("job import-1: finished");
    assert_eq!(place.read("summary"), "2 3\n");
}

/// Imports the dead letters of the first job into another one, which has no file.
fn imported(place: &Place) {
    place.ends(0, &["dlq", "export", "import-1", "-o", "letters.jsonl"]);
    let import = place.ends(0, &["dlq", "import", "letters.jsonl", "--job", "again"]);
    import.says("3 items imported");
}

#[test]
fn imported_letters_are_a_job_that_needs_its_file() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    imported(&place);
    place.write("repaired", "");
    let jobs = place.objects(&["jobs"]);
    let job = jobs.iter().find(|job| job["id"] == "again").unwrap();
    assert_eq!((&job["status"], &job["counts"]["dead"]), (&"finished".into(), &3.into()));
    place.ends(2, &["dlq", "retry", "again"]).says("name a file with --file FILE");
    assert_eq!(place.read("log").lines().count(), 5);
    let ran = place.ends(0, &["dlq", "retry", "again", "--file", "job.yml"]);
    ran.says("3 dead letters re-driven").says("job again: finished").says("3 succeeded, of 3");
    assert_eq!(place.read("log").lines().count(), 8);
    assert!(place.read("summary").ends_with("3 0\n"));
}

#[test]
fn an_imported_job_is_resumed_with_its_file() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    imported(&place);
    place.write("repaired", "");
    place.ends(0, &["dlq", "retry", "again", "--later"]).says("3 dead letters re-driven");
    place.ends(2, &["resume", "again"]).says("name a file with --file FILE");
    place.ends(0, &["resume", "again", "--file", "job.yml"]).says("3 succeeded, of 3");
    place.ends(0, &["resume", "again"]).says("has ended");
}

#[test]
fn a_job_without_a_file_does_not_keep_all_others_from_being_taken_back() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    imported(&place);
    place.write("repaired", "");
    let dry = place.ends(0, &["dlq", "retry", "--all", "--dry-run"]);
    dry.says("3 items would be re-driven").says("left out: the job `again` was not started");
    let dry = place.object(&["dlq", "retry", "--class", "other", "--dry-run", "--max", "2"]);
    assert_eq!((&dry["retried"], &dry["left_out"][0]), (&2.into(), &"again".into()));
    let ran = place.ends(0, &["dlq", "retry", "--all"]);
    ran.says("left out: the job `again` was not started from a workflow file");
    ran.says("3 dead letters re-driven").says("job import-1: finished\n  items     5 succeeded");
    let left = place.ends(2, &["dlq", "retry", "--all"]);
    left.says("the job `again` was not started from a workflow file");
    place.ends(0, &["dlq", "stats", "again"]).says("3 dead letters in 2 groups");
    place.ends(0, &["dlq", "retry", "--all", "--file", "job.yml"]).says("job again: finished");
}

#[test]
fn the_rate_and_the_bound_hold_for_all_jobs_that_are_taken_back() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    place.ends(3, &["run", "job.yml"]);
    imported(&place);
    place.write("repaired", "");
    let begun = Instant::now();
    let ran = place.ends(3, &["dlq", "retry", "--all", "--max", "4", "--rate", "5/s"]);
    ran.says("4 dead letters re-driven at 5/s").says("job import-2: finished");
    assert!(begun.elapsed() >= Duration::from_millis(600), "the last one is due after 600 ms");
    assert_eq!(place.read("log").lines().count(), 14);
}

#[test]
fn a_file_with_an_unfinished_job_starts_a_new_job_with_a_hint() {
    let place = Place::with("name: job\ncommands:\n  - shell: 'echo x >> log; [ -f repaired ]'\n");
    let first = place.ends(1, &["run", "job.yml"]);
    assert!(!first.err.contains("has not ended"), "{first:#?}");
    place.write("repaired", "");
    let second = place.ends(0, &["run", "job.yml"]);
    assert!(
        second.err.contains("this starts a new job, although job-1 of this file has not ended")
    );
    assert!(second.err.contains("retry-workflow resume job-1"), "{second:#?}");
    second.says("job job-2: finished");
    place.ends(0, &["resume"]).says("job job-1: finished");
    let third = place.ends(0, &["run", "job.yml"]);
    assert!(!third.err.contains("has not ended"), "{third:#?}");
}

#[test]
fn letters_re_driven_during_reduce_are_run_by_the_same_process() {
    for store in stores() {
        let place = place().on(store);
        let text = place
            .read("job.yml")
            .replace(">> summary", ">> summary; while [ ! -e on ]; do sleep 0.05; done");
        let end =
            "on_finish: { shell: 'echo >> ends; while [ ! -e over ]; do sleep 0.05; done' }\n";
        place.write("job.yml", &format!("{text}{end}"));
        let running = place.spawn(&["run", "job.yml"]);
        until("it reduces", || !place.read("summary").is_empty());
        let later =
            |item: &str| place.ends(0, &["dlq", "retry", "import-1", "--item", item, "--later"]);
        let picks = format!("process {}, which works on import-1, picks them up", running.worker());
        place.write("repaired", "");
        later("ada-1").says(&picks);
        place.write("on", "");
        until("it is at the end", || !place.read("ends").is_empty());
        assert_eq!(place.read("summary"), "2 3\n3 2\n", "before the end");
        later("ada-2").says(&picks);
        place.write("over", "");
        let ran = running.ended();
        assert_eq!(ran.code, Some(3), "{ran:#?}");
        ran.says("4 succeeded, 1 dead letter, of 5");
        assert_eq!(place.read("summary"), "2 3\n3 2\n4 1\n");
        assert_eq!(place.read("ends"), "\n\n");
        later("bob-1")
            .says("no process works on import-1; to run them: retry-workflow resume import-1");
        place.ends(0, &["resume", "import-1"]).says("5 succeeded, of 5");
    }
}

#[test]
fn a_stop_during_reduce_leaves_re_driven_letters_to_resume() {
    let place = place();
    let text = place
        .read("job.yml")
        .replace(">> summary", ">> summary; while [ ! -e on ]; do sleep 0.05; done");
    place.write("job.yml", &text);
    let running = place.spawn(&["run", "job.yml", "--no-progress"]);
    until("it reduces", || !place.read("summary").is_empty());
    place.write("repaired", "");
    place.ends(0, &["dlq", "retry", "import-1", "--later"]);
    place.stops(running, "on").says("resume import-1");
    place.ends(0, &["resume", "import-1"]).says("5 succeeded, of 5");
}

#[test]
fn a_report_of_many_groups_shows_the_largest_and_where_the_others_are() {
    let word = |n: u32| {
        ['b', 'c', 'd', 'f', 'g', 'h', 'k'][n as usize % 7].to_string().repeat(n as usize / 7 + 2)
    };
    // The first has 7 items, the next 6, and so on; most have one.
    let items = (0..40).flat_map(|n| (0..7_u32.saturating_sub(n).max(1)).map(move |i| (n, i)));
    let items =
        items.map(|(n, i)| serde_json::json!({ "id": format!("{n}-{i}"), "word": word(n) }));
    let place = Place::with(
        "name: import\nmap:\n  input: items.json\n  agent_template: { exec: ['./fail.sh', '${item.word}'] }\n",
    )
    .file("items.json", &serde_json::json!(items.collect::<Vec<_>>()).to_string())
    .script("fail.sh", "echo \"no customer $1 timed out\" >&2; exit 1");
    let ran = place.ends(3, &["run", "job.yml", "--quiet"]);
    ran.says("61 dead letters, of 61").says("failures  timeout 61");
    ran.says("    7 × exit status <n>: no customer bb timed out\n      these took too long");
    ran.says("    3 × exit status <n>: no customer gg timed out\n    36 × in 35 smaller groups\n");
    ran.says("to inspect 61 dead letters: retry-workflow dlq stats import-1");
    assert_eq!(ran.out.matches("these took too long").count(), 1, "{ran:#?}");
    assert!(ran.out.lines().count() <= 13, "{ran:#?}");
}
