//! `on_finish`: what runs once a job has ended or stopped.

use serde_json::Value;

use super::support::{Place, until};

/// Five items, those named `bad…` of which fail, and a script that keeps each report.
fn place(more: &str) -> Place {
    Place::with(&format!(
        "name: import\n{more}\nmap:\n  input: items.json\n  max_parallel: 1\n  agent_template:\n    - exec: ['./import.sh', '${{item.id}}']\non_finish:\n  - shell: './keep.sh \"$RETRY_WORKFLOW_REPORT_FILE\"'\n"
    ))
    .items(&["a", "bad-1", "bad-2", "bad-3", "b"])
    .script("import.sh", "case $1 in bad*) echo \"order 471${1#bad-} timed out\" >&2; exit 1;; esac")
    .script("keep.sh", "cat \"$1\" >> reports; echo >> reports")
}

fn reports(place: &Place) -> Vec<Value> {
    place.read("reports").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_report_says_what_failed_and_what_to_do_next() {
    let place = place("");
    place.ends(3, &["run", "job.yml"]);
    let reports = reports(&place);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((&report["job"], &report["status"]), (&"import-1".into(), &"finished".into()));
    assert_eq!((&report["counts"]["dead"], &report["counts"]["succeeded"]), (&3.into(), &2.into()));
    assert_eq!(report["next"], "retry-workflow dlq stats import-1");
    let group = &report["groups"][0];
    assert_eq!((&group["count"], &group["class"]), (&3.into(), &"timeout".into()));
    assert!(group["advice"].as_str().unwrap().starts_with("these took too long"), "{group}");
    assert!(report["text"].as_str().unwrap().contains("2 succeeded, 3 dead letters, of 5"));
}

#[test]
fn they_run_once_after_each_end_and_never_change_the_result() {
    let place = place("error_policy: { max_failures: 1 }");
    place.ends(1, &["run", "job.yml"]);
    let stopped = &reports(&place)[0];
    assert_eq!(stopped["status"], "stopped");
    assert!(stopped["reason"].as_str().unwrap().contains("max_failures"), "{stopped}");
    assert_eq!(stopped["next"], "retry-workflow resume import-1");

    let place = place.script("keep.sh", "exit 1");
    let text = place.read("job.yml").replace("max_failures: 1", "max_failures: 100");
    place.write("job.yml", &text);
    let ran = place.ends(3, &["resume"]);
    ran.says("on_finish failed, and the job's result stands: exit status 1");
    // There is nothing left to do, so there is no other end.
    let ran = place.ends(3, &["resume", "import-1"]);
    assert!(!ran.err.contains("on_finish"), "{ran:?}");
}

#[test]
fn a_reduce_that_fails_is_in_the_report() {
    let reduce = "reduce: [{ shell: 'echo disk full >&2; exit 4' }]";
    let place = place(reduce).script("import.sh", "true");
    place.ends(1, &["run", "job.yml"]);
    let report = &reports(&place)[0];
    assert_eq!((&report["status"], &report["counts"]["succeeded"]), (&"stopped".into(), &5.into()));
    assert_eq!(report["groups"][0]["message"], "exit status 4: disk full");
    let text = report["text"].as_str().unwrap();
    assert!(text.contains("5 succeeded") && text.contains("import-1/reduce-1: stopped"), "{text}");
}

#[test]
fn of_two_processes_the_last_one_runs_them() {
    let place = place("");
    let place = place.script("import.sh", "touch ran.$1; while [ ! -e go ]; do sleep 0.02; done");
    let one = place.spawn(&["run", "job.yml", "--job-id", "shared", "--max-parallel", "2"]);
    until("the first one works", || place.path("ran.a").exists());
    let join = ["run", "job.yml", "--job-id", "shared", "--continue", "--if-running", "join"];
    let two = place.spawn(&join);
    until("the second one works", || place.path("ran.bad-2").exists());
    place.write("go", "");
    assert_eq!((one.ended().code, two.ended().code), (Some(0), Some(0)));
    assert_eq!(reports(&place).len(), 1);
}

#[test]
fn graphs_and_steps_have_them_too() {
    let end = "on_finish: { shell: 'cat \"$RETRY_WORKFLOW_REPORT_FILE\" > reports' }\n";
    let steps = Place::with(&format!("name: s\ncommands: [{{ shell: exit 1 }}]\n{end}"));
    steps.ends(1, &["run", "job.yml"]);
    assert_eq!(reports(&steps)[0]["next"], "retry-workflow resume s-1");
    let graph = Place::with(&format!("name: g\ntasks: {{ a: {{ shell: 'true' }} }}\n{end}"));
    graph.ends(0, &["run", "job.yml"]);
    assert_eq!(
        (&reports(&graph)[0]["status"], &reports(&graph)[0]["next"]),
        (&"finished".into(), &Value::Null)
    );
}
