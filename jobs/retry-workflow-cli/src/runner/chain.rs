//! [`Chain`]: commands one after another. Each is a separate task, which another process may run.

use std::sync::Arc;

use super::FileRun;
use super::edited::{RecordedStep, RecordedSteps};
use super::tasks::{Link, Task};
use crate::steps::step::Steps;
use crate::template::scope::Scope;
use retry_workflow::job::Unit;
use retry_workflow::{
    ErrorPolicy, Graph, Job, JobReport, OnItemFailure, Store, StoreError, WorkflowError,
};

/// The steps of a chain.
pub(super) struct Chain<'a> {
    pub(super) steps: &'a Steps,
    /// The scope of the first step.
    pub(super) scope: Scope,
    /// Set if a step that is not ready may come back later.
    pub(super) postpones: bool,
}

impl Chain<'_> {
    /// Runs the steps until one fails. On resume, a step that failed starts over.
    pub(super) async fn run(self, run: FileRun<'_>, job: Job) -> Result<JobReport, WorkflowError> {
        let Self { steps, scope, postpones } = self;
        let names = remember(&**run.store, &job.id, steps).await?;
        let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::Stop);
        let runner = run.runner(&job, policy).max_parallel(1);
        let mut graph = Graph::from(runner).redrive_dead();
        let mut before = None;
        for (at, (name, step)) in names.into_iter().zip(&steps.0).enumerate() {
            let needs: Vec<_> = before.as_deref().into_iter().collect();
            let link = Link { store: Arc::clone(run.store), at, before: before.clone() };
            let work = Task {
                steps: Steps(vec![step.clone()]),
                workspace: Arc::clone(&run.file.workspace),
                scope: scope.clone(),
                link: Some(link),
                restarts: run.settings.restart_items,
                postpones,
            };
            graph = graph.work(&name, &needs, work);
            before = Some(name);
        }
        let number = u64::try_from(steps.0.len()).ok();
        Ok(graph.run().await?.counted_in(Unit::Step, number))
    }
}

/// The number of steps of a job, if it is a chain that has started.
pub(super) async fn number(store: &dyn Store, job: &str) -> Result<Option<u64>, StoreError> {
    let number = RecordedSteps::read(store, job).await?.steps.len();
    Ok(u64::try_from(number).ok().filter(|number| *number > 0))
}

/// Records these steps as the steps of a chain; returns the names of their tasks. They are unique,
/// and those that have begun keep the names that they have in the store.
async fn remember(store: &dyn Store, job: &str, steps: &Steps) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for known in RecordedSteps::read(store, job).await?.steps {
        if store.item(job, &known.name).await?.is_none() {
            break;
        }
        names.push(known.name);
    }
    for (at, step) in steps.0.iter().enumerate().skip(names.len()) {
        let mut name = step.label.clone();
        while names.contains(&name) {
            name = format!("{} {name}", at + 1);
        }
        names.push(name);
    }
    RecordedSteps::update(store, job, |record| {
        let tasks = names.iter().zip(&steps.0);
        record.steps = tasks.map(|(name, step)| RecordedStep::new(name.clone(), step)).collect();
    })
    .await?;
    Ok(names)
}
