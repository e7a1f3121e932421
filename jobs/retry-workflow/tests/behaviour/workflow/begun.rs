//! Items that were begun come before new ones, so that retries, dead letters and limits do not wait
//! for the end of the queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use retry_workflow::{ErrorPolicy, StopReason, Workflow, policy};
use tokio::time::sleep;

use super::support::refused;

#[tokio::test(start_paused = true)]
async fn a_job_of_failures_stops_after_a_few_calls_however_many_items_there_are() {
    let calls = Arc::new(AtomicU64::new(0));
    let report = Workflow::new("dead-server")
        .retry(policy!(attempts = 2, backoff = fixed, initial_delay = "1s"))
        .error_policy(ErrorPolicy::new().max_failures(10))
        .max_parallel(10)
        .run(1..=5_000_u32, {
            let calls = Arc::clone(&calls);
            move |_: u32, _| {
                calls.fetch_add(1, Ordering::Relaxed);
                async {
                    sleep(Duration::from_secs(1)).await;
                    Err::<(), _>(refused())
                }
            }
        })
        .await
        .unwrap();
    let calls = calls.load(Ordering::Relaxed);
    assert_eq!(report.stopped(), Some(&StopReason::MaxFailures { max_failures: 10 }));
    assert!(calls <= 60, "{calls} calls");
}
