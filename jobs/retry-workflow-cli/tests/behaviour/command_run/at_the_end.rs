//! `on_finish`: what runs once a job has ended or stopped.

use serde_json::Value;

use super::support::{Place, Running, stores, until};

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
fn the_report_has_the_failures_and_the_next_command() {
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
    let place = place.script("import.sh", "touch ran.$1; while [ ! -e go ]; do sleep 0.05; done");
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

/// A job whose `on_finish` waits for a file, and keeps the key of its end each time it begins.
fn held(store: Option<String>) -> Place {
    place("")
        .on(store)
        .script("keep.sh", "echo $RETRY_WORKFLOW_FINISH >> keys; while [ ! -e on ]; do sleep 0.05; done; cat \"$1\" >> reports; echo >> reports")
}

fn keys(place: &Place) -> Vec<String> {
    place.read("keys").lines().map(str::to_owned).collect()
}

#[test]
fn steps_that_were_killed_run_again_with_the_same_key() {
    for store in stores() {
        let place = held(store);
        let running = place.spawn(&["run", "job.yml"]);
        until("they run", || keys(&place).len() == 1);
        place.ends(0, &["status"]).says("on_finish its steps run in process ");
        running.signal("KILL");
        assert_eq!(running.ended().code, None);
        until("it is known", || {
            let said = place.ends(0, &["status"]).out;
            said.contains("on_finish its steps have not run to their end: retry-workflow resume")
        });
        place.write("on", "");
        place.ends(3, &["resume"]).says("2 succeeded, 3 dead letters, of 5");
        assert_eq!(keys(&place), ["import-1/end-1", "import-1/end-1"]);
        let report = &reports(&place)[0];
        assert_eq!((&report["counts"]["dead"], &report["status"]), (&3.into(), &"finished".into()));
        place.ends(0, &["resume"]).says("there is nothing to resume");
        assert!(!place.ends(0, &["status"]).out.contains("on_finish"));
        // Another end has another key.
        place.ends(3, &["dlq", "retry", "import-1"]);
        assert_eq!(keys(&place)[2..], ["import-1/end-2"]);
    }
}

#[test]
fn steps_that_a_second_signal_ended_run_again() {
    for store in stores() {
        let place = held(store);
        let mut running = place.spawn(&["run", "job.yml", "--no-progress"]);
        until("they run", || keys(&place).len() == 1);
        running.signal("INT");
        running.line_with("stopping").unwrap();
        running.signal("INT");
        let ran = running.ended();
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        ran.says("resume import-1");
        place.write("on", "");
        place.ends(3, &["resume", "import-1"]);
        assert_eq!(keys(&place), ["import-1/end-1", "import-1/end-1"]);
    }
}

#[test]
fn the_steps_of_a_reduce_that_another_process_ran_run_once() {
    let place = held(None);
    let text =
        place.read("job.yml").replace("map:\n", "reduce: { shell: 'echo >> reduced' }\nmap:\n");
    place.write("job.yml", &text);
    let running = place.spawn(&["run", "job.yml"]);
    until("they run", || keys(&place).len() == 1);
    running.signal("KILL");
    running.ended();
    place.write("on", "");
    place.ends(3, &["resume"]);
    assert_eq!((keys(&place).len(), place.read("reduced").lines().count()), (2, 1));
    assert_eq!(reports(&place).len(), 1);
}

/// A worker with process numbers of its own, as in another container: this machine does not know
/// whether it is alive. `None` if the system does not allow that.
#[cfg(target_os = "linux")]
fn elsewhere(place: &Place, arguments: &[&str]) -> Option<Running> {
    let apart = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let tried = std::process::Command::new("unshare").args(apart).arg("true").output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: unshare does not make process numbers of their own here");
        return None;
    }
    let mut command = std::process::Command::new("unshare");
    let inner = place.command(arguments);
    command.args(apart).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(place.path("."));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    Some(Running::spawned(&mut command))
}

#[test]
#[cfg(target_os = "linux")]
fn a_worker_that_was_killed_elsewhere_is_waited_for() {
    for store in stores() {
        let work = "touch ran.$1; case $1 in b) while [ ! -e go ]; do sleep 0.05; done;; esac";
        let place = place("").on(store).items(&["a", "b"]).script("import.sh", work);
        let mut first = place.spawn(&["run", "job.yml", "--no-progress"]);
        until("it works", || place.path("ran.b").exists());
        let resume = ["resume", "import-1", "--lease", "1h"];
        let Some(mut other) = elsewhere(&place, &resume) else { return };
        other.line_with("waiting for another worker, whose lease lasts").unwrap();
        other.signal("KILL");
        other.ended();
        place.write("go", "");
        first.line_with("on_finish waits until process ").unwrap();
        place.backdate("import-1");
        let ran = first.ended();
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert_eq!(reports(&place).len(), 1, "{ran:#?}");
    }
}
