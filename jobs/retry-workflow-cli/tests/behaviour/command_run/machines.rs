//! `--json` and `--quiet`: the output for programs, and where everything else goes.

use super::support::Place;

fn place() -> Place {
    Place::with(
        "name: job\nerror_policy: { error_collection: immediate }\nmap:\n  input: items.json\n  agent_template:\n    - shell: 'test ${item.id} = good || [ -f repaired ]'\nreduce:\n  - shell: 'true'\n",
    )
    .items(&["good", "bad"])
}

#[test]
fn every_command_writes_only_one_json_object_a_line() {
    let place = place();
    let alone = |arguments: &[&str], code: i32| {
        let ran = place.ends(code, &[arguments, &["--json"]].concat());
        let is_audit = |line: &&str| line.contains(" retry_workflow::audit: ");
        let printed = ran.err.lines().find(|line| !is_audit(line));
        assert_eq!(printed, None, "{arguments:?}");
        place_objects(&ran.out)
    };
    alone(&["check", "job.yml"], 0);
    let run = alone(&["run", "job.yml"], 3);
    assert_eq!(run.len(), 1);
    assert_eq!((&run[0]["id"], &run[0]["counts"]["dead"]), (&"job-1".into(), &1.into()));
    assert_eq!(run[0]["reduce"]["counts"]["succeeded"], 1);
    assert_eq!(alone(&["resume", "job-1"], 3).len(), 1, "what there is to say is said in JSON too");
    assert_eq!(alone(&["jobs"], 0).len(), 2);
    let status = alone(&["status"], 0);
    assert_eq!(
        (&status[0]["id"], &status[0]["reduce"]["id"]),
        (&"job-1".into(), &"job-1/reduce-1".into())
    );
    for arguments in [
        &["dlq", "list"][..],
        &["dlq", "show", "bad"],
        &["dlq", "stats"],
        &["dlq", "export"],
        &["dlq", "retry", "--all", "--dry-run"],
        &["dlq", "purge", "--all", "--dry-run"],
        &["explain", "--attempts", "3"],
        &["explain", "job.yml"],
    ] {
        alone(arguments, 0);
    }
    place.write("repaired", "");
    let retried = alone(&["dlq", "retry", "--all"], 0);
    assert_eq!((retried.len(), &retried[0]["counts"]["succeeded"]), (1, &2.into()));
}

fn place_objects(text: &str) -> Vec<serde_json::Value> {
    let object = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(value.is_object(), "{line}");
        value
    };
    text.lines().map(object).collect()
}

#[test]
fn progress_goes_to_standard_error_and_the_report_to_standard_output() {
    let place = place();
    let ran = place.ends(3, &["run", "job.yml"]);
    assert!(ran.out.starts_with("job job-1: finished\n"), "{ran:#?}");
    assert!(ran.err.starts_with("job job-1: job.yml\n"), "{ran:#?}");
    assert!(ran.err.contains("bad: dead after 1 attempt"), "{ran:#?}");
    let quiet = place.ends(3, &["run", "job.yml", "--quiet"]);
    assert_eq!(quiet.err, "");
    assert!(quiet.out.starts_with("job job-2: finished\n"));
}

#[test]
fn a_moment_is_short_for_people_and_exact_for_machines() {
    let place = place();
    place.ends(3, &["run", "job.yml"]);
    let exact = place.object(&["status"])["ended"].as_str().unwrap().to_owned();
    let (second, _) = exact.split_once('.').unwrap();
    place.ends(0, &["status"]).says(&format!("finished at {}Z\n", second.replace('T', " ")));
}
