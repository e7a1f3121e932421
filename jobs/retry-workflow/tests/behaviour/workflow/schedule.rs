//! The start of jobs, and starts that come too late.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::{After, AwaitedStatus, Moment, Unit, Waits as Waiting};
use retry_workflow::{
    DeadLetters, ErrorPolicy, Filter, ItemState, Job, JobEvent, MemoryStore, Redrive, Store,
    WaitReason, Workflow, keyed, policy,
};
use tokio::time::Instant;

use super::support::{Calls, Waits, refused};

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn no_item_starts_before_its_time_and_the_wait_is_reported() {
    let (waits, began) = (Waits::default(), Instant::now());
    let told = waits.clone();
    let report = Workflow::new("later")
        .not_before(HOUR)
        .on_event(move |event| told.hear(event))
        .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert!(report.is_success());
    assert!(began.elapsed() >= HOUR && began.elapsed() < HOUR + Duration::from_secs(2));
    let heard = waits.heard();
    let [WaitReason::Start { wait, .. }] = heard[..] else { panic!("{heard:?}") };
    assert!(wait + Duration::from_secs(3) > HOUR, "{wait:?}");
}

/// The reasons why a job waits, as its store reports them.
async fn told(store: &MemoryStore, job: &str) -> Vec<String> {
    let job = Job::get(store, job).await.unwrap();
    let counts = store.counts(&job.id).await.unwrap();
    let waits = Waiting::load(store, &job, &counts).await.unwrap();
    waits.lines(&counts, Unit::Item, store.now()).into_iter().map(|(_, text)| text).collect()
}

#[tokio::test(start_paused = true)]
async fn a_resumed_job_counts_from_its_creation() {
    let store = MemoryStore::new();
    let job = || Workflow::new("later").store(store.clone()).not_before("1h");
    let stopped = job()
        .stop_on(tokio::time::sleep(HOUR / 2))
        .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert_eq!(stopped.succeeded(), 0);
    let lines = told(&store, "later-1").await;
    assert!(lines.len() == 1 && lines[0].starts_with("nothing begins before "), "{lines:?}");
    let began = Instant::now();
    let report = job().run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
    assert!(report.is_success() && began.elapsed() <= HOUR / 2, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn items_not_started_in_time_are_skipped_and_started_ones_continue() {
    let (store, calls) = (MemoryStore::new(), Calls::default());
    let job = || {
        Workflow::new("night")
            .store(store.clone())
            .max_parallel(1)
            .retry(policy!(attempts = 3, initial_delay = "1h", backoff = fixed))
            .skip_after(HOUR / 2)
            .rate("1/s")
    };
    let handled = calls.clone();
    let report = job()
        .run(keyed(0..3_000_u32, u32::to_string), move |n: u32, _| {
            let call = handled.count(n);
            async move {
                tokio::time::sleep(Duration::from_secs(600)).await;
                if n == 0 && call == 1 { Err(refused()) } else { Ok(()) }
            }
        })
        .await
        .unwrap();
    // Three have begun in half an hour; the first of them fails, and is retried an hour later. What
    // is too late does not wait for the rate.
    assert_eq!((report.succeeded(), report.skipped()), (3, 2_997));
    assert!(report.elapsed < 2 * HOUR, "{:?}", report.elapsed);
    assert_eq!(report.classes, [("late".to_owned(), 2_997)].into());
    assert!(report.late() == 2_997 && report.is_late());
    assert!(!Job::has_succeeded(&store, "night").await.unwrap(), "no other job may begin after it");
    let item = store.item("night-1", "9").await.unwrap().unwrap();
    assert_eq!((item.state, item.attempt, item.history.len()), (ItemState::Skipped, 1, 0));
    // A skipped item that is re-driven runs.
    let letters = DeadLetters::new(store.clone());
    let one = Filter::job("night-1").ids(["9"]).states([ItemState::Skipped]);
    assert_eq!(letters.retry(&[one], Redrive::new()).await.unwrap(), 1);
    let report = job().resume("night-1", |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
    assert_eq!(report.succeeded(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_job_waits_until_another_one_has_succeeded() {
    let store = MemoryStore::new();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&ends);
    let export =
        Workflow::new("export").store(store.clone()).after("import").on_event(move |event| {
            if let JobEvent::AwaitedEnded { job, end, .. } = event {
                heard.lock().unwrap().push(((*job).to_owned(), end.dead));
            }
        });
    let export = tokio::spawn(export.run(1..=2_u32, |_: u32, _| async { Ok::<_, String>(()) }));
    tokio::time::sleep(HOUR).await;
    assert_eq!(store.counts("export-1").await.unwrap().succeeded, 0, "there is no import yet");

    let (calls, import) = (Calls::default(), || {
        Workflow::new("import").job_id("import-1").store(store.clone()).retry(policy!(attempts = 1))
    });
    let handler = move |n: u32, _| {
        let call = calls.count(n);
        async move { if n == 2 && call == 1 { Err(refused()) } else { Ok(()) } }
    };
    let report = import().run(1..=2_u32, handler.clone()).await.unwrap();
    assert_eq!(report.dead(), 1);
    tokio::time::sleep(HOUR).await;
    assert_eq!(store.counts("export-1").await.unwrap().succeeded, 0, "the import has failed");
    assert_eq!(
        told(&store, "export-1").await,
        ["nothing begins before job import-1 has succeeded: it finished with 1 dead letter"]
    );
    assert_eq!(*ends.lock().unwrap(), [("import-1".to_owned(), 1)], "it is reported once");

    let letters = DeadLetters::new(store.clone());
    letters.retry(&[Filter::default()], Redrive::new()).await.unwrap();
    import().resume("import-1", handler).await.unwrap();
    assert!(Job::has_succeeded(&store, "import").await.unwrap());
    assert!(export.await.unwrap().unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_job_that_has_to_finish_may_have_dead_letters_but_not_stop() {
    let store = MemoryStore::new();
    let workflow = |name: &str| Workflow::new(name).store(store.clone());
    let import = || {
        let policy = ErrorPolicy::new().max_failures(2);
        workflow("import").job_id("import-1").retry(policy!(attempts = 1)).error_policy(policy)
    };
    let fails = |_: u32, _| async { Err::<(), _>(refused()) };
    import().max_parallel(1).run(1..=3_u32, fails).await.unwrap();
    let after = After::new("import").status(AwaitedStatus::Finished);
    let export = workflow("export").after(after);
    let waits = async {
        tokio::time::sleep(HOUR).await;
        let line =
            "nothing begins before job import-1 has finished: it stopped with 2 dead letters";
        assert_eq!(told(&store, "export-1").await, [line]);
        let report = import().resume("import-1", |_: u32, _| async { Ok::<_, String>(()) }).await;
        assert_eq!(report.unwrap().dead(), 2);
    };
    let ok = |_: u32, _| async { Ok::<_, String>(()) };
    let (report, ()) = tokio::join!(export.run(1..=2_u32, ok), waits);
    assert!(report.unwrap().is_success());
    assert!(!Job::has_succeeded(&store, "import").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_job_reports_that_the_one_before_it_was_cut_short() {
    let store = MemoryStore::new();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&ends);
    let workflow = |name: &str| Workflow::new(name).store(store.clone());
    let ok = |_: u32, _| async { Ok::<_, String>(()) };
    Job::create(&store, "import", None).await.unwrap();
    Job::cut_short(&store, "import-1").await.unwrap();
    workflow("import").resume("import-1", ok).await.unwrap();
    let export = workflow("export").after("import").on_event(move |event| {
        if let JobEvent::AwaitedEnded { job, end, .. } = event {
            heard.lock().unwrap().push(format!("{job}: {end}"));
        }
    });
    let waits = async {
        tokio::time::sleep(HOUR).await;
        let end = "it finished before the end of its input";
        assert_eq!(
            told(&store, "export-1").await,
            [format!("nothing begins before job import-1 has succeeded: {end}")]
        );
        assert_eq!(*ends.lock().unwrap(), [format!("import-1: {end}")], "it is reported once");
        // A newer job of the name counts.
        workflow("import").run(1..=2_u32, ok).await.unwrap();
    };
    let (report, ()) = tokio::join!(export.run(1..=2_u32, ok), waits);
    assert!(report.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_job_of_last_night_does_not_satisfy_newer_than() {
    let store = MemoryStore::new();
    let workflow = |name: &str| Workflow::new(name).store(store.clone());
    let run = async |workflow: Workflow| {
        workflow.run(1..=2_u32, |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap()
    };
    run(workflow("import")).await;
    tokio::time::sleep(24 * HOUR).await;
    let export = workflow("export").after(After::new("import").newer_than(12 * HOUR));
    let waits = async {
        tokio::time::sleep(HOUR).await;
        let [line] = &told(&store, "export-1").await[..] else { panic!("one line") };
        let begins =
            "nothing begins before job import has succeeded: there is no job newer than 20";
        assert!(line.starts_with(begins), "{line}");
        let job = Job::find(&store, "export-1").await.unwrap().unwrap();
        assert_eq!(job.after_since, Some(job.created - 12 * HOUR));
        // One that is created later counts.
        run(workflow("import")).await;
    };
    let (report, ()) = tokio::join!(run(export), waits);
    assert!(report.is_success() && report.elapsed >= HOUR, "{:?}", report.elapsed);
}

#[test]
fn a_moment_is_a_time_since_the_creation_or_a_point_in_time() {
    for text in ["2h ago", "soon", "", "25:00"] {
        let error = text.parse::<Moment>().unwrap_err().to_string();
        assert!(error.contains("such as \"6h\""), "{error}");
    }
    assert!(matches!("2026-11-25".parse(), Ok(Moment::At(_))));
}
