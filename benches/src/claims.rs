//! The work of a worker on a store, without handling the items.

use std::time::{Duration, Instant};

use retry_workflow::store::{AttemptOutcome, AttemptRecord, Selection, Settled, Settlement};
use retry_workflow::{Store, Timestamp};

/// Claims this many items and settles them as successes. Returns how long each of the two took;
/// `None` if no item was left.
pub(crate) async fn claim_and_settle(
    store: &impl Store,
    job: &str,
    at_a_time: usize,
) -> Option<[Duration; 2]> {
    const WORKER: &str = "worker";
    const LEASE: Duration = Duration::from_secs(30);
    let now = Timestamp::now();
    let start = Instant::now();
    let selection = Selection::Items { max: at_a_time, starts: at_a_time };
    let leases = store.claim(job, WORKER, now, selection, LEASE).await.expect("a store that works");
    let claimed = Instant::now();
    if leases.is_empty() {
        return None;
    }
    let settlements = leases.into_iter().map(|lease| {
        let mut row = AttemptRecord::new(WORKER, now, AttemptOutcome::Succeeded);
        (row.run, row.attempt) = (lease.run, lease.attempt);
        Settlement::new(lease.key, Settled::Succeeded(None), vec![row])
    });
    store.settle(settlements.collect(), Vec::new(), now).await.expect("a store that works");
    Some([claimed - start, claimed.elapsed()])
}
