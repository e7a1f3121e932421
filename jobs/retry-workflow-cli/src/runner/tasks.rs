//! [`Task`]: steps of a file as a task of a graph; and [`run_chain`]: commands one after another.

use std::sync::Arc;

use super::chain::Chain;
use super::{FileRun, commands};
use crate::steps::command_env::Workspace;
use crate::steps::list::{AttemptTerms, Attempted};
use crate::steps::step::Steps;
use crate::template::scope::Scope;
use retry_workflow::job::Unit;
use retry_workflow::work::{AttemptReport, AttemptTimer, Reason, WorkItem, WorkOutcome};
use retry_workflow::{
    ErrorPolicy, Failure, Graph, Job, JobReport, OnItemFailure, Work, WorkflowError,
};

/// Runs commands one after another, until one fails. On resume, a command that failed starts over.
pub(super) async fn run_chain(
    run: FileRun<'_>,
    chain: &Arc<Chain>,
    job: Job,
) -> Result<JobReport, WorkflowError> {
    let Chain { store, names, steps, scope, .. } = &**chain;
    commands::remember(&**store, &job.id, steps).await?;
    let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::Stop);
    let runner = run.runner(&job, policy).max_parallel(1);
    let mut graph = Graph::from(runner).redrive_dead();
    for (at, (name, step)) in names.iter().zip(&steps.0).enumerate() {
        let work = Task {
            steps: Steps(vec![step.clone()]),
            workspace: Arc::clone(&run.file.workspace),
            scope: scope.clone(),
            link: Some((at, Arc::clone(chain))),
            restarts: run.settings.restart_items,
            postpones: chain.postpones,
        };
        let before = at.checked_sub(1).and_then(|before| names.get(before));
        let needs: Vec<_> = before.into_iter().map(String::as_str).collect();
        graph = graph.work(name, &needs, work);
    }
    let number = u64::try_from(steps.0.len()).ok();
    Ok(graph.run().await?.counted_in(Unit::Step, number))
}

/// A task that runs steps of a file.
pub(super) struct Task {
    pub(super) steps: Steps,
    pub(super) workspace: Arc<Workspace>,
    pub(super) scope: Scope,
    /// Its position in a chain, and the chain, which provides the outputs of the steps before it.
    pub(super) link: Option<(usize, Arc<Chain>)>,
    /// If it cannot continue after an edit, it starts over.
    pub(super) restarts: bool,
    /// Set if a step that is not ready may come back later.
    pub(super) postpones: bool,
}

impl Work for Task {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let cx = &item.context;
        let failed =
            |failure| AttemptReport::failed(AttemptTimer::start(), failure, Reason::NotRetryable);
        let scope = match &self.link {
            None => self.scope.clone(),
            Some((at, chain)) => match chain.before(*at, &self.workspace, cx).await {
                Ok(scope) => scope,
                Err(WorkOutcome::Failed { failure, .. }) => return failed(failure),
                Err(outcome) => return AttemptReport::new(outcome),
            },
        };
        let checkpoint = self.steps.checkpoint(item.checkpoint.as_deref(), self.restarts);
        let postponed = self.postpones.then_some(item.postponed);
        let terms = AttemptTerms { postponed, ..AttemptTerms::default() };
        let Attempted { report, outputs } =
            self.steps.attempted(&self.workspace, scope, checkpoint, cx, terms).await;
        if let (Some((at, chain)), Some(outputs)) = (&self.link, outputs)
            && let Err(error) = chain.after(*at, outputs, &self.workspace, cx.job()).await
        {
            return failed(Failure::new("other", format!("cannot keep its output: {error}")));
        }
        report
    }
}
