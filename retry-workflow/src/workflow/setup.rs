//! [`Setup`]: what workflows and graphs have in common: a name, a store, and how a job is run.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::engine::launch;
use crate::engine::source::Source;
use crate::engine::work::Work;
use crate::engine::{Handlers, Options};
use crate::job::error::WorkflowError;
use crate::job::error_policy::ErrorPolicy;
use crate::job::record::Job;
use crate::job::report::JobReport;
use crate::store::{MemoryStore, Store};

/// What workflows and graphs have in common.
pub(crate) struct Setup<S> {
    pub(crate) name: String,
    pub(crate) job: Option<String>,
    pub(crate) store: S,
    pub(crate) options: Options,
    pub(crate) stop: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Setup<MemoryStore> {
    pub(crate) fn new(name: String) -> Self {
        let options = Options {
            max_parallel: 10,
            lease: Duration::from_secs(30),
            policy: ErrorPolicy::new(),
            handlers: Handlers::new(),
            listeners: Vec::new(),
        };
        Self { name, job: None, store: MemoryStore::new(), options, stop: None }
    }
}

impl<S> Setup<S> {
    pub(crate) fn store<T>(self, store: T) -> Setup<T> {
        let Self { name, job, store: _, options, stop } = self;
        Setup { name, job, store, options, stop }
    }
}

impl<S: Store> Setup<S> {
    /// The job to go on with, or a new one.
    pub(crate) fn job(&self) -> impl Future<Output = Result<Job, WorkflowError>> + Send + use<S> {
        // Of its own: a future that borrowed the whole of this could not change its thread.
        let (store, name, id) = (self.store.clone(), self.name.clone(), self.job.clone());
        async move {
            let Some(id) = id else {
                return Ok(Job::find_unfinished_or_create(&store, &name).await?);
            };
            let job = Job::find_or_create(&store, &id, &name, None).await?;
            if job.name == name {
                Ok(job)
            } else {
                Err(WorkflowError::OtherWorkflow { id, name, found: job.name })
            }
        }
    }

    /// Runs this job, and reports on it.
    pub(crate) async fn run<W: Work>(
        self,
        job: Job,
        source: impl Source,
        work: W,
    ) -> Result<JobReport, WorkflowError> {
        let stop = self.stop.unwrap_or_else(|| Box::pin(std::future::pending()));
        launch::run(self.store, job, source, work, self.options, stop).await
    }
}

/// The settings that each of them has, for an `impl` with a field `setup`.
macro_rules! settings {
    () => {
        /// How many are handled at a time in this process. Default: 10.
        pub fn max_parallel(mut self, most: usize) -> Self {
            self.setup.options.max_parallel = most;
            self
        }

        /// How long an item is a worker's before it has to say so again, which it does in time;
        /// so long it takes until the items of a killed worker are handled again. Default: 30 s;
        /// at least 100 ms.
        pub fn lease(mut self, lease: std::time::Duration) -> Self {
            self.setup.options.lease = lease;
            self
        }

        /// The id of the job. `run` then goes on with that job if the store has it, finished or
        /// not: give it where several processes work on one job.
        ///
        /// Without it, `run` goes on with the last job of this name that has not finished, else
        /// it begins a new one.
        pub fn job_id(mut self, id: impl Into<String>) -> Self {
            self.setup.job = Some(id.into());
            self
        }

        /// Calls `listener` with what the job tells while it runs. It is called in between: it
        /// should be quick.
        pub fn on_event(
            mut self,
            listener: impl Fn(&$crate::JobEvent<'_>) + Send + Sync + 'static,
        ) -> Self {
            let listener: $crate::job::event::Listener = std::sync::Arc::new(listener);
            self.setup.options.listeners.push(listener);
            self
        }

        /// Stops the job when this future ends: no further item is started, those that run come
        /// to their ends, and what is left stays in the store.
        ///
        /// ```no_run
        /// # use retry_workflow::Workflow;
        /// let workflow = Workflow::new("import").stop_on(async {
        ///     tokio::signal::ctrl_c().await.ok();
        /// });
        /// ```
        pub fn stop_on(
            mut self,
            stop: impl std::future::Future<Output = ()> + Send + 'static,
        ) -> Self {
            self.setup.stop = Some(Box::pin(stop));
            self
        }
    };
}

pub(crate) use settings;
