//! [`Task`]: steps of a file as a task of a graph; and [`chain`]: commands one after another.

use std::sync::Arc;

use super::{RunSettings, StopSignal, commands};
use crate::steps::command_env::Workspace;
use crate::steps::list::Steps;
use crate::template::placeholder::Scope;
use retry_workflow::{
    AttemptReport, ErrorPolicy, Graph, Job, JobReport, OnItemFailure, Store, Work, WorkItem,
    WorkflowError,
};

/// Commands one after another; a failure stops them. Where one had failed, it begins anew.
pub(super) async fn chain<S: Store>(
    store: &S,
    job: Job,
    steps: &Steps,
    workspace: &Arc<Workspace>,
    scope: Scope,
    settings: &RunSettings,
    stop: &StopSignal,
) -> Result<JobReport, WorkflowError> {
    commands::remember(store, &job.id, steps).await?;
    let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::Stop);
    let runner = settings.runner(store, &job, policy, stop).max_parallel(1);
    let mut graph = Graph::from(runner).redrive_dead();
    let mut before: Option<String> = None;
    for (name, step) in commands::names(steps).into_iter().zip(&steps.0) {
        let work = Task {
            store: store.clone(),
            steps: Steps(vec![step.clone()]),
            workspace: Arc::clone(workspace),
            scope: scope.clone(),
            before: before.clone(),
        };
        graph = graph.work(&name, &before.as_deref().into_iter().collect::<Vec<_>>(), work);
        before = Some(name);
    }
    graph.run().await
}

/// A task that is steps of a file.
pub(super) struct Task<S> {
    pub(super) store: S,
    pub(super) steps: Steps,
    pub(super) workspace: Arc<Workspace>,
    pub(super) scope: Scope,
    /// The task whose output is `${last.output}`.
    pub(super) before: Option<String>,
}

impl<S: Store> Work for Task<S> {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let mut scope = self.scope.clone();
        if let Some(before) = &self.before {
            let found = self.store.item(item.context.job(), before).await.ok().flatten();
            scope.last = found.and_then(|item| item.output);
        }
        self.steps.attempt(&self.workspace, scope, item.checkpoint.as_deref(), &item.context).await
    }
}
