//! [`Patience`]: how long to wait for another process that holds a store, and whom to notify.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::store::{StoreError, StoreResult};

/// The time for which SQLite waits by itself before the caller is notified.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Gets how long the store has been waited for.
pub(in crate::store::sqlite) type OnWait = Arc<dyn Fn(Duration) + Send + Sync>;

/// The longest wait for another process that holds a store, and the listener to notify.
#[derive(Clone)]
pub(in crate::store::sqlite) struct Patience {
    pub(in crate::store::sqlite) most: Duration,
    pub(in crate::store::sqlite) on_wait: Option<OnWait>,
}

impl Patience {
    /// Returns how long SQLite should wait by itself.
    pub(in crate::store::sqlite) fn at_a_time(&self) -> Duration {
        self.most.min(REPORT_INTERVAL)
    }

    /// Retries while another process holds the store.
    pub(in crate::store::sqlite) fn wait<T>(
        &self,
        mut attempt: impl FnMut() -> StoreResult<T>,
    ) -> StoreResult<T> {
        let begun = Instant::now();
        loop {
            let ended = attempt();
            if !matches!(ended, Err(StoreError::Locked { .. })) || begun.elapsed() >= self.most {
                return ended;
            }
            if let Some(on_wait) = &self.on_wait {
                on_wait(begun.elapsed());
            }
        }
    }
}

retry_rules::partial_debug!(Patience, |self| { most: &self.most });
