//! [`Workflow`]: a job of many items, handled by a closure.

pub(crate) mod closure;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::matchers::Matchers;
use retry_runtime::retrier::{
    Classified, Decider, ForError, Opaque, Readable, ReadsClass, ReadsError,
};
use retry_runtime::{Class, Policy, Retrier, RetryConfig, RetryQuota, Shared};
use serde::de::DeserializeOwned;

use crate::engine::items::Items;
use crate::engine::job_runner::{JobRunner, settings};
use crate::engine::source::JsonItems;
use crate::item::context::ItemContext;
use crate::job::error::WorkflowError;
use crate::job::report::JobReport;
use crate::workflow::closure::{Closure, Payload, Postponement, ReadsErrors};

/// The runner of a job, and its work.
type Parts<I, H, D, Kinds> = (JobRunner, Closure<I, H, D, Kinds>);

/// A job of many items: a closure handles each of them, with retries as a policy says, and a store
/// keeps it until it has ended.
///
/// | setting | default |
/// | --- | --- |
/// | [`retry`](Self::retry): how often an item is tried, and how far apart | 3 attempts, 1 s and 2 s apart |
/// | [`retry_on`](Self::retry_on): which failures are retried | every one |
/// | [`error_policy`](Self::error_policy): what becomes of items that fail for good | dead letters |
/// | [`max_parallel`](Self::max_parallel) | 10 |
/// | [`rate`](Self::rate), [`rate_per`](Self::rate_per), [`concurrency_per`](Self::concurrency_per): how many attempts start or run, of all or of those that share a key | no limit |
/// | [`priority`](Self::priority): which items come first | as they come |
/// | [`store`](Self::store) | in memory, with a warning: good for tests, and gone with the process |
/// | [`job_id`](Self::job_id) | the name and a number |
/// | [`lease`](Self::lease): how long a killed worker holds its items back | 30 s |
/// | [`max_lost`](Self::max_lost): how many workers an item may kill | 3 |
/// | [`stop_within`](Self::stop_within): how long running items may end when the job stops | no limit; 30 s after a deadline |
/// | [`uncounted`](Self::uncounted): failures that use up no attempt | none |
/// | [`max_postponed`](Self::max_postponed): how long an item may come back later | 24 h |
///
/// ```
/// use retry_workflow::matchers::{network, timeout};
/// use retry_workflow::{ErrorPolicy, Workflow, policy};
/// # #[cfg(feature = "sqlite")] use retry_workflow::SqliteStore;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Customer {
///     name: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # #[cfg(feature = "sqlite")] {
/// # let path = folder.path().join("import.db");
/// let customers = ["Ada", "Grace"].map(|name| Customer { name: name.to_owned() });
///
/// let report = Workflow::new("import-customers")
///     .error_policy(ErrorPolicy::new().max_failures(100))
///     .retry(policy!(attempts = 3, jitter, budget = "5m"))
///     .retry_on([network, timeout])
///     .max_parallel(10)
///     .store(SqliteStore::open(path)?)
///     .run(customers, |customer: Customer, cx| async move {
///         println!("{}: {}", cx.id(), customer.name);
///         Ok::<_, std::io::Error>(())
///     })
///     .await?;
/// assert!(report.is_success(), "{report}");
/// # }
/// # Ok(())
/// # }
/// ```
///
/// Handlers run at least once for each item: if a process is killed between the effect of a handler
/// and its settlement, the item is handled again. Make effects idempotent with [`ItemContext::id`].
#[must_use = "a workflow does nothing until it is run"]
pub struct Workflow<D = Readable> {
    runner: JobRunner,
    retrier: Retrier<D>,
    postponement: Postponement,
}

impl Workflow {
    /// Creates a workflow with this name.
    ///
    /// ```
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .run(["Ada", "Grace"].map(String::from), |name: String, _| async move {
    ///         println!("{name}");
    ///         Ok::<_, std::io::Error>(())
    ///     })
    ///     .await?;
    /// assert_eq!(report.job.id, "import-1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let retrier = Retrier::new(Policy::new()).name(name.clone());
        Self { runner: JobRunner::new(name), retrier, postponement: Postponement::DEFAULT }
    }
}

impl Workflow {
    /// Reads the class of an error, and its wait, from its [`Classify`](retry_runtime::Classify).
    /// An error with `#[derive(Classify)]` is read in any case, wherever it stands in the chain of
    /// an error.
    ///
    /// ```
    /// # use retry_runtime::{Class, Classify, classify};
    /// # use retry_workflow::{Workflow, matchers::server_error};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// #[derive(Debug)]
    /// struct Http(u16);
    ///
    /// impl std::fmt::Display for Http {
    ///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    ///         write!(f, "HTTP {}", self.0)
    ///     }
    /// }
    ///
    /// impl std::error::Error for Http {}
    ///
    /// impl Classify for Http {
    ///     fn class(&self) -> Class {
    ///         classify::status(self.0)
    ///     }
    /// }
    ///
    /// let report = Workflow::new("import")
    ///     .retry_on([server_error])
    ///     .classified()
    ///     .run([1], |_: u32, _| async { Err::<(), _>(Http(404)) })
    ///     .await?;
    /// assert_eq!(report.counts.attempts, 1, "404 is not an error of the server");
    /// # Ok(())
    /// # }
    /// ```
    pub fn classified(self) -> Workflow<Classified> {
        self.with_retrier(Retrier::classified)
    }

    /// Reads nothing from the error: it has no class and no hint. For errors that have nothing but
    /// a text; without it, or [`classified`](Self::classified), they do not compile.
    ///
    /// ```
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .opaque()
    ///     .run([1], |_: u32, _| async { Err::<(), u16>(503) })
    ///     .await?;
    /// assert_eq!(report.dead(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn opaque(self) -> Workflow<Opaque> {
        self.with_retrier(Retrier::opaque)
    }
}

impl<D: ReadsError> Workflow<D> {
    /// Retries only failures that one of these matchers matches; any other failure ends the retries
    /// of its item at once.
    ///
    /// ```
    /// # use retry_workflow::{Workflow, matchers::network};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .retry_on([network])
    ///     .run([1, 2], |_: u32, _| async { Err::<(), _>("no such customer") })
    ///     .await?;
    /// assert_eq!((report.dead(), report.counts.attempts), (2, 2));
    /// # Ok(())
    /// # }
    /// ```
    #[rustfmt::skip] // rustc quotes this line
    pub fn retry_on(self, matchers: impl Matchers /* from `retry_workflow::matchers` */) -> Self {
        self.with_retrier(|retrier| retrier.retry_on(matchers))
    }

    /// Does not retry failures that one of these matchers matches, whatever `retry_on` says.
    ///
    /// ```
    /// # use retry_workflow::{Workflow, matchers::pattern};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .abort_on([pattern("no such")?])
    ///     .run([1, 2], |_: u32, _| async { Err::<(), _>("no such customer") })
    ///     .await?;
    /// assert_eq!((report.dead(), report.counts.attempts), (2, 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn abort_on(self, matchers: impl Matchers) -> Self {
        self.with_retrier(|retrier| retrier.abort_on(matchers))
    }

    /// Retries failures for which `predicate` holds: in addition to those that `retry_on` names, or
    /// only these without it.
    ///
    /// ```
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .retry_when(|error: &std::io::Error| error.raw_os_error() == Some(11))
    ///     .run([1, 2], |_: u32, _| async { Err::<(), _>(std::io::Error::other("no such customer")) })
    ///     .await?;
    /// assert_eq!((report.dead(), report.counts.attempts), (2, 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry_when<E, Kind, F>(self, predicate: F) -> Workflow<ForError<E>>
    where
        D: Decider<E, Kind>,
        F: Fn(&E) -> bool + Send + Sync + 'static,
    {
        self.with_retrier(|retrier| retrier.when(predicate))
    }

    fn with_retrier<N>(self, change: impl FnOnce(Retrier<D>) -> Retrier<N>) -> Workflow<N> {
        let Self { runner, retrier, postponement } = self;
        Workflow { runner, retrier: change(retrier), postponement }
    }

    /// Sets how often an item is tried, and how far apart. Default: 3 attempts, 1 s and 2 s apart.
    ///
    /// The waits are durable: the item goes back to the store, and its slot is free for others. The
    /// budget also runs by the clock, from the first failure of the item, even while nothing runs.
    /// A server may ask for any wait, unless the policy has a `max_retry_after`.
    ///
    /// ```
    /// # use retry_workflow::{Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .retry(policy!(attempts = 5, jitter, budget = "5m"))
    ///     .run([1, 2], |_: u32, _| async { Err::<(), _>("busy") })
    ///     .await?;
    /// assert_eq!((report.dead(), report.counts.attempts), (2, 10));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A [`RetryConfig`] from a file sets its lists of failures, too:
    ///
    /// ```
    /// # use retry_workflow::{RetryConfig, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config: RetryConfig = serde_json::from_str(r#"{ "attempts": 5, "retry_on": ["network"] }"#)?;
    /// let report = Workflow::new("import")
    ///     .retry(&config)
    ///     .run([1, 2], |_: u32, _| async { Err::<(), _>("no such customer") })
    ///     .await?;
    /// assert_eq!((report.dead(), report.counts.attempts), (2, 2));
    /// # Ok(())
    /// # }
    /// ```
    #[rustfmt::skip] // rustc quotes this line
    pub fn retry(mut self, config: impl Into<RetryConfig> /* such as `policy!(attempts = 5)` */) -> Self {
        let mut config = config.into();
        // The retrier would count the waits of a failure that uses up no attempt.
        if let Some(classes) = config.uncounted.take() {
            self.postponement.uncounted = classes;
        }
        self.with_retrier(|retrier| retrier.with_config(&config))
    }

    /// Sets the classes of failures that use up no attempt, such as the 429 of a server that was
    /// called too often. Default: none.
    ///
    /// An item that fails with one, and would be retried, is [postponed](ItemContext::postpone) for
    /// the wait of its server, or of the policy, and at least 1 s. The job's breaker counts it, and
    /// `max_retry_after` applies. Beyond [`max_postponed`](Self::max_postponed) it uses up an
    /// attempt.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_workflow::{Class, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .retry(policy!(attempts = 3, backoff = fixed, initial_delay = "60s", max_delay = "60s"))
    ///     .uncounted(Class::RATE_LIMIT)
    ///     .max_postponed(Duration::from_secs(600))
    ///     .run([1], |_: u32, _| async { Err::<(), _>("429 Too Many Requests") })
    ///     .await?;
    /// // Ten waits of a minute, and then three attempts.
    /// assert_eq!((report.classes["rate_limit"], report.elapsed.as_secs()), (1, 720));
    /// # Ok(())
    /// # }
    /// ```
    pub fn uncounted(mut self, classes: Class) -> Self
    where
        D: ReadsClass,
    {
        self.postponement.uncounted = classes;
        self
    }

    /// Pays for retries from this quota: a `&'static`, or an `Arc`. Default: no quota.
    ///
    /// ```
    /// # use retry_runtime::{QuotaConfig, RetryQuota};
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
    ///
    /// let report = Workflow::new("import")
    ///     .quota(&OUTBOUND)
    ///     .run([1, 2], |_: u32, _| async { Err::<(), _>("busy") })
    ///     .await?;
    /// assert_eq!((report.dead(), report.counts.attempts), (2, 6));
    /// # Ok(())
    /// # }
    /// ```
    pub fn quota(self, quota: impl Into<Shared<RetryQuota>>) -> Self {
        self.with_retrier(|retrier| retrier.quota(quota))
    }

    /// Sets how long an item may be [postponed](ItemContext::postpone) in a run, in total; after
    /// that its failures are ordinary ones, of class `postponed`. Default: 24 h.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_workflow::{Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("import")
    ///     .retry(policy!(attempts = 1))
    ///     .max_postponed(Duration::from_secs(600))
    ///     .run([1], |_: u32, cx| async move {
    ///         cx.postpone(Duration::from_secs(60));
    ///         Err::<(), _>("the export is not there yet")
    ///     })
    ///     .await?;
    /// assert_eq!(report.classes["postponed"], 1);
    /// assert!(report.elapsed >= Duration::from_secs(600));
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_postponed(mut self, most: Duration) -> Self {
        self.postponement.most = most;
        self
    }

    settings!(runner);

    /// Handles all items, and reports their outcomes.
    ///
    /// Items come from an iterator or a stream, and go into the store as they arrive. An item is
    /// identified by its content, or by its [`keyed`](crate::keyed) id: items that
    /// the store already has from an earlier process are not added or handled again. Use `keyed`
    /// for an endless stream: ids by content keep about 16 bytes per item in memory. For a job that
    /// runs every night, give each night a [`job_id`](Self::job_id): without it, an unfinished job
    /// of this name is continued, also one with items that were re-driven after its end.
    /// [`JobReport::already_done`] is the number of items that had succeeded in it before; if there
    /// are any, a warning names the job.
    ///
    /// Items are owned (`String`, not `&str`), because they come back from the store. If the
    /// compiler cannot infer the error, end the handler with `Ok::<_, Error>(())`.
    ///
    /// Each attempt runs its own clone of the handler, which owns what it captures. Clients and
    /// pools are cheap to clone; share anything else through an `Arc`:
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// # use std::sync::Arc;
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let prices = Arc::new(HashMap::from([(17, 3), (23, 5)]));
    /// let report = Workflow::new("invoice")
    ///     .run([17, 23], move |order: u32, _| async move {
    ///         prices.get(&order).map(|price| println!("{price}")).ok_or("no price")
    ///     })
    ///     .await?;
    /// assert_eq!(report.succeeded(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Dropping the future loses nothing: unsettled items stay in the store.
    ///
    /// An item that two workers died with is a [suspect](crate::store::Lease::is_suspect). Its
    /// handler runs while no other handler of this process is running, of any job; while it waits
    /// for that, no job of the process starts a handler. A handler may run its own job and await
    /// it. If it instead spawns a task that runs a job, and waits for that task, a suspect of that
    /// job and the handler wait for each other: await such a job in place.
    ///
    /// ```
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("halve")
    ///     .run([8, 6, 3], |n: u32, cx| async move {
    ///         if n % 2 == 0 { Ok(n / 2) } else { Err(format!("{}: {n} is odd", cx.id())) }
    ///     })
    ///     .await?;
    /// assert_eq!((report.succeeded(), report.dead()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The settings are not valid, an item cannot be written as JSON, or the store fails. An item
    /// that fails is not an error: it is in the report.
    ///
    /// # Panics
    /// Outside a tokio runtime with its time driver enabled (`enable_time`).
    pub fn run<'a, Src, SrcKind, I, H, Fut, T, E, DeciderKind, TextKind>(
        self,
        items: Src,
        handler: H,
    ) -> Pin<Box<dyn Future<Output = Result<JobReport, WorkflowError>> + Send + 'a>>
    where
        Src: Items<SrcKind, Item = I> + 'a,
        SrcKind: 'a,
        I: Payload,
        // rustc quotes these lines, with their comments, if a handler is not as they say.
        H: FnOnce(I, ItemContext) -> Fut + Clone + Send + Sync + 'static, // share through an `Arc`
        Fut: Future<Output = Result<T, E>> + Send + 'static, // `async move { …; Ok::<_, std::io::Error>(()) }`
        D: ReadsErrors<E, DeciderKind, TextKind>,
        DeciderKind: 'static,
        TextKind: 'static,
    {
        // Not an `async fn`: its future would repeat each bound, and rustc would report a mistake
        // here once more at the call, and once more at the `.await`.
        let mut source = JsonItems::new(items.into_source());
        Box::pin(async move {
            let (runner, work) = self.work::<I, H, (DeciderKind, TextKind)>(handler)?;
            runner.run_all(&mut source, Arc::new(work)).await
        })
    }

    /// Resumes a job with the items that are in the store: attempt numbers, due times, budgets and
    /// the breaker are as they were.
    ///
    /// ```
    /// # use retry_workflow::{SqliteStore, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let import = || Workflow::new("import").store(store.clone());
    /// let report = import()
    ///     .stop_on(std::future::ready(()))
    ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
    ///     .await?;
    /// assert!(!report.is_success(), "it was stopped");
    ///
    /// let report = import().run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
    /// assert!(report.is_success());
    /// let report = import().resume("import-1", |_: u32, _| async { Ok::<_, String>(()) }).await?;
    /// assert_eq!(report.succeeded(), 3, "nothing is left to do");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The job does not exist, or one of the errors of [`run`](Self::run).
    ///
    /// # Panics
    /// Outside a tokio runtime with its time driver enabled (`enable_time`).
    pub fn resume<I, H, Fut, T, E, DeciderKind, TextKind>(
        self,
        job: &str,
        handler: H,
    ) -> Pin<Box<dyn Future<Output = Result<JobReport, WorkflowError>> + Send>>
    where
        I: DeserializeOwned + Send + 'static,
        H: FnOnce(I, ItemContext) -> Fut + Clone + Send + Sync + 'static, // share through an `Arc`
        Fut: Future<Output = Result<T, E>> + Send + 'static, // `async move { …; Ok::<_, std::io::Error>(()) }`
        D: ReadsErrors<E, DeciderKind, TextKind>,
        DeciderKind: 'static,
        TextKind: 'static,
    {
        let job = job.to_owned();
        Box::pin(async move {
            let (runner, work) = self.work::<I, H, (DeciderKind, TextKind)>(handler)?;
            runner.resume(&job, work).await
        })
    }

    /// Checks the settings, and splits them into the job's and those of its work.
    fn work<I, H, Kinds>(self, handler: H) -> Result<Parts<I, H, D, Kinds>, WorkflowError> {
        self.check()?;
        let Self { runner, retrier, postponement } = self;
        Ok((runner, Closure::new(handler, retrier, postponement)))
    }

    fn check(&self) -> Result<(), WorkflowError> {
        self.retrier.validate().map_err(WorkflowError::Policy)?;
        let policy = self.retrier.policy();
        if policy.get_deadline().is_some() {
            return Err(WorkflowError::Deadline);
        }
        if policy.is_hedged() {
            return Err(WorkflowError::Hedge);
        }
        Ok(())
    }
}

retry_rules::partial_debug!([D: fmt::Debug] Workflow<D>, |self| {
    runner: &self.runner,
    retrier: &self.retrier,
});
