//! [`Graph`]: named tasks with dependencies, as durable as a job of many items.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::durable::{Decider, Everything, Fault, Listed};
use retry_runtime::file::TaskStyle;
use retry_runtime::matchers::Matcher;
use retry_runtime::{Policy, Retrier};

pub use self::source::{GraphSource, OnDead};
use crate::engine::intern::interned;
use crate::engine::launch;
use crate::engine::work::{End, Ended, Given, ItemContext, Work};
use crate::item::failure::Failure;
use crate::item::record::ItemState;
use crate::item::sanitize::OneLine;
use crate::job::dependencies::Dependencies;
use crate::job::error::WorkflowError;
use crate::job::report::JobReport;
use crate::store::{MemoryStore, Store, StoreError};
use crate::workflow::closure::Closure;
use crate::workflow::setup::{Setup, settings};

/// A task: a name, what it does, what it needs, and how often it is tried.
///
/// | setting | default |
/// | --- | --- |
/// | [`depends_on`](Self::depends_on) | nothing |
/// | [`max_retries`](Self::max_retries): retries, not attempts | 3 |
/// | [`retry_delay`](Self::retry_delay): the first wait; each further one is twice as long | 1 s |
/// | [`max_retry_delay`](Self::max_retry_delay) | 300 s |
#[must_use = "a task does nothing until its graph is run"]
pub struct Task<H, M = Everything> {
    name: String,
    handler: H,
    needs: Vec<String>,
    max_retries: u32,
    retry_delay: Duration,
    max_retry_delay: Duration,
    retrier: Retrier<M>,
}

impl<H> Task<H> {
    /// A task of this name that does this.
    pub fn new<Fut: Future>(name: impl Into<String>, handler: H) -> Self
    where
        // Here, so that the closure's argument need not name its type.
        H: Fn(ItemContext) -> Fut,
    {
        let name = name.into();
        Self {
            retrier: Retrier::new(Policy::new()).name(interned(&name)),
            name,
            handler,
            needs: Vec::new(),
            max_retries: TaskStyle::MAX_RETRIES,
            retry_delay: TaskStyle::RETRY_DELAY,
            max_retry_delay: TaskStyle::MAX_RETRY_DELAY,
        }
    }

    /// Retries only failures that one of these matchers matches.
    pub fn retry_on(self, matchers: impl IntoIterator<Item = Matcher>) -> Task<H, Listed> {
        let Self { name, handler, needs, max_retries, retry_delay, max_retry_delay, retrier } =
            self;
        let retrier = retrier.retry_on(matchers);
        Task { name, handler, needs, max_retries, retry_delay, max_retry_delay, retrier }
    }
}

impl<H, M> Task<H, M> {
    /// Begins when all of these have succeeded.
    pub fn depends_on<T: Into<String>>(mut self, tasks: impl IntoIterator<Item = T>) -> Self {
        self.needs.extend(tasks.into_iter().map(Into::into));
        self
    }

    /// Retries after the first attempt. Default: 3.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }

    /// The wait before the first retry; each further one is twice as long. Default: 1 s.
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.retry_delay = delay;
        self
    }

    /// No wait is longer. Default: 300 s.
    pub fn max_retry_delay(mut self, delay: Duration) -> Self {
        self.max_retry_delay = delay;
        self
    }
}

impl<H, M> fmt::Debug for Task<H, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("name", &self.name)
            .field("depends_on", &self.needs)
            .field("max_retries", &self.max_retries)
            .finish_non_exhaustive()
    }
}

/// Named tasks with dependencies. Those that are ready run in parallel. One that fails for good
/// makes everything that depends on it, directly or not, skipped; the others go on.
///
/// Durable like a job of items: a graph whose process was killed goes on where it was, and a
/// task that has succeeded is not run again.
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
pub struct Graph<S = MemoryStore> {
    setup: Setup<S>,
    needs: Vec<(String, Vec<String>)>,
    tasks: BTreeMap<String, Arc<dyn DynWork>>,
    policies: Vec<Policy>,
}

impl Graph {
    /// A graph of this name, without tasks.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            setup: Setup::new(name.into()),
            needs: Vec::new(),
            tasks: BTreeMap::new(),
            policies: Vec::new(),
        }
    }
}

impl<S> Graph<S> {
    /// Adds a task.
    pub fn task<H, M, Fut, T, E, Judging, Telling>(mut self, task: Task<H, M>) -> Self
    where
        H: Fn(ItemContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        E: Display + Fault<Telling>,
        M: Decider<E, Judging> + Send + Sync + 'static,
        Judging: 'static,
        Telling: 'static,
    {
        let Task { name, handler, needs, max_retries, retry_delay, max_retry_delay, retrier } =
            task;
        let policy = TaskStyle::policy(max_retries, retry_delay, max_retry_delay);
        let work = Closure::<(), _, M, (Judging, Telling)>::new(
            move |(), cx| handler(cx),
            retrier.with_policy(policy),
        );
        self.policies.push(policy);
        self.needs.push((name.clone(), needs));
        self.tasks.insert(name, Arc::new(work));
        self
    }

    settings!();

    /// Where the graph lives. Default: in memory.
    pub fn store<T: Store>(self, store: T) -> Graph<T> {
        let Self { setup, needs, tasks, policies } = self;
        Graph { setup: setup.store(store), needs, tasks, policies }
    }
}

impl<S: Store> Graph<S> {
    /// Runs all tasks, or goes on with those that have not ended.
    ///
    /// A task that was skipped is run after all, if what it needs has succeeded since.
    ///
    /// # Errors
    /// The tasks make a cycle, need one that is not there, or their settings cannot be obeyed;
    /// or the store fails. A task that fails is no error: it stands in the report.
    pub async fn run(self) -> Result<JobReport, WorkflowError> {
        let Self { setup, needs, tasks, policies } = self;
        let dependencies = Dependencies::new(&needs)?;
        for policy in policies {
            policy.validate().map_err(WorkflowError::Policy)?;
        }
        launch::check(&setup.options)?;
        let job = setup.job().await?;
        let (source, work) =
            parts(&setup.store, &job.id, dependencies, tasks, OnDead::Keep).await?;
        setup.run(job, source, work).await
    }
}

/// Where the tasks of a graph come from, and what is done with them.
pub async fn parts<S: Store>(
    store: &S,
    job: &str,
    dependencies: Dependencies,
    tasks: BTreeMap<String, Arc<dyn DynWork>>,
    on_dead: OnDead,
) -> Result<(GraphSource<S>, GraphWork<S>), StoreError> {
    let dependencies = Arc::new(dependencies);
    let source = GraphSource::new(store.clone(), job, Arc::clone(&dependencies), on_dead).await?;
    Ok((source, GraphWork { store: store.clone(), dependencies, tasks }))
}

/// [`Work`] behind a pointer: each task has a type of its own.
pub trait DynWork: Send + Sync {
    /// See [`Work::attempt`].
    fn attempt_boxed<'a>(
        self: Arc<Self>,
        given: Given<'a>,
    ) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>>;
}

impl<W: Work> DynWork for W {
    fn attempt_boxed<'a>(
        self: Arc<Self>,
        given: Given<'a>,
    ) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>> {
        Box::pin(self.attempt(given))
    }
}

/// The tasks of a graph as work: each item is the task of its name.
pub struct GraphWork<S> {
    store: S,
    dependencies: Arc<Dependencies>,
    tasks: BTreeMap<String, Arc<dyn DynWork>>,
}

impl<S: Store> Work for GraphWork<S> {
    async fn attempt(self: Arc<Self>, given: Given<'_>) -> Ended {
        let name = given.cx.id.clone();
        let Some(task) = self.tasks.get(&name) else {
            let message = format!("the graph has no task `{}` any more", OneLine(&name));
            return skipped(Failure::new("dependency", message));
        };
        match self.needs(given.cx.job(), &name).await {
            Needs::Met => Arc::clone(task).attempt_boxed(given).await,
            Needs::Lost(failure) => skipped(failure),
            Needs::Open => Ended { notes: Vec::new(), end: End::NotYet { wait: ASK_AGAIN } },
        }
    }
}

/// When to look again at tasks that have not ended after all.
const ASK_AGAIN: Duration = Duration::from_secs(1);

fn skipped(failure: Failure) -> Ended {
    Ended { notes: Vec::new(), end: End::Skipped(failure) }
}

/// What has become of all that a task needs.
enum Needs {
    /// All have succeeded.
    Met,
    /// Some have failed, or were skipped by the failure of others.
    Lost(Failure),
    /// Some have not ended, or nobody can say.
    Open,
}

impl<S: Store> GraphWork<S> {
    async fn needs(&self, job: &str, task: &str) -> Needs {
        // The tasks that have failed, and those by which they are needed.
        let (mut culprits, mut through) = (BTreeSet::new(), BTreeSet::new());
        let needs: Vec<String> = self.dependencies.needs(task).map(str::to_owned).collect();
        for need in needs {
            let Ok(Some(found)) = self.store.item(job, &need).await else { return Needs::Open };
            match found.state {
                ItemState::Succeeded => {}
                ItemState::Dead => {
                    culprits.insert(need);
                }
                ItemState::Skipped => {
                    let caused_by = found.failure.map(|failure| failure.culprits);
                    match caused_by.filter(|culprits| !culprits.is_empty()) {
                        Some(tasks) => culprits.extend(tasks),
                        // Left out by somebody, and not by a failure.
                        None => {
                            culprits.insert(need.clone());
                        }
                    }
                    through.insert(need);
                }
                ItemState::Pending | ItemState::Leased => return Needs::Open,
            }
        }
        if culprits.is_empty() {
            return Needs::Met;
        }
        Needs::Lost(failure(task, culprits, &through))
    }
}

fn failure(task: &str, culprits: BTreeSet<String>, through: &BTreeSet<String>) -> Failure {
    let named = |names: &BTreeSet<String>| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let them = if culprits.len() == 1 { "it" } else { "them" };
    let failed = format!("{} failed", named(&culprits));
    let mut message = format!("{failed}, and `{task}` needs {them}");
    let through: BTreeSet<String> = through.difference(&culprits).cloned().collect();
    if !through.is_empty() {
        let _ = write!(message, " through {}", named(&through));
    }
    let mut failure = Failure::new("dependency", message);
    // By the names of its culprits: what one failure has caused is one group.
    failure.signature = failed.into();
    failure.culprits = culprits.into_iter().collect();
    failure
}

impl<S: fmt::Debug> fmt::Debug for Graph<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("name", &self.setup.name)
            .field("job", &self.setup.job)
            .field("store", &self.setup.store)
            .field("tasks", &self.needs)
            .finish_non_exhaustive()
    }
}
