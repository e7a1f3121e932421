//! [`JobRunner`]: configures and runs a job. Workflows and graphs are built on it, and share its
//! settings.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::Class;

use crate::engine::source::{DynSource, Source, StoredItems};
use crate::engine::work::{BoxFuture, DynWork, Work};
use crate::engine::{self, Handlers, JobLimit, LimitBound, Options, Signals};
use crate::item::sanitize::OneLine;
use crate::job::error::WorkflowError;
use crate::job::error_policy::{ErrorPolicy, OnItemFailure};
use crate::job::name;
use crate::job::rate::Rates;
use crate::job::record::{Job, StopReason};
use crate::job::report::JobReport;
use crate::store::Store;
use crate::words;

/// Runs a job with your own kind of [`Work`], on items from any [`Source`].
///
/// [`Workflow`](crate::Workflow) and [`Graph`](crate::Graph) are built on it, for closures. See
/// [`Work`] for an example.
///
/// | setting | default |
/// | --- | --- |
/// | [`error_policy`](Self::error_policy): what becomes of items that fail for good | dead letters |
/// | [`max_parallel`](Self::max_parallel) | 10 |
/// | [`slow_down_on`](Self::slow_down_on): failures for which fewer items run at the same time | none |
/// | [`rate`](Self::rate), [`rate_per`](Self::rate_per), [`concurrency_per`](Self::concurrency_per): how many attempts start or run, of all or of those that share a key | no limit |
/// | [`priority`](Self::priority): which items come first | as they come |
/// | [`store`](Self::store) | in memory, with a warning: good for tests, and gone with the process |
/// | [`job_id`](Self::job_id) | the name and a number |
/// | [`lease`](Self::lease): how long a killed worker holds its items back | 30 s |
/// | [`max_lost`](Self::max_lost): how many workers an item may kill | 3 |
/// | [`stop_within`](Self::stop_within): how long running items may end when the job stops | no limit; 30 s after a deadline |
#[must_use = "a job does nothing until it is run"]
pub struct JobRunner {
    pub(crate) name: String,
    pub(crate) job_id: Option<String>,
    /// `None` until a default is chosen.
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) options: Options,
    pub(crate) stop: Option<BoxFuture<'static, ()>>,
    pub(crate) start: Option<BoxFuture<'static, ()>>,
    pub(crate) finish: Option<Finish>,
    /// The first setting that is not valid.
    invalid: Option<WorkflowError>,
}

/// The function that is called with the report of a job.
pub(crate) type Finish = Box<dyn FnOnce(JobReport) -> BoxFuture<'static, ()> + Send>;

impl JobRunner {
    /// Creates the runner of a job with this name.
    pub fn new(name: impl Into<String>) -> Self {
        let options = Options {
            max_parallel: 10,
            slow_down_on: Class::empty(),
            lease: Duration::from_secs(30),
            deadline: None,
            stop_within: None,
            max_lost: 3,
            rates: Rates::default(),
            key_limits: Vec::new(),
            priority: None,
            not_before: None,
            skip_after: None,
            policy: ErrorPolicy::new(),
            handlers: Handlers::new(),
            listeners: Vec::new(),
        };
        Self {
            name: name.into(),
            job_id: None,
            store: None,
            options,
            stop: None,
            start: None,
            finish: None,
            invalid: None,
        }
    }
}

/// The settings of everything that runs a job, for an `impl` whose runner is the field `$runner` of
/// `self`, or `self` itself.
macro_rules! settings {
    ($($runner:ident)?) => {
        /// Sets what becomes of items that fail for good, and when the job stops. Default: they
        /// become dead letters, and the job continues.
        ///
        /// ```
        /// # use retry_workflow::{ErrorPolicy, OnItemFailure, Workflow};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .error_policy(ErrorPolicy::new().on_item_failure(OnItemFailure::Skip))
        ///     .run([1, 2], |_: u32, _| async { Err::<(), _>("no address") })
        ///     .await?;
        /// assert_eq!(report.skipped(), 2);
        /// # Ok(())
        /// # }
        /// ```
        pub fn error_policy(mut self, policy: $crate::job::error_policy::ErrorPolicy) -> Self {
            self$(.$runner)?.options.policy = policy;
            self
        }

        /// Adds a handler for `on_item_failure: { custom: name }`: it sees an item that failed
        /// for good, and decides what becomes of it.
        ///
        /// ```
        /// use retry_workflow::{ErrorPolicy, OnItemFailure, Workflow};
        ///
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// let report = Workflow::new("import")
        ///     .error_policy(ErrorPolicy::new().on_item_failure(OnItemFailure::Custom("old".into())))
        ///     .handler("old", |failed| async move {
        ///         let is_old = failed.failure.message.contains("before 1970");
        ///         if is_old { OnItemFailure::Skip } else { OnItemFailure::Dlq }
        ///     })
        ///     .run([1950], |year: u32, _| async move { Err::<(), _>(format!("{year} is before 1970")) })
        ///     .await
        ///     .unwrap();
        /// assert_eq!(report.skipped(), 1);
        /// # }
        /// ```
        pub fn handler<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
        where
            F: Fn($crate::job::event::ItemFailure) -> Fut + Send + Sync + 'static,
            Fut: std::future::Future<Output = $crate::job::error_policy::OnItemFailure>
                + Send
                + 'static,
        {
            let handler: $crate::engine::Handler =
                std::sync::Arc::new(move |failure| Box::pin(handler(failure)));
            self$(.$runner)?.options.handlers.insert(name.into(), handler);
            self
        }

        /// Sets where the job lives. Default: in memory, with a warning, because the job is lost
        /// with its process.
        ///
        /// ```
        /// # use retry_workflow::{SqliteStore, Store, Workflow};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let store = SqliteStore::in_memory();
        /// let report = Workflow::new("import")
        ///     .store(store.clone())
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert_eq!(store.counts("import-1").await?.succeeded, 3);
        /// # Ok(())
        /// # }
        /// ```
        pub fn store(mut self, store: impl $crate::store::IntoStore) -> Self {
            self$(.$runner)?.store = Some(store.into_store());
            self
        }

        /// Sets how many items are processed at a time in this process; each further process that
        /// works on the job has its own limit. Default: 10.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .max_parallel(2)
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert_eq!(report.succeeded(), 3);
        /// # Ok(())
        /// # }
        /// ```
        pub fn max_parallel(mut self, most: usize) -> Self {
            self$(.$runner)?.options.max_parallel = most;
            self
        }

        /// Sets the classes of failures for which fewer items run at the same time, such as the
        /// 429 of a server that was called too often. Default: none.
        ///
        /// After such a failure, the items that still run are the limit. It rises by one after twice
        /// as many have ended without one, up to [`max_parallel`](Self::max_parallel). Each process
        /// has its own limit. The failure counts as an attempt, as any other does.
        ///
        /// ```
        /// # use retry_workflow::{Class, Workflow};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .max_parallel(20)
        ///     .slow_down_on(Class::RATE_LIMIT)
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert_eq!(report.succeeded(), 3);
        /// # Ok(())
        /// # }
        /// ```
        pub fn slow_down_on(mut self, classes: retry_runtime::Class) -> Self {
            self$(.$runner)?.options.slow_down_on = classes;
            self
        }

        /// Limits how many attempts start per unit of time, in all processes that work on the job
        /// together. Default: no limit.
        ///
        /// The rate is a [`Rate`](crate::Rate) or its text, or a list of several, which hold
        /// together; `run` returns an error if a text is not a rate. Each start is counted: retries
        /// too. A worker reserves its starts in the store, up to 250 ms ahead, and returns unused
        /// starts when it leaves. A window (below) keeps what is used if its limit changes.
        ///
        /// The rate with the shortest interval spreads its starts evenly. A start can be used up to
        /// 50 ms late, and later starts keep their times: in any time *t* there are at most as many
        /// as in *t* + 50 ms, plus one. Each other rate, a rate of [costs](crate::Rate::cost), and a
        /// rate per day is a window: in any second, minute, hour or day, at most its limit starts,
        /// over all processes, kills and restarts. The first item that does not fit keeps its room.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let began = tokio::time::Instant::now();
        /// let report = Workflow::new("import")
        ///     .rate("10/s")
        ///     .run(1..=31_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert!(report.is_success() && began.elapsed() >= Duration::from_secs(3));
        /// # Ok(())
        /// # }
        /// ```
        pub fn rate(mut self, rates: impl $crate::job::rate::IntoRates) -> Self {
            let rates = self$(.$runner)?.checked(rates.into_rates(), WorkflowError::Rate);
            self$(.$runner)?.options.rates = rates.unwrap_or_default();
            self
        }

        /// Limits how many attempts start per unit of time at items that share a key, such as a
        /// host, in all processes that work on the job together. `key` takes it from the payload;
        /// items without one (`None`) are not limited. Several rates of the same key are a list, as
        /// for [`rate`](Self::rate). Default: no limit. Call it again for another key: keys are told
        /// apart by the order of the calls.
        ///
        /// An item whose key is busy goes back to the store until its start, so that it occupies no
        /// place and delays no other items. This does not count as an attempt, and is not in its
        /// history. Meanwhile further items are read from the input, however many wait. When the
        /// job runs with other limits than before, these items are due at once.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let began = tokio::time::Instant::now();
        /// let report = Workflow::new("import")
        ///     .rate_per(|n| Some(format!("host {}", n.as_u64()? % 2)), "5/s")
        ///     .run(1..=21_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert!(report.is_success() && began.elapsed() >= Duration::from_secs(2));
        /// # Ok(())
        /// # }
        /// ```
        pub fn rate_per(
            mut self,
            key: impl Fn(&serde_json::Value) -> Option<String> + Send + Sync + 'static,
            rates: impl $crate::job::rate::IntoRates,
        ) -> Self {
            let rates = self$(.$runner)?.checked(rates.into_rates(), WorkflowError::Rate);
            let of = std::sync::Arc::new(key);
            let limit = rates.map(|rates| $crate::engine::JobLimit::rates(Some(of), &rates));
            self$(.$runner)?.options.key_limits.extend(limit);
            self
        }

        /// Sets how urgent an item is, by its payload: a number from −9 to 9, the higher the
        /// sooner. A number beyond these counts as the nearest one. Default: 0 for every item.
        ///
        /// The priority is stored with the item when the item is read from the input, and stays the
        /// same in every attempt and re-drive. Half the places of a claim go to items that have
        /// begun, so that retries get their turn, and the others to new ones; in both halves the
        /// most urgent come first. Items that a worker has claimed already, up to a few for each of
        /// its handlers, are not overtaken. The most urgent item may be the last of the input, so
        /// up to a million are read ahead.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("ship")
        ///     .priority(|order| if order["express"] == true { 5 } else { 0 })
        ///     .run([serde_json::json!({ "express": true })], |_: serde_json::Value, _| async {
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn priority(
            mut self,
            of: impl Fn(&serde_json::Value) -> i8 + Send + Sync + 'static,
        ) -> Self {
            self$(.$runner)?.options.priority = Some(std::sync::Arc::new(of));
            self
        }

        /// Limits how many items that share a key run at the same time, in all processes that work
        /// on the job. `key` is as for [`rate_per`](Self::rate_per), and an item whose key is
        /// busy is treated alike. Default: no limit.
        ///
        /// A worker leases its places with its items: the places of a worker that was killed are
        /// free after its [`lease`](Self::lease).
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .concurrency_per(|order| order["host"].as_str().map(String::from), 2)
        ///     .run([serde_json::json!({ "host": "a.test" })], |_: serde_json::Value, _| async {
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn concurrency_per(
            mut self,
            key: impl Fn(&serde_json::Value) -> Option<String> + Send + Sync + 'static,
            most: u32,
        ) -> Self {
            let (of, bound) = (std::sync::Arc::new(key), $crate::engine::LimitBound::Concurrency(most));
            self$(.$runner)?.options.key_limits.push($crate::engine::JobLimit { of: Some(of), bound, name: None });
            self
        }

        /// Sets how long a worker holds an item before it must renew its lease, which it does in
        /// time. After this time, the items of a killed worker are processed again. Default: 30 s;
        /// at least 100 ms.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .lease(Duration::from_secs(120))
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn lease(mut self, lease: std::time::Duration) -> Self {
            self$(.$runner)?.options.lease = lease;
            self
        }

        /// Sets how many workers may die in a row while they run an item alone, before it becomes
        /// a dead letter of class `lost`. Default: 3; at least 1.
        ///
        /// An item runs alone once two workers have died with it. A higher number keeps items that
        /// run for hours on machines that are taken away; [`u32::MAX`] keeps them permanently.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("render")
        ///     .max_lost(20)
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert_eq!(report.succeeded(), 3);
        /// # Ok(())
        /// # }
        /// ```
        pub fn max_lost(mut self, most: u32) -> Self {
            self$(.$runner)?.options.max_lost = most;
            self
        }

        /// Sets for how long running items may end once the job stops. Then their handlers are
        /// dropped, and the items are released: they can start again at once, and no attempt is
        /// used up. Default: 30 s after the [`deadline`](Self::deadline), and without a limit if
        /// anything else stops the job.
        ///
        /// Set it to less than the time between the signal and the end of a machine that is taken
        /// away. A handler that blocks its thread cannot be dropped.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("render")
        ///     .stop_on(tokio::time::sleep(Duration::from_secs(60)))
        ///     .stop_within(Duration::from_secs(20))
        ///     .run([1], |_: u32, _| std::future::pending::<Result<(), String>>())
        ///     .await?;
        /// assert_eq!((report.counts.pending, report.elapsed.as_secs()), (1, 80));
        /// # Ok(())
        /// # }
        /// ```
        pub fn stop_within(mut self, time: std::time::Duration) -> Self {
            self$(.$runner)?.options.stop_within = Some(time);
            self
        }

        /// Stops the job this long after this process began or resumed it: no further item is
        /// started, and the job can be resumed. Items that run may end for 30 s, or for
        /// [`stop_within`](Self::stop_within). Default: none.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::{StopReason, Workflow};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .max_parallel(1)
        ///     .deadline(Duration::from_secs(30))
        ///     .run(1..=3_u32, |_: u32, _| async {
        ///         tokio::time::sleep(Duration::from_secs(20)).await;
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert_eq!((report.succeeded(), report.stopped()), (2, Some(&StopReason::Deadline)));
        /// # Ok(())
        /// # }
        /// ```
        pub fn deadline(mut self, after: std::time::Duration) -> Self {
            self$(.$runner)?.options.deadline = Some(after);
            self
        }

        /// Sets the id of the job. `run` then continues that job if the store has it, finished or
        /// not: set it if several processes work on one job.
        ///
        /// Without it, `run` continues the last unfinished job of this name, or begins a new one.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .job_id("import-2026-11-22")
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert_eq!(report.job.id, "import-2026-11-22");
        /// # Ok(())
        /// # }
        /// ```
        pub fn job_id(mut self, id: impl Into<String>) -> Self {
            self$(.$runner)?.job_id = Some(id.into());
            self
        }

        /// Calls `listener` with the events of the job while it runs. The job waits for it, so it
        /// should be quick.
        ///
        /// ```
        /// # use retry_workflow::{JobEvent, Workflow};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .on_event(|event| {
        ///         if let JobEvent::Failures(failures) = event {
        ///             eprintln!("{} items failed", failures.len());
        ///         }
        ///     })
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn on_event(
            mut self,
            listener: impl Fn(&$crate::job::event::JobEvent<'_>) + Send + Sync + 'static,
        ) -> Self {
            self$(.$runner)?.options.listeners.push(std::sync::Arc::new(listener));
            self
        }

        /// Begins no item before this time: a [`Timestamp`](crate::Timestamp), a `Duration` since
        /// the job was created, or the text of one: `"6h"`. Default: at once.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .not_before(Duration::from_secs(60))
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert!(report.elapsed >= Duration::from_secs(60));
        /// # Ok(())
        /// # }
        /// ```
        pub fn not_before(mut self, moment: impl $crate::job::moment::IntoMoment) -> Self {
            let moment = self$(.$runner)?.checked(moment.into_moment(), WorkflowError::Moment);
            self$(.$runner)?.options.not_before = moment;
            self
        }

        /// Skips items that have not begun by this time: a [`Timestamp`](crate::Timestamp), a
        /// `Duration` since the job was created, or the text of one: `"6h"`. Their class is `late`,
        /// and they count as failed, as all that is skipped. What has begun continues, and what is
        /// re-driven later begins. Default: never.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .skip_after(Duration::from_secs(15))
        ///     .max_parallel(1)
        ///     .run(1..=3_u32, |_: u32, _| async {
        ///         tokio::time::sleep(Duration::from_secs(10)).await;
        ///         Ok::<_, String>(())
        ///     })
        ///     .await?;
        /// assert_eq!((report.succeeded(), report.skipped()), (2, 1));
        /// # Ok(())
        /// # }
        /// ```
        pub fn skip_after(mut self, moment: impl $crate::job::moment::IntoMoment) -> Self {
            let moment = self$(.$runner)?.checked(moment.into_moment(), WorkflowError::Moment);
            self$(.$runner)?.options.skip_after = moment;
            self
        }

        /// Begins no item before this future ends. Default: at once.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .start_when(tokio::time::sleep(Duration::from_secs(60)))
        ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
        ///     .await?;
        /// assert!(report.elapsed >= Duration::from_secs(60));
        /// # Ok(())
        /// # }
        /// ```
        pub fn start_when(
            mut self,
            start: impl std::future::Future<Output = ()> + Send + 'static,
        ) -> Self {
            self$(.$runner)?.start = Some(Box::pin(start));
            self
        }

        /// Calls `finish` with the report when the job has ended or stopped, in the process that
        /// was the last to leave it: for a mail, a chat, a ticket. It never changes the result; a
        /// panic is logged.
        ///
        /// A worker that was killed is waited for until its lease expires. After a crash of the
        /// process, `finish` is called once the job has been resumed. If the process is killed
        /// while `finish` runs, it is called again then: at least once for each end of the job.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let workflow = Workflow::new("import").on_finish(|report| async move {
        ///     if report.dead() > 0 {
        ///         eprintln!("{report}");
        ///     }
        /// });
        /// workflow.run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn on_finish<F, Fut>(mut self, finish: F) -> Self
        where
            F: FnOnce($crate::job::report::JobReport) -> Fut + Send + 'static,
            Fut: std::future::Future<Output = ()> + Send + 'static, // `async move { … }`
        {
            let finish: $crate::engine::job_runner::Finish =
                Box::new(move |report| Box::pin(finish(report)));
            self$(.$runner)?.finish = Some(finish);
            self
        }

        /// Stops the job when this future ends, whatever it returns: no further item is started,
        /// running ones finish, and the rest stays in the store.
        ///
        /// ```no_run
        /// # use retry_workflow::Workflow;
        /// let workflow = Workflow::new("import").stop_on(tokio::signal::ctrl_c());
        /// ```
        pub fn stop_on(
            mut self,
            stop: impl std::future::Future + Send + 'static,
        ) -> Self {
            self$(.$runner)?.stop = Some(Box::pin(async { drop(stop.await) }));
            self
        }
    };
}

pub(crate) use settings;

impl JobRunner {
    // It shares the examples of `Workflow`, which are tested there.
    #[cfg(not(doctest))]
    settings!();

    /// Names the last limit by the text of its key, by which its state is found after an edit.
    #[doc(hidden)]
    pub fn key_text(mut self, text: &str) -> Self {
        self.options.key_limits.last_mut().map(|limit| limit.name.replace(text.to_owned()));
        self
    }

    /// Returns the value of a setting, or keeps the error until the job is run.
    pub(crate) fn checked<T, E>(
        &mut self,
        value: Result<T, E>,
        error: fn(E) -> WorkflowError,
    ) -> Option<T> {
        value.map_err(|invalid| self.invalid.get_or_insert(error(invalid))).ok()
    }

    /// Checks that the settings are valid.
    #[track_caller]
    pub(crate) fn check(&mut self) -> Result<(), WorkflowError> {
        assert!(
            tokio::runtime::Handle::try_current().is_ok(),
            "a job needs a Tokio runtime: await it under #[tokio::main], or in Runtime::block_on"
        );
        if let Some(invalid) = &self.invalid {
            return Err(invalid.clone());
        }
        #[cfg(feature = "sqlite")]
        if self.store.is_none() {
            self.store = Some(Arc::new(crate::store::SqliteStore::in_memory()));
            tracing::warn!(
                target: "retry_workflow",
                job = %OneLine(&self.name),
                "this job is kept in memory, and is lost when its process ends: add \
                 `.store(SqliteStore::open(\"jobs.db\")?)`, or `.store(SqliteStore::in_memory())` \
                 if that is intended"
            );
        }
        for name in [&self.name].into_iter().chain(&self.job_id) {
            let named = |source| WorkflowError::Name { name: name.clone(), source };
            name::check(name).map_err(named)?;
        }
        let Options { max_parallel, lease, policy, handlers, key_limits, .. } = &self.options;
        policy.validate().map_err(WorkflowError::ErrorPolicy)?;
        let is_zero = |limit: &JobLimit| matches!(limit.bound, LimitBound::Concurrency(0));
        if *max_parallel == 0 || key_limits.iter().any(is_zero) {
            return Err(WorkflowError::NoParallelism);
        }
        if *lease < Duration::from_millis(100) {
            return Err(WorkflowError::ShortLease { lease: *lease });
        }
        if let OnItemFailure::Custom(name) = policy.get_on_item_failure()
            && !handlers.contains_key(name)
        {
            let known = handlers.keys().cloned().collect();
            return Err(WorkflowError::UnknownHandler { name: name.clone(), known });
        }
        Ok(())
    }

    /// Runs `work` on all items of a source, and reports their outcomes.
    ///
    /// Dropping the future loses nothing: unsettled items stay in the store.
    ///
    /// # Errors
    /// The settings are not valid, the source fails, or the store does. If the source fails, the job
    /// has been stopped as by [`stop_on`](Self::stop_on), with [`StopReason::Input`]. An item that
    /// fails is not an error: it is in the report.
    ///
    /// # Panics
    /// Outside a tokio runtime with its time driver enabled (`enable_time`).
    pub async fn run<W: Work>(
        self,
        mut source: impl Source,
        work: W,
    ) -> Result<JobReport, WorkflowError> {
        self.run_all(&mut source, Arc::new(work)).await
    }

    /// As `run`, whatever the source and the work are. Boxed as in `run_job`.
    pub(crate) fn run_all(
        mut self,
        source: &mut dyn DynSource,
        work: Arc<dyn DynWork>,
    ) -> BoxFuture<'_, Result<JobReport, WorkflowError>> {
        Box::pin(async move {
            self.check()?;
            let is_named = self.job_id.is_some();
            let job = self.job().await?;
            let report = self.run_job(job, source, work).await?;
            if report.already_done > 0 && !is_named {
                let id = &*report.job.id;
                tracing::warn!(
                    target: "retry_workflow",
                    job = id,
                    already_done = report.already_done,
                    "{} of the input had succeeded in the unfinished job `{}`, which this run has \
                     continued: they did not run again; for a new job, give it an id: \
                     .job_id(\"…\")",
                    words::count(report.already_done, "item"),
                    OneLine(id)
                );
            }
            Ok(report)
        })
    }

    /// Continues a job with the items that are in the store.
    ///
    /// # Errors
    /// The job does not exist, or one of the errors of [`run`](Self::run).
    ///
    /// # Panics
    /// Outside a tokio runtime with its time driver enabled (`enable_time`).
    pub async fn resume<W: Work>(mut self, job: &str, work: W) -> Result<JobReport, WorkflowError> {
        self.check()?;
        let job = Job::get(&*self.own_store()?, job).await?;
        let mut source = StoredItems { is_complete: job.input_complete };
        self.run_job(job, &mut source, Arc::new(work)).await
    }

    pub(crate) fn own_store(&self) -> Result<Arc<dyn Store>, WorkflowError> {
        self.store.clone().ok_or(WorkflowError::NoStore)
    }

    /// The job to continue, or a new one.
    pub(crate) fn job(&self) -> impl Future<Output = Result<Job, WorkflowError>> + Send + use<> {
        // Clones what it needs: a future that borrowed the whole runner could not be `Send`.
        let (store, name, id) = (self.own_store(), self.name.clone(), self.job_id.clone());
        async move {
            let store = store?;
            let Some(id) = id else {
                return Ok(Job::find_unfinished_or_create(&*store, &name).await?);
            };
            let job = Job::find_or_create(&*store, &id, &name, None).await?;
            if job.name == name {
                Ok(job)
            } else {
                Err(WorkflowError::OtherWorkflow { id, name, found: job.name })
            }
        }
    }

    /// Runs this job, and reports on it.
    ///
    /// Boxed: an `async fn` is compiled where it is awaited, and what is behind this is large.
    pub(crate) fn run_job(
        self,
        job: Job,
        source: &mut dyn DynSource,
        work: Arc<dyn DynWork>,
    ) -> BoxFuture<'_, Result<JobReport, WorkflowError>> {
        Box::pin(async move {
            let store = self.own_store()?;
            let Self { options, stop, start, finish, .. } = self;
            let stop = stop.unwrap_or_else(|| Box::pin(std::future::pending()));
            let deadline = options.deadline;
            let stop = Box::pin(async move {
                match deadline {
                    None => {
                        stop.await;
                        StopReason::Requested
                    }
                    Some(after) => match tokio::time::timeout(after, stop).await {
                        Ok(()) => StopReason::Requested,
                        Err(_) => StopReason::Deadline,
                    },
                }
            });
            let id = job.id.clone();
            let signals = Signals { start, stop: Some(stop) };
            if finish.is_some() {
                Job::expect_finish(&*store, &id).await?;
            }
            let engine = engine::run(Arc::clone(&store), job, source, work, options, signals);
            let engine::Ran { counts, input } = engine.await?;
            let Some(mut report) = JobReport::load(&*store, &id).await? else {
                return Err(WorkflowError::UnknownJob { id, known: Vec::new() });
            };
            (report.already_done, report.changed) = (counts.already_done, counts.changed);
            report.repeated = counts.repeated;
            if let Some(finish) = finish {
                let copy = report.clone();
                let steps = |_| async {
                    // Called inside the future, because it may panic before it returns one.
                    let finished = async { finish(copy).await };
                    if let Err(panic) = engine::catch_panic(finished).await {
                        let (job, panic) = (&*id, engine::panic_message(&*panic));
                        tracing::error!(job, panic, "`on_finish` panicked");
                    }
                    Some(())
                };
                report.job.finish(&*store, &id, |_| {}, steps).await?;
            }
            input.map(|()| report)
        })
    }
}

retry_rules::partial_debug!(JobRunner, |self| {
    name: &self.name,
    job_id: &self.job_id,
    error_policy: &self.options.policy,
    max_parallel: &self.options.max_parallel,
});
