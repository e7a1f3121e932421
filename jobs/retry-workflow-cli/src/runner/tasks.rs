//! [`Task`]: steps of a file as a task of a graph or of a chain; and its [`Link`] to the task before.

use std::sync::Arc;

use super::edited::RecordedSteps;
use crate::steps::command_env::Workspace;
use crate::steps::list::{AttemptTerms, Attempted};
use crate::steps::step::Steps;
use crate::template::scope::{Scope, StepOutputs};
use retry_workflow::work::{AttemptReport, AttemptTimer, Reason, WorkItem};
use retry_workflow::{Failure, Store, StoreError, Work};

/// A task that runs steps of a file.
pub(super) struct Task {
    pub(super) steps: Steps,
    pub(super) workspace: Arc<Workspace>,
    pub(super) scope: Scope,
    /// Its place in a chain.
    pub(super) link: Option<Link>,
    /// If it cannot continue after an edit, it starts over.
    pub(super) restarts: bool,
    /// Set if a step that is not ready may come back later.
    pub(super) postpones: bool,
}

/// The place of a step in its chain.
pub(super) struct Link {
    pub(super) store: Arc<dyn Store>,
    pub(super) at: usize,
    /// The task before it.
    pub(super) before: Option<String>,
}

impl Link {
    /// The outputs of the steps before it.
    async fn given(&self, job: &str) -> Result<StepOutputs, StoreError> {
        let last = match &self.before {
            Some(before) => self.store.item(job, before).await?.and_then(|item| item.output),
            None => None,
        };
        let record = RecordedSteps::read(&*self.store, job).await?;
        Ok(StepOutputs { last, ..record.captured_before(self.at) })
    }

    /// Stores what the step has captured, for later steps.
    async fn store(&self, job: &str, outputs: StepOutputs) -> Result<(), StoreError> {
        if outputs.captured.is_empty() {
            return Ok(());
        }
        RecordedSteps::update(&*self.store, job, |record| {
            record.captured.insert(self.at, outputs.captured.clone());
        })
        .await
    }
}

impl Work for Task {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let ended = self.attempted(&item).await;
        ended.unwrap_or_else(|error| {
            let failure = Failure::new("other", format!("cannot pass on its outputs: {error}"));
            AttemptReport::failed(AttemptTimer::start(), failure, Reason::NotRetryable)
        })
    }
}

impl Task {
    async fn attempted(&self, item: &WorkItem<'_>) -> Result<AttemptReport, StoreError> {
        let cx = &item.context;
        let mut scope = self.scope.clone();
        if let Some(link) = &self.link {
            scope.given.add(link.given(cx.job()).await?);
        }
        let checkpoint = self.steps.checkpoint(item.checkpoint.as_deref(), self.restarts);
        let postponed = self.postpones.then_some(item.postponed);
        let terms = AttemptTerms { postponed, ..AttemptTerms::default() };
        let Attempted { report, outputs } =
            self.steps.attempted(&self.workspace, scope, checkpoint, cx, terms).await;
        if let (Some(link), Some(outputs)) = (&self.link, outputs) {
            link.store(cx.job(), outputs).await?;
        }
        Ok(report)
    }
}
