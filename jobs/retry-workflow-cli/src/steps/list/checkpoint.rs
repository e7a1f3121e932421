//! [`Checkpoint`]: where a list of steps has stopped, and whether an edited list can continue there.

use std::time::Duration;

use retry_runtime::Reason;
use serde::{Deserialize, Serialize};

use super::edited::EditedStep;
use crate::steps::step::{Step, StepId, Steps};
use crate::template::scope::{Scope, StepOutputs};
use retry_workflow::Failure;
use retry_workflow::work::RetryState;

/// The class of failures that are due to the item's contents.
pub(crate) const PAYLOAD: &str = "payload";

/// The place where a list has stopped and will continue.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// The steps that are done, in order. The file may be edited before the list continues: these
    /// have to be the first steps of the list then.
    pub(super) done: Vec<StepId>,
    /// The step after them, if it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) begun: Option<BegunStep>,
    /// The name of the step that comes next, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) step: Option<String>,
    pub(super) outputs: StepOutputs,
    /// The running time of the steps so far.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub(super) ran: Duration,
    /// The run that has stopped here.
    pub(super) run: u32,
    /// The attempt that has stopped here, if its commands have written output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) written_by: Option<u32>,
}

/// A step that has begun and not finished. If it was edited since, it starts with all its attempts
/// and repairs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BegunStep {
    pub(super) id: StepId,
    /// The state of the retries of a call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_state: Option<RetryState>,
    /// The number of times the step's repair has run.
    pub(super) repairs: u32,
    /// The command has ended, and the list that follows it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inner: Option<Box<InnerList>>,
}

/// The list that follows a step, and where it has stopped.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum InnerList {
    Failed { failed: StepFailure, checkpoint: Checkpoint },
    Succeeded { checkpoint: Checkpoint },
}

/// A step that has failed for good.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StepFailure {
    pub(super) failure: Failure,
    reason: String,
    /// The output of the failed attempt.
    pub(super) output: String,
}

impl Checkpoint {
    /// Reads the checkpoint that the previous attempt has left, for these steps and this run.
    ///
    /// # Errors
    /// The class and the message of a failure.
    pub(super) fn read(
        text: Option<&str>,
        steps: &Steps,
        run: u32,
    ) -> Result<Self, (&'static str, String)> {
        let checkpoint = text.map(serde_json::from_str::<Self>).transpose().map_err(|error| {
            (PAYLOAD, format!("cannot read what the last attempt left: {error}"))
        })?;
        let checkpoint = checkpoint.unwrap_or_default();
        checkpoint.check(steps).map_err(|edited| {
            let why = "it cannot continue, because its steps were edited: it has finished";
            ("other", format!("{why} {edited}"))
        })?;
        Ok(if checkpoint.run == run { checkpoint } else { checkpoint.in_new_run() })
    }

    /// The same place in another run, where the step that has not succeeded has all its attempts and
    /// repairs.
    fn in_new_run(self) -> Self {
        let Self { done, begun, outputs, .. } = self;
        let begun = begun.and_then(|BegunStep { id, inner, .. }| match *inner? {
            InnerList::Succeeded { checkpoint } => {
                let checkpoint = checkpoint.in_new_run();
                let inner = Some(Box::new(InnerList::Succeeded { checkpoint }));
                Some(BegunStep { id, retry_state: None, repairs: 0, inner })
            }
            InnerList::Failed { .. } => None,
        });
        Self { done, begun, outputs, ..Self::default() }
    }

    /// A list that has come to the step at this place.
    pub(super) fn at(steps: &Steps, at: usize) -> Self {
        let step = steps.0.get(at).map(|step| step.label.clone());
        Self { done: steps.0.iter().take(at).map(Step::id).collect(), step, ..Self::default() }
    }

    /// The same, when that step has begun; with the list that follows it, if its command has ended.
    pub(super) fn in_step(
        steps: &Steps,
        at: usize,
        repairs: u32,
        retry_state: Option<RetryState>,
        inner: Option<InnerList>,
    ) -> Self {
        let (next, at) = (steps.0.get(at), Self::at(steps, at));
        let step = match &inner {
            Some(InnerList::Succeeded { checkpoint: Self { step: Some(inner), .. } }) => {
                at.step.map(|step| format!("{inner} of `on_success` of {step}"))
            }
            _ => at.step,
        };
        let begun = next.map(|step| BegunStep {
            id: step.command_id(),
            retry_state,
            repairs,
            inner: inner.map(Box::new),
        });
        Self { done: at.done, begun, step, ..Self::default() }
    }

    /// Checks that these steps, which may have been edited since, can continue from here.
    ///
    /// # Errors
    /// A step that is done was edited.
    pub(super) fn check(&self, steps: &Steps) -> Result<(), EditedStep> {
        steps.begin_with(&self.done)?;
        let Some(BegunStep { id, inner: Some(inner), .. }) = &self.begun else { return Ok(()) };
        let step = steps.0.get(self.done.len());
        let same = step.filter(|step| step.command_id() == *id);
        let (key, checkpoint, then, step) = match (&**inner, same) {
            (InnerList::Succeeded { checkpoint }, Some(step)) => {
                ("on_success", checkpoint, step.on_success.as_ref(), step)
            }
            // Its command has succeeded, so it counts as done.
            (InnerList::Succeeded { .. }, None) => {
                return Err(EditedStep::new(self.done.len(), id, step));
            }
            (InnerList::Failed { checkpoint, .. }, Some(step)) => {
                ("on_failure", checkpoint, step.after_failure.steps(), step)
            }
            (InnerList::Failed { .. }, None) => return Ok(()),
        };
        let checked = checkpoint.check(then.unwrap_or(&Steps::default()));
        checked.map_err(|edited| edited.inside(key, step))
    }
}

impl InnerList {
    /// The beginning of the list that follows a failure.
    pub(super) fn failed(failed: StepFailure) -> Self {
        Self::Failed { failed, checkpoint: Checkpoint::default() }
    }
}

impl StepFailure {
    pub(super) fn new(failure: Failure, reason: Reason, output: String) -> Self {
        Self { failure, reason: reason.as_str().to_owned(), output }
    }

    pub(super) fn reason(&self) -> Reason {
        let named = |reason: &&Reason| reason.as_str() == self.reason;
        Reason::ALL.iter().find(named).copied().unwrap_or(Reason::Attempts)
    }

    /// The scope of the handlers of the failure.
    pub(super) fn scope(&self, outer: &Scope) -> Scope {
        let error = Some(self.failure.to_string());
        Scope { error, failed_output: Some(self.output.clone()), ..outer.clone() }
    }
}
