//! Dead letters that a program re-drives, and then runs its workflow again.

mod scenario;

use std::sync::Arc;

use retry_tests_support::events;
use retry_workflow::{DeadLetters, Filter, Job, Redrive, SqliteStore, Store, Workflow, keyed};

#[tokio::test(start_paused = true)]
async fn a_run_after_a_re_drive_continues_the_job() {
    scenario::run(Arc::new(SqliteStore::in_memory())).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_run_after_a_re_drive_continues_the_job_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = retry_workflow::SqliteStore::open(folder.path().join("jobs.db")).unwrap();
    scenario::run(Arc::new(store)).await;
}

/// A job of three items, of which the third one has been re-driven.
async fn redriven() -> SqliteStore {
    let store = SqliteStore::in_memory();
    let work = |n: u32, _| async move { if n == 3 { Err("no stock") } else { Ok(()) } };
    let import = Workflow::new("import").store(store.clone());
    import.run(keyed([1_u32, 2, 3], ToString::to_string), work).await.unwrap();
    let letters = DeadLetters::new(store.clone());
    letters.retry(&[Filter::job("import-1")], Redrive::new()).await.unwrap();
    store
}

#[tokio::test(start_paused = true)]
async fn input_that_is_done_already_is_reported_with_one_warning() {
    let works = |_: u32, _| async { Ok::<_, String>(()) };
    let items = |items: [u32; 3]| keyed(items, ToString::to_string);
    let run = async |store: &SqliteStore, job: Option<&str>, of: [u32; 3]| {
        events::collect();
        let workflow = Workflow::new("import").store(store.clone());
        let workflow = match job {
            Some(id) => workflow.job_id(id),
            None => workflow,
        };
        let report = workflow.run(items(of), works).await.unwrap();
        (report, events::collect())
    };
    let (report, warned) = run(&redriven().await, None, [1, 2, 3]).await;
    assert_eq!((report.job.id.as_str(), report.already_done), ("import-1", 2));
    assert!(report.to_string().contains("2 of the input had succeeded before"), "{report}");
    let [warned] = &warned[..] else { panic!("{warned:?}") };
    assert!(warned.contains("import-1") && warned.contains(".job_id("), "{warned}");

    // Another night: its items join the job, and none of them is mistaken for one that is done.
    let (report, warned) = run(&redriven().await, None, [4, 5, 6]).await;
    assert_eq!(
        (report.job.id.as_str(), report.already_done, report.succeeded()),
        ("import-1", 0, 6)
    );
    assert_eq!(warned, [""; 0]);

    // A job that was named is meant.
    let (report, warned) = run(&redriven().await, Some("import-1"), [1, 2, 3]).await;
    assert_eq!((report.already_done, report.succeeded()), (2, 3));
    assert_eq!(warned, [""; 0]);

    // Nothing is pending: a new job.
    let store = redriven().await;
    run(&store, None, [1, 2, 3]).await;
    let (report, warned) = run(&store, None, [1, 2, 3]).await;
    assert_eq!(
        (report.job.id.as_str(), report.already_done, report.succeeded()),
        ("import-2", 0, 3)
    );
    assert_eq!(warned, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn items_that_succeed_during_enqueueing_are_not_reported_as_done() {
    let store = SqliteStore::in_memory();
    let job = Job::create(&store, "import", None).await.unwrap();
    // The same item comes twice, and has succeeded before it comes again.
    let numbers = (0..3_000_u32).map(|n| n % 1_500);
    let report = Workflow::new("import")
        .store(store)
        .run(keyed(numbers, ToString::to_string), |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert_eq!((report.job.id, report.already_done, report.counts.succeeded), (job.id, 0, 1_500));
}

#[tokio::test(start_paused = true)]
async fn the_newest_unfinished_job_is_continued() {
    let store = redriven().await;
    let stopped = Workflow::new("import")
        .store(store.clone())
        .job_id("import-b")
        .stop_on(std::future::ready(()))
        .run([1_u32], |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert_eq!(stopped.succeeded(), 0);
    for expected in ["import-b", "import-1", "import-2"] {
        let report = Workflow::new("import")
            .store(store.clone())
            .run([1_u32], |_: u32, _| async { Ok::<_, String>(()) })
            .await
            .unwrap();
        assert_eq!(report.job.id, expected);
    }
    assert_eq!(store.counts("import-1").await.unwrap().unfinished(), 0);
}
