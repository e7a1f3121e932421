//! Invalid settings, and the causes of errors.

use std::time::Duration;

use retry_runtime::HalfOpen;
use retry_tests_support::events;
use retry_workflow::{
    BreakerConfig, ErrorPolicy, Graph, Policy, SqliteStore, Task, Workflow, WorkflowError,
};

#[tokio::test(start_paused = true)]
async fn job_without_a_store_warns_once_that_it_is_lost_with_its_process() {
    events::collect();

    let handler = |_: u32, _| async { Ok::<_, String>(()) };
    Workflow::new("import").run(1..=100, handler).await.unwrap();
    let warnings = events::collect();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    for part in ["kept in memory", "job=import", "`.store(SqliteStore::open(\"jobs.db\")?)`"] {
        assert!(warning.contains(part), "{warning}");
    }

    let task = || Task::new("render", |_| async { Ok::<_, String>(()) });
    Graph::new("publish").task(task()).run().await.unwrap();
    assert_eq!(events::collect().len(), 1);

    // A store in memory that was asked for is intended.
    Workflow::new("import").store(SqliteStore::in_memory()).run(1..=100, handler).await.unwrap();
    Graph::new("publish").store(SqliteStore::in_memory()).task(task()).run().await.unwrap();
    assert_eq!(events::collect(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn settings_that_cannot_be_obeyed_are_refused_before_anything_runs() {
    async fn refused(workflow: Workflow) -> String {
        let run = workflow.run([1], |_: u32, _| async { Ok::<_, String>(()) });
        chain(&run.await.unwrap_err())
    }

    let new = || Workflow::new("refused");
    let gradual = BreakerConfig::new().half_open(HalfOpen::Gradual);
    for (workflow, said) in [
        (new().max_parallel(0), "write at least 1"),
        (new().lease(Duration::ZERO), "at least 100ms"),
        (new().rate("30"), "\"30\" has no unit: write `30/s`"),
        (new().rate_per(|_| None, "often"), "does not begin with a whole number"),
        (new().not_before("noon"), "\"noon\" is neither a time after the job was created"),
        (new().skip_after("noon".to_owned()), "\"noon\" is neither a time after"),
        (new().rate("0/s").rate("1/s"), "at least 1"),
        (new().retry(Policy::new().attempts(0)), "at least 1"),
        (new().retry(Policy::new().deadline(Duration::from_secs(60))), "use a `budget`"),
        (new().error_policy(ErrorPolicy::new().failure_threshold(1.5)), "such as `0.25`"),
        (new().error_policy(ErrorPolicy::new().max_failures(0)), "continue_on_failure: false"),
        (new().error_policy(ErrorPolicy::new().circuit_breaker(gradual)), "half_open_requests"),
    ] {
        let error = refused(workflow).await;
        assert!(error.contains(said), "{error}");
    }
    let resume = Workflow::new("x").resume("nothing-1", |_: u32, _| async { Ok::<_, String>(()) });
    let error = resume.await.unwrap_err();
    assert!(matches!(&error, WorkflowError::UnknownJob { .. }));
    assert_eq!(error.to_string(), "this store has no job `nothing-1`: it has no jobs");
}

/// An error with its causes, as anyhow's `{:#}` prints it.
fn chain(error: &dyn std::error::Error) -> String {
    let below = std::iter::successors(error.source(), |&error| error.source());
    below.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}

#[tokio::test(start_paused = true)]
async fn errors_print_each_cause_once() {
    let policy = retry_workflow::Policy::new().attempts(0);
    let run =
        Workflow::new("none").retry(policy).run([1], |_: u32, _| async { Ok::<_, String>(()) });
    let error = run.await.unwrap_err();
    let cause = policy.validate().unwrap_err();
    assert_eq!(error.to_string(), format!("the retry policy is not valid: {cause}"));
    assert_eq!(chain(&error), error.to_string());

    // JSON allows only strings as keys.
    let odd = std::collections::BTreeMap::from([((1, 2), 3)]);
    let run = Workflow::new("odd").run(
        retry_workflow::keyed([odd], |_| "a".to_owned()),
        |_: std::collections::BTreeMap<(u32, u32), u32>, _| async { Ok::<_, String>(()) },
    );
    let error = run.await.unwrap_err();
    assert_eq!(error.to_string(), "cannot write item `a` as JSON: key must be a string");
    assert_eq!(chain(&error), error.to_string());

    // Errors that only wrap another one add nothing to its text.
    let store = retry_workflow::StoreError::other("the cable is cut");
    let shown = "the store failed: the cable is cut";
    assert_eq!(chain(&store), shown);
    assert_eq!(chain(&WorkflowError::from(store.clone())), shown);
    assert_eq!(chain(&retry_workflow::dead_letters::ImportError::from(store.clone())), shown);
    assert_eq!(chain(&retry_workflow::dead_letters::ExportError::from(store.clone())), shown);
    assert_eq!(chain(&retry_workflow::dead_letters::SignatureError::from(store)), shown);
}

#[tokio::test(start_paused = true)]
async fn names_used_in_ids_are_validated() {
    let run = |workflow: Workflow| workflow.run([1], |_: u32, _| async { Ok::<_, String>(()) });
    for (name, why) in [
        (
            " ",
            "` ` is not a valid job name: it is empty, but the ids of jobs are built from it: \
             write one",
        ),
        (
            "a\nb",
            "`a\\nb` is not a valid job name: it contains the control character `\\n`, but the ids \
             of jobs are built from it: remove the character",
        ),
    ] {
        let error = run(Workflow::new(name)).await.unwrap_err();
        assert!(matches!(error, WorkflowError::Name { .. }));
        assert_eq!(error.to_string(), why);
        let error = run(Workflow::new("good").job_id(name)).await.unwrap_err();
        assert_eq!(error.to_string(), why);
    }
}
