//! [`ItemContext`]: which item an attempt is for, and how often it was tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Identifies the item that an attempt is for, and counts its attempts.
///
/// ```
/// # use retry_workflow::Workflow;
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let report = Workflow::new("import")
///     .run([17_u32], |order: u32, cx| async move {
///         // A receiver that gets this twice can detect that it is the same order.
///         println!("PUT /orders/{order} Idempotency-Key: {}/{}", cx.job(), cx.id());
///         if cx.attempt() == 1 { Err("busy") } else { Ok(()) }
///     })
///     .await?;
/// assert!(report.is_success());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ItemContext {
    pub(crate) job: Arc<str>,
    pub(crate) id: String,
    pub(crate) correlation: Option<String>,
    pub(crate) run: u32,
    pub(crate) attempt: u32,
    pub(crate) worker: Arc<str>,
    pub(crate) retries: u32,
    /// The wait that a handler asks for, in nanoseconds; 0 for none.
    pub(crate) postponed: Option<Arc<AtomicU64>>,
}

impl ItemContext {
    /// Creates the context of the first attempt at an item, for tests of your own
    /// [`Work`](crate::Work). The engine creates all others.
    ///
    /// ```
    /// use retry_workflow::ItemContext;
    ///
    /// let cx = ItemContext::new("import-1", "17", "worker-1");
    /// assert_eq!((cx.correlation_id().as_str(), cx.attempt()), ("import-1/17", 1));
    /// ```
    pub fn new(
        job: impl Into<Arc<str>>,
        id: impl Into<String>,
        worker: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            job: job.into(),
            id: id.into(),
            correlation: None,
            run: 0,
            attempt: 1,
            worker: worker.into(),
            retries: 0,
            postponed: None,
        }
    }

    /// Lets the item come back later, if the handler then fails: the resource that it needs is not
    /// ready, and the attempt is not used up. Neither the budget and `max_elapsed` of the policy
    /// nor thresholds and the breaker of the job count it; a [rate](crate::Workflow::rate) does.
    ///
    /// A wait below 1 s is 1 s; without a wait, the failure is an ordinary one. So it is, with
    /// class `postponed`, once the waits of this run exceed
    /// [`max_postponed`](crate::Workflow::max_postponed) in total. Of a wait that
    /// [`Job::make_due`](crate::Job::make_due) cuts short, only the time that has passed counts.
    ///
    /// The history keeps one row for all postponed attempts in a row. Your own
    /// [`Work`](crate::Work) returns
    /// [`WorkOutcome::Postponed`](crate::work::WorkOutcome::Postponed) instead.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use std::sync::atomic::{AtomicU32, Ordering};
    /// # use retry_workflow::{Workflow, policy};
    /// # static ASKED: AtomicU32 = AtomicU32::new(0);
    /// # fn is_exported() -> bool { ASKED.fetch_add(1, Ordering::Relaxed) == 5 }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .retry(policy!(attempts = 2))
    ///     .run([1], |_: u32, cx| async move {
    ///         if !is_exported() {
    ///             cx.postpone(Duration::from_secs(60));
    ///             return Err("the export is not there yet");
    ///         }
    ///         Ok(())
    ///     })
    ///     .await?;
    /// assert_eq!((report.succeeded(), report.counts.attempts), (1, 1));
    /// assert!(report.elapsed >= Duration::from_secs(300));
    /// # Ok(())
    /// # }
    /// ```
    pub fn postpone(&self, wait: Duration) {
        if let Some(postponed) = &self.postponed {
            let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
            postponed.store(nanos, Ordering::Relaxed);
        }
    }

    retry_rules::accessors! {
        /// Returns the id of the job.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .run([17], |_: u32, cx| async move {
        ///         assert_eq!(cx.job(), "import-1");
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn job(&self) -> &str { &job }

        /// Returns the item's id within the job: a good idempotency key.
        ///
        /// ```
        /// # use retry_workflow::{Workflow, keyed};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .run(keyed([17], |n: &u32| format!("order-{n}")), |_: u32, cx| async move {
        ///         assert_eq!((cx.id(), cx.correlation_id().as_str()), ("order-17", "import-1/order-17"));
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn id(&self) -> &str { &id }
    }

    /// Returns the id that follows the item through the logs of other systems: its own, or
    /// `job/id`. It is the same in every attempt and every re-drive.
    pub fn correlation_id(&self) -> String {
        let own = || format!("{}/{}", self.job, self.id);
        self.correlation.clone().unwrap_or_else(own)
    }

    retry_rules::accessors! {
        /// Returns 0, and one more for each time that the item was re-driven.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .run([17], |_: u32, cx| async move {
        ///         assert_eq!(cx.run(), 0);
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn run(&self) -> u32 { run }

        /// Returns the number of this attempt within the run; the first is 1. Attempts whose
        /// process was killed count, too. A worker claims items ahead, and if it is killed, the
        /// store cannot distinguish those that it had not begun: they have used a number as well.
        /// So the first call of a handler may have a higher number than 1.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .run([17], |_: u32, cx| async move {
        ///         assert_eq!(cx.attempt(), 1);
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn attempt(&self) -> u32 { attempt }

        /// Returns how often the policy has retried this item or task: 0 in the first attempt.
        /// Unlike [`attempt`](Self::attempt), it leaves out attempts whose process was killed. A
        /// [`Work`](crate::Work) that does its own retries counts them itself: it sees 0 here.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .run([17], |_: u32, cx| async move {
        ///         assert_eq!(cx.retry_count(), 0);
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn retry_count(&self) -> u32 { retries }

        /// Returns the name of the worker that makes this attempt: the process, and when it began
        /// to work on the job.
        pub fn worker(&self) -> &str { &worker }
    }
}
