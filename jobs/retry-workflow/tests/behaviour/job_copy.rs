//! Copies of jobs from one store to another.

#![cfg(feature = "sqlite")]

use std::time::Duration;

use retry_workflow::job::{Copied, CopyError};
use retry_workflow::store::{Alteration, Selection, SqliteStore, Store};
use retry_workflow::{
    BreakerConfig, ErrorPolicy, Filter, ItemRecord, ItemState, Job, Workflow, policy,
};
use tempfile::TempDir;

const JOB: &str = "import-1";

fn sqlite() -> (SqliteStore, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (SqliteStore::open(folder.path().join("store.db")).unwrap(), folder)
}

fn copied(new: u64, known: u64) -> Copied {
    let mut copied = Copied::default();
    (copied.new, copied.known) = (new, known);
    copied
}

/// Runs a job that has everything a job can have: successes with outputs, several kinds of dead
/// letters, waits with checkpoints, skipped items, a breaker.
async fn fill<S: Store + Clone>(store: &S) {
    let policy = ErrorPolicy::new().circuit_breaker(BreakerConfig::new().failure_threshold(50));
    Workflow::new("import")
        .store(store.clone())
        .retry(policy!(attempts = 3, initial_delay = "1h", max_delay = "1h"))
        .error_policy(policy)
        .deadline(Duration::from_secs(30 * 60))
        .run(0..20_u32, |n: u32, cx| async move {
            match n % 5 {
                0 => Err(format!("{n} has no address")),
                1 if cx.run() == 0 => Err("refused".to_owned()),
                _ => Ok(n),
            }
        })
        .await
        .unwrap();
    let first = Filter::job(JOB).states([ItemState::Pending]);
    let ids: Vec<_> =
        store.list(&first, None, 4).await.unwrap().items.into_iter().map(|item| item.id).collect();
    assert_eq!(ids.len(), 4, "they wait for their second attempts");
    let why = retry_workflow::Failure::new("cancelled", "left out");
    assert_eq!(store.alter(&Filter::job(JOB), Alteration::Skip(why), 1, store.now()).await, Ok(1));
    let leases = store
        .claim(
            JOB,
            "w",
            store.now() + Duration::from_secs(7200),
            Selection::Items { max: 3, starts: 3 },
            Duration::ZERO,
        )
        .await;
    for (number, lease) in leases.unwrap().into_iter().enumerate() {
        let failure = retry_workflow::Failure::new("timeout", format!("no answer after {number}s"));
        let mut row = retry_workflow::store::AttemptRecord::new(
            "w",
            store.now(),
            retry_workflow::store::AttemptOutcome::Failed,
        );
        row.failure = Some(failure.clone());
        let end = retry_workflow::store::Settled::dead(failure);
        let settlement = retry_workflow::store::Settlement::new(lease.key, end, vec![row]);
        store.settle(vec![settlement], Vec::new(), store.now()).await.unwrap();
    }
}

/// Everything that can be seen of a job.
async fn seen<S: Store + Clone>(store: &S) -> (Vec<ItemRecord>, String) {
    let all = Filter::job(JOB).states(ItemState::ALL);
    let mut items = Vec::new();
    for item in store.list(&all, None, 1_000).await.unwrap().items {
        items.push(store.item(JOB, &item.id).await.unwrap().unwrap());
    }
    let job = Job::get(store, JOB).await.unwrap();
    let values = store.values("").await.unwrap();
    let seen = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        (job.status, job.created, job.ended, job.input_complete),
        store.counts(JOB).await,
        store.stats(&all, None).await,
        store.overview(JOB, 0).await.map(|job| job.next_due),
        items.iter().filter(|item| item.checkpoint.is_some()).count(),
        values.iter().map(|(key, _)| key).collect::<Vec<_>>(),
    );
    (items, seen)
}

#[tokio::test(start_paused = true)]
async fn a_job_is_the_same_wherever_it_is_copied_to() {
    let ((here, _folder), (there, _other)) = (sqlite(), sqlite());
    fill(&here).await;
    let before = seen(&here).await;
    assert_eq!(before.0.len(), 20);
    assert!(before.0.iter().any(|item| item.checkpoint.is_some()), "{before:?}");
    let job = Job::get(&here, JOB).await.unwrap();
    let memory = SqliteStore::in_memory();
    assert_eq!(job.copy(&here, &memory).await, Ok(copied(20, 0)));
    assert_eq!(seen(&memory).await, before);
    assert_eq!(job.copy(&memory, &there).await, Ok(copied(20, 0)));
    assert_eq!(seen(&there).await, before);
    // A second copy adds nothing.
    assert_eq!(job.copy(&memory, &there).await, Ok(copied(0, 20)));
    assert_eq!(seen(&there).await, before);
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_copy_is_not_a_job_and_the_next_copy_completes_it() {
    let ((here, _folder), (there, _other)) = (sqlite(), sqlite());
    fill(&here).await;
    let before = seen(&here).await;
    let job = Job::get(&here, JOB).await.unwrap();
    // The items that a killed copy has done.
    there.import(before.0[..7].to_vec(), before.0[0].due.unwrap_or(here.now())).await.unwrap();
    assert_eq!(Job::find(&there, JOB).await, Ok(None));
    assert_eq!(job.copy(&here, &there).await, Ok(copied(13, 7)));
    assert_eq!(seen(&there).await.1, before.1);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_changes_during_a_copy_is_not_copied_in_part() {
    let ((here, _folder), (there, _other)) = (sqlite(), sqlite());
    fill(&here).await;
    let job = Job::get(&here, JOB).await.unwrap();
    let begun = seen(&here).await.0;
    there.import(begun[..7].to_vec(), here.now()).await.unwrap();
    // The job has continued in the first store.
    here.alter(&Filter::job(JOB), Alteration::redrive(Duration::ZERO), usize::MAX, here.now())
        .await
        .unwrap();
    let changed = Err(CopyError::Changed { job: JOB.to_owned() });
    assert_eq!(job.copy(&here, &there).await, changed);
    assert_eq!(there.counts(JOB).await.unwrap().total(), 0);
    assert_eq!(job.copy(&here, &there).await, Ok(copied(20, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_job_is_not_copied_over_another_one_nor_under_its_workers() {
    let ((here, _folder), (there, _other)) = (sqlite(), sqlite());
    fill(&here).await;
    fill(&there).await;
    let job = Job::get(&here, JOB).await.unwrap();
    let before = seen(&there).await;
    assert_eq!(job.copy(&here, &there).await, Err(CopyError::Taken { job: JOB.to_owned() }));
    assert_eq!(seen(&there).await, before);
    let until = here.now() + Duration::from_secs(60);
    assert_eq!(Job::reserve(&here, JOB, here.now(), until).await, Ok(true));
    let running = Job::get(&here, JOB).await.unwrap().copy(&here, &there).await.unwrap_err();
    assert_eq!(running, CopyError::Running { job: JOB.to_owned(), process: std::process::id() });
    assert!(running.to_string().contains("pause the job"));
}
