//! [`Task`]: a task of a graph, given as a closure.

use std::future::Future;
use std::time::Duration;

use retry_runtime::matchers::Matchers;
use retry_runtime::retrier::Readable;
use retry_runtime::{Class, Policy, Retrier};

use super::task_keys::{self, MAX_RETRIES, MAX_RETRY_DELAY, RETRY_DELAY};
use crate::item::context::ItemContext;
use crate::item::one_or_many::OneOrMany;
use crate::workflow::closure::Postponement;

/// A task: a name, a handler, what it needs, and how often it is tried.
///
/// | setting | default |
/// | --- | --- |
/// | [`depends_on`](Self::depends_on) | nothing |
/// | [`max_retries`](Self::max_retries): retries, not attempts | 3 |
/// | [`retry_delay`](Self::retry_delay): the first wait; each further one is twice as long | 1 s |
/// | [`max_retry_delay`](Self::max_retry_delay) | 300 s |
/// | [`uncounted`](Self::uncounted): failures that use up no attempt | none |
/// | [`max_postponed`](Self::max_postponed): how long it may come back later | 24 h |
///
/// ```
/// # use std::time::Duration;
/// # use retry_workflow::{Graph, Task};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let render = Task::new("render", |_| async { Err::<(), _>("no template") })
///     .max_retries(1)
///     .retry_delay(Duration::from_millis(100));
/// let report = Graph::new("publish").task(render).run().await?;
/// assert_eq!((report.dead(), report.counts.attempts), (1, 2));
/// # Ok(())
/// # }
/// ```
#[must_use = "a task does nothing until its graph is run"]
pub struct Task<H, D = Readable> {
    pub(super) name: String,
    pub(super) handler: H,
    pub(super) needs: Vec<String>,
    max_retries: u32,
    retry_delay: Duration,
    max_retry_delay: Duration,
    pub(super) postponement: Postponement,
    pub(super) retrier: Retrier<D>,
}

impl<H> Task<H> {
    /// Creates a task with this name and handler.
    ///
    /// ```
    /// # use retry_workflow::{Graph, Task};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let greet = Task::new("greet", |cx| async move {
    ///     println!("attempt {}", cx.attempt());
    ///     Ok::<_, String>(())
    /// });
    /// assert!(Graph::new("hello").task(greet).run().await?.is_success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new<Fut: Future>(name: impl Into<String>, handler: H) -> Self
    where
        // Bound here, so that the closure's argument needs no type annotation.
        H: FnOnce(ItemContext) -> Fut,
    {
        let name = name.into();
        Self {
            retrier: Retrier::new(Policy::new()).name(name.clone()),
            name,
            handler,
            needs: Vec::new(),
            max_retries: MAX_RETRIES,
            retry_delay: RETRY_DELAY,
            max_retry_delay: MAX_RETRY_DELAY,
            postponement: Postponement::DEFAULT,
        }
    }

    /// Retries only failures that one of these matchers matches.
    ///
    /// ```
    /// # use retry_workflow::{Graph, Task, matchers::network};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let render = Task::new("render", |_| async { Err::<(), _>("no template") });
    /// let report = Graph::new("publish").task(render.retry_on([network])).run().await?;
    /// assert_eq!(report.counts.attempts, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[rustfmt::skip] // rustc quotes this line
    pub fn retry_on(self, matchers: impl Matchers /* from `retry_workflow::matchers` */) -> Self {
        Self { retrier: self.retrier.retry_on(matchers), ..self }
    }
}

impl<H, D> Task<H, D> {
    /// Starts the task only once all of these have succeeded: one task, or several.
    ///
    /// ```
    /// # use retry_workflow::{Graph, Task};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Graph::new("publish")
    ///     .task(Task::new("render", |_| async { Ok::<_, String>(()) }))
    ///     .task(Task::new("upload", |_| async { Ok::<_, String>(()) }).depends_on("render"))
    ///     .run()
    ///     .await?;
    /// assert_eq!(report.succeeded(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[rustfmt::skip] // rustc quotes this line
    pub fn depends_on<Kind>(mut self, tasks: impl OneOrMany<String, Kind> /* such as `"render"` */) -> Self {
        self.needs.extend(tasks.into_list());
        self
    }

    retry_rules::accessors! {
        /// Sets the maximum number of retries after the first attempt. Default: 3.
        ///
        /// ```
        /// # use retry_workflow::{Graph, Task};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let render = Task::new("render", |_| async { Err::<(), _>("no template") }).max_retries(1);
        /// let report = Graph::new("publish").task(render).run().await?;
        /// assert_eq!(report.counts.attempts, 2);
        /// # Ok(())
        /// # }
        /// ```
        pub fn max_retries(self, retries: u32) -> Self { max_retries: retries }

        /// Sets the wait before the first retry; each further one is twice as long. Default:
        /// 1 s.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::{Graph, Task};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let render = Task::new("render", |_| async { Err::<(), _>("no template") }).retry_delay(Duration::from_millis(10));
        /// let report = Graph::new("publish").task(render).run().await?;
        /// assert_eq!(report.counts.attempts, 4);
        /// # Ok(())
        /// # }
        /// ```
        pub fn retry_delay(self, delay: Duration) -> Self { retry_delay: delay }

        /// Sets the longest wait. Default: 300 s.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::{Graph, Task};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let render = Task::new("render", |_| async { Err::<(), _>("no template") }).max_retry_delay(Duration::from_secs(2));
        /// let report = Graph::new("publish").task(render).run().await?;
        /// assert_eq!(report.counts.attempts, 4);
        /// # Ok(())
        /// # }
        /// ```
        pub fn max_retry_delay(self, delay: Duration) -> Self { max_retry_delay: delay }

        /// Sets how long the task may be [postponed](ItemContext::postpone) in a run, in total;
        /// after that its failures are ordinary ones, of class `postponed`. Default: 24 h.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::{Graph, ItemContext, Task};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let render = Task::new("render", |cx: ItemContext| async move {
        ///     cx.postpone(Duration::from_secs(60));
        ///     Err::<(), _>("no template yet")
        /// });
        /// let render = render.max_retries(0).max_postponed(Duration::from_secs(600));
        /// let report = Graph::new("publish").task(render).run().await?;
        /// assert_eq!(report.classes["postponed"], 1);
        /// # Ok(())
        /// # }
        /// ```
        pub fn max_postponed(self, most: Duration) -> Self { postponement.most: most }

        /// Sets the classes of failures that use up no attempt, as
        /// [`Workflow::uncounted`](crate::Workflow::uncounted) does. Default: none.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::{Class, Graph, Task};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let upload = Task::new("upload", |_| async { Err::<(), _>("429 Too Many Requests") })
        ///     .max_retries(0)
        ///     .uncounted(Class::RATE_LIMIT)
        ///     .max_postponed(Duration::from_secs(7));
        /// // It waits 1 s, 2 s and 4 s.
        /// assert_eq!(Graph::new("publish").task(upload).run().await?.elapsed.as_secs(), 7);
        /// # Ok(())
        /// # }
        /// ```
        pub fn uncounted(self, classes: Class) -> Self { postponement.uncounted: classes }
    }

    pub(super) fn policy(&self) -> Policy {
        task_keys::policy(self.max_retries, self.retry_delay, self.max_retry_delay)
    }
}

retry_rules::partial_debug!([H, D] Task<H, D>, |self| {
    name: &self.name,
    depends_on: &self.needs,
    max_retries: &self.max_retries,
});
