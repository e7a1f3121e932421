//! `not_before`, `skip_after` and `after`: when jobs begin, and what comes too late.

use std::time::{Duration, Instant};

use super::support::{Place, until};

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
fn what_has_not_begun_in_time_is_skipped_with_that_reason() {
    let file = "name: night\nskip_after: 300ms\nmap:\n  input: items.json\n  max_parallel: 1\n  agent_template: { shell: 'echo >> ran; sleep 0.5' }\n";
    let place = Place::with(file).items(&["a", "b", "c"]);
    place.ends(0, &["run", "job.yml"]).says("1 succeeded, 2 skipped, of 3");
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
    waits.line_with("waiting for the job that has to succeed first").expect("it says so");
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
