//! [`Graph`]: named tasks with dependencies, as durable as a job of many items. Each task is an
//! item of the graph's job, and is added to it once everything that it needs has ended.

mod source;
mod work;
mod task_keys;
mod task;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use retry_runtime::Policy;

use self::source::GraphSource;
pub use self::task::Task;
pub use self::task_keys::TaskKeys;
use self::work::GraphWork;
use crate::engine::job_runner::{JobRunner, settings};
use crate::engine::work::{DynWork, Work};
use crate::item::context::ItemContext;
use crate::job::dependencies::Dependencies;
use crate::job::error::WorkflowError;
use crate::job::report::{JobReport, Unit};
use crate::workflow::closure::{Closure, ReadsErrors};

/// Named tasks with dependencies. Those that are ready run in parallel. If one fails for good,
/// everything that depends on it, directly or not, is skipped; the others continue.
///
/// Graphs are as durable as jobs of items: a graph whose process was killed continues where it was,
/// and a task that has succeeded does not run again.
///
/// ```
/// use retry_workflow::{Graph, Task};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let report = Graph::new("publish-site")
///     .task(Task::new("fetch", |_| async { Ok::<_, String>(()) }))
///     .task(Task::new("render", |_| async { Err::<(), _>("no template") }).depends_on(["fetch"]))
///     .task(Task::new("upload", |_| async { Ok::<_, String>(()) }).depends_on(["render"]))
///     .task(Task::new("notify", |cx| async move {
///         // The first attempt fails, the second one succeeds.
///         if cx.retry_count() == 0 { Err("busy") } else { Ok(()) }
///     }))
///     .run()
///     .await
///     .unwrap();
/// assert_eq!((report.succeeded(), report.dead(), report.skipped()), (2, 1, 1));
/// # }
/// ```
#[must_use = "a graph does nothing until it is run"]
pub struct Graph {
    runner: JobRunner,
    needs: Vec<(String, Vec<String>)>,
    tasks: BTreeMap<String, Box<dyn DynWork>>,
    policies: Vec<Policy>,
    redrives_dead: bool,
}

impl Graph {
    /// Creates a graph with this name and no tasks.
    ///
    /// ```
    /// # use retry_workflow::{Graph, Task};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Graph::new("publish")
    ///     .task(Task::new("render", |_| async { Ok::<_, String>(()) }))
    ///     .run()
    ///     .await?;
    /// assert_eq!(report.job.id, "publish-1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        JobRunner::new(name).into()
    }
}

/// A graph with the settings of a runner and no tasks.
impl From<JobRunner> for Graph {
    fn from(runner: JobRunner) -> Self {
        Self {
            runner,
            needs: Vec::new(),
            tasks: BTreeMap::new(),
            policies: Vec::new(),
            redrives_dead: false,
        }
    }
}

impl Graph {
    /// Adds a task.
    ///
    /// ```
    /// # use retry_workflow::{Graph, Task};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let graph = Graph::new("publish")
    ///     .task(Task::new("render", |_| async { Ok::<_, String>(()) }))
    ///     .task(Task::new("upload", |_| async { Ok::<_, String>(()) }).depends_on(["render"]));
    /// assert!(graph.run().await?.is_success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn task<H, D, Fut, T, E, DeciderKind, TextKind>(mut self, task: Task<H, D>) -> Self
    where
        H: FnOnce(ItemContext) -> Fut + Clone + Send + Sync + 'static, // share through an `Arc`
        Fut: Future<Output = Result<T, E>> + Send + 'static, // `async move { …; Ok::<_, std::io::Error>(()) }`
        D: ReadsErrors<E, DeciderKind, TextKind>,
        DeciderKind: 'static,
        TextKind: 'static,
    {
        let policy = task.policy();
        let Task { name, handler, needs, retrier, postponement, .. } = task;
        let work = Closure::<(), _, D, (DeciderKind, TextKind)>::new(
            move |(), cx| handler(cx),
            retrier.with_policy(policy),
            postponement,
        );
        self.policies.push(policy);
        self.add(name, needs, work)
    }

    /// Adds a task that is your own [`Work`], with the tasks that it depends on.
    ///
    /// Its payload is `null`, and its item's id is its name.
    ///
    /// ```
    /// use retry_workflow::work::{AttemptReport, AttemptTimer, WorkItem};
    /// use retry_workflow::{Graph, SqliteStore, Store, Work};
    ///
    /// struct Measure;
    ///
    /// impl Work for Measure {
    ///     async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
    ///         AttemptReport::succeeded(AttemptTimer::start(), Some("42".to_owned()))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let graph = Graph::new("survey").store(store.clone());
    /// graph.work("plan", &[], Measure).work("measure", &["plan"], Measure).run().await?;
    ///
    /// // What a task leaves is in the store, for the tasks that need it.
    /// let measured = store.item("survey-1", "measure").await?.unwrap();
    /// assert_eq!(measured.output.as_deref(), Some("42"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn work(self, name: impl Into<String>, depends_on: &[&str], work: impl Work) -> Self {
        self.add(name.into(), depends_on.iter().map(|&task| task.to_owned()).collect(), work)
    }

    fn add(mut self, name: String, needs: Vec<String>, work: impl Work) -> Self {
        self.needs.push((name.clone(), needs));
        self.tasks.insert(name, Box::new(work));
        self
    }

    // It shares the examples of `Workflow`, which are tested there.
    #[cfg(not(doctest))]
    settings!(runner);

    /// Restarts tasks that are dead letters when the graph is run. By default they stay dead
    /// until re-driven.
    ///
    /// ```
    /// # use retry_workflow::{Graph, SqliteStore, Task};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let publish = |is_fixed: bool| {
    ///     let render = Task::new("render", move |_| async move {
    ///         if is_fixed { Ok(()) } else { Err("no template") }
    ///     });
    ///     Graph::new("publish").store(store.clone()).job_id("publish").task(render.max_retries(0))
    /// };
    /// assert_eq!(publish(false).run().await?.dead(), 1);
    /// assert_eq!(publish(true).redrive_dead().run().await?.succeeded(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn redrive_dead(mut self) -> Self {
        self.redrives_dead = true;
        self
    }

    /// Runs all tasks, or resumes those that have not ended.
    ///
    /// A skipped task does run if everything that it needs has succeeded since.
    ///
    /// ```
    /// # use retry_workflow::{Graph, Task};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Graph::new("publish")
    ///     .task(Task::new("render", |_| async { Ok::<_, String>(()) }))
    ///     .task(Task::new("upload", |_| async { Ok::<_, String>(()) }).depends_on(["render"]))
    ///     .run()
    ///     .await?;
    /// assert_eq!(report.succeeded(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The tasks form a cycle, need one that does not exist, or have invalid settings; or the
    /// store fails. A task that fails is not an error: it is in the report.
    ///
    /// # Panics
    /// Outside a tokio runtime with its time driver enabled (`enable_time`).
    pub async fn run(self) -> Result<JobReport, WorkflowError> {
        let Self { mut runner, needs, tasks, policies, redrives_dead } = self;
        let dependencies = Arc::new(Dependencies::new(&needs)?);
        for policy in policies {
            policy.validate().map_err(WorkflowError::Policy)?;
        }
        runner.check()?;
        let job = runner.job().await?;
        let store = runner.own_store()?;
        dependencies.keep(&*store, &job.id).await?;
        let needs = Arc::clone(&dependencies);
        let mut source =
            GraphSource::new(Arc::clone(&store), &job.id, needs, redrives_dead).await?;
        let work = GraphWork { store, dependencies, tasks };
        Ok(runner.run_job(job, &mut source, Arc::new(work)).await?.counted_in(Unit::Task, None))
    }
}

retry_rules::partial_debug!(Graph, |self| { runner: &self.runner, tasks: &self.needs });
