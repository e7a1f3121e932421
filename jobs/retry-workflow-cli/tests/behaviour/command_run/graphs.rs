//! Tasks that fail, and the tasks that depend on them.

use super::support::Place;

const GRAPH: &str = "\
name: site
mode: graph
tasks:
  fetch: { shell: './task.sh fetch', max_retries: 2, retry_delay: 0.01 }
  render: { shell: './task.sh render', depends_on: [fetch] }
  upload: { shell: './task.sh upload', depends_on: render }
  notify: { shell: './task.sh notify' }
  archive: { shell: './task.sh archive', depends_on: [notify] }
";

fn place() -> Place {
    Place::with(GRAPH).script(
        "task.sh",
        "echo $1 >> log; [ $1 != fetch ] || [ -f repaired ] || { echo 'no route' >&2; exit 1; }",
    )
}

#[test]
fn tasks_that_depend_on_a_failure_are_skipped_and_the_others_run() {
    let place = place();
    let ran = place.ends(3, &["run", "job.yml"]);
    ran.says("tasks     2 succeeded, 1 failed, 2 skipped, of 5");
    assert_eq!(place.sorted("log"), ["archive", "fetch", "fetch", "fetch", "notify"]);
    assert_eq!(place.waits("fetch"), [10, 20, 0]);
    for (task, why) in [
        ("render", "`fetch` failed, which `render` needs"),
        ("upload", "`fetch` failed, which `upload` needs through `render`"),
    ] {
        let shown = place.ends(0, &["dlq", "show", "site-1", task]);
        shown.says("state        skipped").says(why);
    }
}

#[test]
fn skipped_tasks_run_after_the_failed_task_succeeds() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    place.write("repaired", "");
    place.ends(0, &["dlq", "retry", "site-1"]).says("5 succeeded, of 5");
    let log = place.sorted("log");
    assert_eq!(log.iter().filter(|task| *task == "notify").count(), 1);
    assert!(log.contains(&"upload".to_owned()));
}

#[test]
fn a_run_within_a_task_shows_the_failures_each_time() {
    let program = env!("CARGO_BIN_EXE_retry-workflow");
    let run = format!("{program} run inner.yml --job-id in --continue --if-ended report -q");
    let place = Place::with(&format!(
        "tasks:\n  inner:\n    shell: '{run}'\n    max_retries: 1\n    retry_delay: 0\n  after:\n    shell: '{run} || [ $? = 3 ]'\n    depends_on: []\n"
    ))
    .items(&["a", "b"])
    .file("inner.yml", "map:\n  input: items.json\n  agent_template: { shell: 'echo 404 Not Found >&2; exit 22' }\n");
    place.ends(3, &["run", "inner.yml", "--job-id", "in"]);
    let ended = place
        .ends(3, &["run", "inner.yml", "--job-id", "in", "--continue", "--if-ended", "report"]);
    ended
        .says("in has ended: there is nothing to resume")
        .says("2 × exit status")
        .says("Not Found");
    place.ends(3, &["run", "job.yml"]).says("1 succeeded").says("1 failed");
    let shown = place.ends(0, &["items", "show", "inner"]);
    shown.says("Not Found");
}
