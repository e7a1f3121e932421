//! [`ItemSteps`]: the steps of `map` as the work on each item.

use std::sync::Arc;

use crate::steps::command_env::Workspace;
use crate::steps::list::{AttemptTerms, PAYLOAD};
use crate::steps::step::Steps;
use crate::template::scope::{Scope, StepOutputs};
use retry_workflow::work::{AttemptReport, AttemptTimer, Reason, WorkItem};
use retry_workflow::{Failure, Work};

/// The steps of `map`, which run for each item.
#[derive(Debug)]
pub(super) struct ItemSteps {
    pub(super) steps: Steps,
    pub(super) workspace: Arc<Workspace>,
    /// The outputs of `setup`.
    pub(super) given: StepOutputs,
    pub(super) terms: AttemptTerms,
    /// Items that cannot continue after an edit start over.
    pub(super) restarts: bool,
}

impl Work for ItemSteps {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let payload = match serde_json::from_str(item.payload) {
            Ok(payload) => Some(Arc::new(payload)),
            Err(error) => {
                let failure = Failure::new(PAYLOAD, format!("the item is not JSON: {error}"));
                return AttemptReport::failed(AttemptTimer::start(), failure, Reason::NotRetryable);
            }
        };
        let scope = Scope { item: payload, given: self.given.clone(), ..Scope::default() };
        let (checkpoint, cx) = (item.checkpoint.as_deref(), &item.context);
        let checkpoint = self.steps.checkpoint(checkpoint, self.restarts);
        let terms = AttemptTerms { postponed: Some(item.postponed), ..self.terms };
        self.steps.attempted(&self.workspace, scope, checkpoint, cx, terms).await.report
    }
}
