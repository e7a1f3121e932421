//! The start of jobs, and starts that come too late.

use std::time::Duration;

use retry_workflow::job::{Moment, Unit, Waits as Waiting};
use retry_workflow::{
    DeadLetters, Filter, ItemState, Job, Redrive, SqliteStore, Store, WaitReason, Workflow, keyed,
    policy,
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
async fn told(store: &SqliteStore, job: &str) -> Vec<String> {
    let job = Job::get(store, job).await.unwrap();
    let counts = store.counts(&job.id).await.unwrap();
    let waits = Waiting::load(store, &job, &counts).await.unwrap();
    waits.lines(&counts, Unit::Item, store.now()).into_iter().map(|(_, text)| text).collect()
}

#[tokio::test(start_paused = true)]
async fn a_resumed_job_counts_from_its_creation() {
    let store = SqliteStore::in_memory();
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
    let (store, calls) = (SqliteStore::in_memory(), Calls::default());
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
    assert!(!report.is_success());
    let item = store.item("night-1", "9").await.unwrap().unwrap();
    assert_eq!((item.state, item.attempt, item.history.len()), (ItemState::Skipped, 1, 0));
    // A skipped item that is re-driven runs.
    let letters = DeadLetters::new(store.clone());
    let one = Filter::job("night-1").ids(["9"]).states([ItemState::Skipped]);
    assert_eq!(letters.retry(&[one], Redrive::new()).await.unwrap(), 1);
    let report = job().resume("night-1", |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
    assert_eq!(report.succeeded(), 4);
}

#[test]
fn a_moment_is_a_time_since_the_creation_or_a_point_in_time() {
    for text in ["2h ago", "soon", "", "25:00"] {
        let error = text.parse::<Moment>().unwrap_err().to_string();
        assert!(error.contains("such as `6h`"), "{error}");
    }
    assert!(matches!("2026-11-25".parse(), Ok(Moment::At(_))));
}
