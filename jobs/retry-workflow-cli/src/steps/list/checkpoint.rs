//! [`Checkpoint`]: where a list of steps has stopped, and whether an edited list can continue there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use retry_runtime::Reason;
use serde::{Deserialize, Serialize};

use super::misfit::Misfit;
use crate::steps::step::{Capture, CaptureEdit, Step, StepId, Steps};
use crate::template::placeholder::Captured;
use crate::template::scope::Scope;
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
    pub(super) begun: Option<StepId>,
    /// The output of the previous step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<StoredValue<String>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) captured: BTreeMap<String, StoredValue<Captured>>,
    /// The captures of these steps when they ended, by place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) captures: BTreeMap<usize, Capture>,
    /// The place of the values that are not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) withheld: Option<Withheld>,
    /// The state of the retries of a call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_state: Option<RetryState>,
    /// The step has ended, and the list that follows it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inner: Option<Box<InnerList>>,
    /// The number of times the step's repair has run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) repairs: u32,
    /// The running time of the steps so far.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub(super) ran: Duration,
    /// The run and the attempt that have stopped here, if their commands have written output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) written_by: Option<(u32, u32)>,
}

/// A value, and the step that it comes from; `None` if it contains a secret.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredValue<T> {
    /// Its place among those that are done; just after them, the step that has begun.
    pub(super) step: usize,
    pub(super) value: Option<T>,
}

/// A deposit in the vault of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Withheld {
    pub(super) worker: String,
    pub(super) number: u64,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Checkpoint {
    /// Reads the checkpoint that the previous attempt has left, for these steps.
    ///
    /// # Errors
    /// The class and the message of a failure.
    pub(super) fn read(text: Option<&str>, steps: &Steps) -> Result<Self, (&'static str, String)> {
        let checkpoint = text.map(serde_json::from_str::<Self>).transpose().map_err(|error| {
            (PAYLOAD, format!("cannot read what the last attempt left: {error}"))
        })?;
        checkpoint.unwrap_or_default().fitted(steps).map_err(|misfit| {
            let why = "it cannot continue, because its steps were edited: it has finished";
            ("other", format!("{why} {misfit}"))
        })
    }

    /// A list that has come to the step at this place.
    pub(super) fn at(steps: &Steps, at: usize) -> Self {
        Self { done: steps.0.iter().take(at).map(Step::id).collect(), ..Self::default() }
    }

    /// The same, when that step has begun.
    pub(super) fn in_step(steps: &Steps, at: usize) -> Self {
        let begun = steps.0.get(at).map(|step| StepId::Text(step.text.command.clone()));
        Self { begun, ..Self::at(steps, at) }
    }

    pub(super) fn inside(steps: &Steps, at: usize, repairs: u32, inner: InnerList) -> Self {
        let mut inside = Self::in_step(steps, at);
        if matches!(inner, InnerList::Succeeded { .. }) {
            inside.begun = steps.0.get(at).map(Step::command_id);
        }
        Self { repairs, inner: Some(Box::new(inner)), ..inside }
    }

    /// The steps that run again, because their outputs contain secrets and are not stored.
    fn unstored(&self) -> BTreeSet<usize> {
        let last = self.last.iter().filter(|last| last.value.is_none()).map(|last| last.step);
        let captured = self.captured.values().filter(|stored| stored.value.is_none());
        last.chain(captured.map(|stored| stored.step)).collect()
    }

    /// The names of the captured outputs that the steps use that will run.
    fn needed<'a>(&self, steps: &'a Steps) -> BTreeSet<&'a str> {
        let unstored = self.unstored();
        let at = self.done.len();
        let is_inside = matches!(self.inner.as_deref(), Some(InnerList::Succeeded { .. }));
        let mut names = BTreeSet::new();
        for (number, step) in steps.0.iter().enumerate() {
            if number > at || (number == at && !is_inside) || unstored.contains(&number) {
                names.extend(step.used_captures());
            } else if number == at {
                names.extend(step.on_success.iter().flat_map(Steps::used_captures));
            }
        }
        names
    }

    /// The same for these steps, which may have been edited since: the step after those that are
    /// done follows. If it is another one than the step that had begun, it starts with all its
    /// attempts and repairs.
    pub(super) fn fitted(mut self, steps: &Steps) -> Result<Self, Misfit> {
        let (needed, unstored) = (self.needed(steps), self.unstored());
        let edit = |at: usize, step: Option<&Step>| {
            let capture = step?.capture.as_ref();
            CaptureEdit::find(self.captures.get(&at), capture, &needed).map(Box::new)
        };
        let needed_edit = |at: usize, step: Option<&Step>| {
            edit(at, step).filter(|edit| edit.is_needed && !unstored.contains(&at))
        };
        for (at, was) in self.done.iter().enumerate() {
            let is = steps.0.get(at);
            let is_other = is.map(Step::id).as_ref() != Some(was);
            let edit = if is_other { edit(at, is) } else { needed_edit(at, is) };
            if is_other || edit.is_some() {
                return Err(Misfit::new(at, was.clone(), is).edited(edit));
            }
        }
        let begun_edit = needed_edit(self.done.len(), steps.0.get(self.done.len()));
        let at = self.done.len();
        let step = steps.0.get(at);
        let none = Steps::default();
        match self.inner.take().map(|inner| *inner) {
            Some(InnerList::Succeeded { checkpoint }) => {
                let Some(step) = step.filter(|step| self.begun == Some(step.command_id())) else {
                    // Its command has succeeded, so it counts as done.
                    let was = self.begun.unwrap_or_else(|| StepId::Text(String::new()));
                    return Err(Misfit::new(at, was, step));
                };
                if begun_edit.is_some() {
                    return Err(Misfit::new(at, step.command_id(), Some(step)).edited(begun_edit));
                }
                let then = step.on_success.as_ref().unwrap_or(&none);
                let fitted = checkpoint.fitted(then);
                let checkpoint = fitted.map_err(|misfit| misfit.inside("on_success", step))?;
                self.inner = Some(Box::new(InnerList::Succeeded { checkpoint }));
            }
            inner => {
                let begun = step.map(|step| StepId::Text(step.text.command.clone()));
                if self.begun.is_none() || self.begun != begun {
                    let Self { done, last, captured, captures, withheld, ran, .. } = self;
                    let edited = Self { done, last, captured, captures, ..Self::default() };
                    return Ok(Self { withheld, ran, ..edited });
                }
                if let (Some(InnerList::Failed { failed, checkpoint }), Some(step)) = (inner, step)
                {
                    let then = step.after_failure.steps().unwrap_or(&none);
                    let fitted = checkpoint.fitted(then);
                    let checkpoint = fitted.map_err(|misfit| misfit.inside("on_failure", step))?;
                    self.inner = Some(Box::new(InnerList::Failed { failed, checkpoint }));
                }
            }
        }
        Ok(self)
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

/// The steps of this list that produced the current outputs.
#[derive(Default)]
pub(super) struct OutputOwners {
    pub(super) last: Option<usize>,
    pub(super) captured: BTreeMap<String, usize>,
    /// The captures of all steps that have ended or were skipped.
    pub(super) captures: BTreeMap<usize, Capture>,
}

impl OutputOwners {
    /// Records that a step has ended, or was skipped.
    pub(super) fn ends(&mut self, at: usize, step: &Step) {
        match &step.capture {
            Some(capture) => self.captures.insert(at, capture.clone()),
            None => self.captures.remove(&at),
        };
    }

    pub(super) fn keeps(
        &mut self,
        at: usize,
        step: &Step,
        captured: Option<Captured>,
        scope: &mut Scope,
    ) {
        self.ends(at, step);
        if let (Some(capture), Some(captured)) = (&step.capture, captured) {
            scope.captured.insert(capture.name.clone(), captured);
            self.captured.insert(capture.name.clone(), at);
        }
    }
}
