//! [`Changes`]: wakes callers in this process that wait for a change in a job.

use std::collections::HashMap;
use std::future::{Future, pending};

use parking_lot::Mutex;
use tokio::sync::watch;

/// Wakes callers in this process that wait for a change in a job: a building block for your own
/// store, behind its [`changed`](super::Store::changed).
///
/// ```
/// use std::sync::Arc;
/// use retry_workflow::store::Changes;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let changes = Arc::new(Changes::default());
/// let waits = changes.changed("import-1", 0);
/// changes.wake("import-1");
/// assert_eq!(waits.await, 1);
/// // What happens between two calls ends the second one at once.
/// changes.wake_all();
/// assert_eq!(changes.changed("import-1", 1).await, 2);
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Changes {
    /// The number of changes in each job that was ever waited for.
    jobs: Mutex<HashMap<String, watch::Sender<u64>>>,
}

impl Changes {
    /// Waits until the number of changes in a job differs from `seen`, and returns it. Changes are
    /// counted from the first call on.
    pub fn changed(&self, job: &str, seen: u64) -> impl Future<Output = u64> + Send + use<> {
        let mut count = self.with(|jobs| match jobs.get(job) {
            Some(changes) => changes.subscribe(),
            None => jobs.entry(job.to_owned()).or_default().subscribe(),
        });
        async move {
            if let Ok(count) = count.wait_for(|count| *count != seen).await {
                return *count;
            }
            // The store is gone: nothing changes any more.
            pending().await
        }
    }

    /// Reports that something in a job has changed.
    pub fn wake(&self, job: &str) {
        self.with(|jobs| jobs.get(job).into_iter().for_each(count));
    }

    /// Reports a change in the job that the value of this key belongs to: its id follows the first
    /// `/`.
    pub fn wake_by_key(&self, key: &str) {
        if let Some((_, job)) = key.split_once('/') {
            self.wake(job);
        }
    }

    /// Reports that anything may have changed in any job.
    pub fn wake_all(&self) {
        self.with(|jobs| jobs.values().for_each(count));
    }

    fn with<T>(&self, use_jobs: impl FnOnce(&mut HashMap<String, watch::Sender<u64>>) -> T) -> T {
        use_jobs(&mut self.jobs.lock())
    }
}

fn count(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count = count.wrapping_add(1));
}
