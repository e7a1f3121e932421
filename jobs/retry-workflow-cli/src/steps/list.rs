//! A list of commands, which one attempt after another runs, each from where the previous one
//! stopped. Items, whole workflows, tasks and handlers are such lists.

mod edited;
mod checkpoint;
mod attempt;

use std::time::Duration;

use retry_runtime::Reason;

pub(crate) use self::attempt::AttemptTerms;
use self::attempt::{Attempt, Pause, StepEnd};
pub(crate) use self::checkpoint::PAYLOAD;
use self::checkpoint::{Checkpoint, InnerList, StepFailure};
pub(crate) use self::edited::EditedStep;
use crate::steps::command_env::Workspace;
use crate::steps::step::{AfterFailure, Repair, Step, Steps};
use crate::template::scope::{Scope, StepOutputs};
use crate::template::shell::Script;
use retry_workflow::condition::expression::Types;
use retry_workflow::work::{AttemptReport, AttemptTimer, RetryState, WorkOutcome};
use retry_workflow::{Failure, ItemContext};

/// The end of a list in this attempt.
enum ListEnd {
    Done(Scope),
    Again(Pause, Box<Checkpoint>),
    /// With the place of the failed step, once its list has added it.
    Failed(Failure, Reason, Option<Box<Checkpoint>>),
}

retry_rules::conversion!(|failed: StepFailure| -> ListEnd {
    let reason = failed.reason();
    Self::Failed(failed.failure, reason, None)
});

/// The end of an attempt, and the outputs of its steps.
pub(crate) struct Attempted {
    pub(crate) report: AttemptReport,
    /// The outputs of a successful attempt.
    pub(crate) outputs: Option<StepOutputs>,
}

impl Steps {
    /// Makes one attempt: runs the steps in order, from where `checkpoint` says that the previous
    /// attempt stopped.
    pub(crate) async fn attempted(
        &self,
        workspace: &Workspace,
        scope: Scope,
        checkpoint: Option<&str>,
        cx: &ItemContext,
        terms: AttemptTerms,
    ) -> Attempted {
        let timer = AttemptTimer::start();
        let checkpoint = match Checkpoint::read(checkpoint, self, cx.run()) {
            Ok(checkpoint) => checkpoint,
            Err((class, message)) => {
                let failure = Failure::new(class, message);
                let report = AttemptReport::failed(timer, failure, Reason::NotRetryable);
                return Attempted { report, outputs: None };
            }
        };
        let mut attempt = Attempt::new(workspace, cx, terms, &checkpoint);
        let (mut outputs, mut resume_from) = (None, None);
        let ended = attempt.list(self, scope, checkpoint).await;
        if attempt.is_stopped {
            let report = AttemptReport::new(WorkOutcome::Released);
            return Attempted { report, outputs };
        }
        let outcome = match ended {
            ended if attempt.shortage.is_some() => attempt.not_begun(ended),
            ListEnd::Done(scope) => {
                let mut record = timer.succeeded();
                record.output = Some(attempt.printed).filter(|printed| !printed.is_empty());
                attempt.records.push(record);
                let last = scope.last().cloned();
                outputs = Some(scope.own);
                WorkOutcome::Succeeded(last)
            }
            ListEnd::Again(pause, checkpoint) => {
                match (attempt.checkpoint_text(*checkpoint), pause) {
                    (Ok(checkpoint), Pause::Retry(wait)) => WorkOutcome::Retry { wait, checkpoint },
                    (Ok(checkpoint), Pause::Postponed(wait)) => {
                        WorkOutcome::Postponed { wait, checkpoint: Some(checkpoint) }
                    }
                    (Ok(checkpoint), Pause::Uncounted(wait)) => {
                        WorkOutcome::Uncounted { wait, checkpoint: Some(checkpoint) }
                    }
                    (Err(error), _) => WorkOutcome::Failed {
                        failure: Failure::new("other", format!("cannot be kept: {error}")),
                        reason: Reason::NotRetryable,
                    },
                }
            }
            ListEnd::Failed(failure, reason, place) => {
                let is_begun = |place: &Checkpoint| !place.done.is_empty() || place.begun.is_some();
                let place = place.filter(|place| is_begun(place));
                resume_from = place.and_then(|place| serde_json::to_string(&place).ok());
                WorkOutcome::Failed { failure, reason }
            }
        };
        let mut report = AttemptReport::new(outcome).asked_wait(attempt.asked);
        (report.step_times, report.resume_from) = (attempt.step_times, resume_from);
        let report = attempt.records.into_iter().fold(report, AttemptReport::record);
        Attempted { report, outputs }
    }
}

/// A list of steps on its way.
struct ListState<'a> {
    steps: &'a Steps,
    at: usize,
    scope: Scope,
    /// The state of the retries of the step, if it has begun.
    retry_state: Option<RetryState>,
    repairs: u32,
}

impl ListState<'_> {
    /// The list at a step whose command will run again.
    fn before(&self, retry_state: Option<RetryState>) -> Box<Checkpoint> {
        Box::new(Checkpoint::in_step(self.steps, self.at, self.repairs, retry_state, None))
    }

    fn inside(&self, inner: InnerList) -> Box<Checkpoint> {
        Box::new(Checkpoint::in_step(self.steps, self.at, self.repairs, None, Some(inner)))
    }
}

impl Attempt<'_> {
    fn checkpoint_text(&self, checkpoint: Checkpoint) -> serde_json::Result<String> {
        let ran = self.running().saturating_sub(self.uncounted);
        let ran = if self.terms.limit.is_some() { ran } else { Duration::ZERO };
        let (run, attempt) = (self.cx.run(), self.cx.attempt());
        let written_by = self.has_written.then_some(attempt);
        serde_json::to_string(&Checkpoint { ran, run, written_by, ..checkpoint })
    }

    /// The outcome of an attempt with a command that could not begin. It continues there if other
    /// commands have ended before it.
    fn not_begun(&mut self, ended: ListEnd) -> WorkOutcome {
        let has_run = !self.records.is_empty() || !self.step_times.is_empty();
        let reached = match ended {
            ListEnd::Again(_, checkpoint) if has_run => self.checkpoint_text(*checkpoint).ok(),
            _ => None,
        };
        let why = self.shortage.take().unwrap_or_default();
        WorkOutcome::NotBegun { why, checkpoint: reached }
    }

    async fn list(&mut self, steps: &Steps, scope: Scope, checkpoint: Checkpoint) -> ListEnd {
        let Checkpoint { done, begun, outputs, .. } = checkpoint;
        let at = done.len();
        let begun =
            begun.filter(|begun| steps.0.get(at).is_some_and(|step| step.command_id() == begun.id));
        let mut is_new = begun.is_none();
        let (retry_state, repairs, mut inner) =
            begun.map(|begun| (begun.retry_state, begun.repairs, begun.inner)).unwrap_or_default();
        let scope = Scope { own: outputs, ..scope };
        let mut list = ListState { steps, at, scope, retry_state, repairs };
        while let Some(step) = steps.0.get(list.at) {
            if std::mem::replace(&mut is_new, true)
                && let Some(when) = &step.when
            {
                match when.holds(Types::Json, &|placeholder| list.scope.json(placeholder)) {
                    Ok(true) => {}
                    Ok(false) => {
                        list.at += 1;
                        continue;
                    }
                    Err(why) => {
                        let why = self.workspace.environment.masks.masked(&why);
                        let failure =
                            Failure::new("other", format!("cannot evaluate `when`: {why}"));
                        self.record(&step.label, AttemptTimer::start(), failure.clone());
                        return placed(ListEnd::Failed(failure, Reason::NotRetryable, None), list);
                    }
                }
            }
            if let Some(end) = self.run_step(step, &mut list, inner.take()).await {
                return placed(end, list);
            }
            list.at += 1;
            list.repairs = 0;
        }
        ListEnd::Done(list.scope)
    }

    /// Runs a step of a list with everything that follows it, from the place of `inner`. Returns
    /// the end of the list, unless the next step follows.
    async fn run_step(
        &mut self,
        step: &Step,
        list: &mut ListState<'_>,
        inner: Option<Box<InnerList>>,
    ) -> Option<ListEnd> {
        let mut inner = inner.map(|inner| *inner);
        loop {
            inner = match inner {
                None => match self.step(step, &list.scope, list.retry_state.take()).await {
                    StepEnd::Done(outputs) => {
                        list.scope.own.add(outputs);
                        Some(InnerList::Succeeded { checkpoint: Checkpoint::default() })
                    }
                    StepEnd::Again(pause, retry_state) => {
                        return Some(ListEnd::Again(pause, list.before(retry_state)));
                    }
                    StepEnd::Failed(failed, outputs) => {
                        list.scope.own.add(outputs);
                        Some(InnerList::failed(failed))
                    }
                },
                Some(InnerList::Succeeded { checkpoint: from }) => {
                    let then = step.on_success.as_ref()?;
                    return match Box::pin(self.list(then, list.scope.inside(), from)).await {
                        ListEnd::Done(_) => None,
                        ListEnd::Again(pause, checkpoint) => {
                            let inner = InnerList::Succeeded { checkpoint: *checkpoint };
                            Some(ListEnd::Again(pause, list.inside(inner)))
                        }
                        failed @ ListEnd::Failed(..) => Some(failed),
                    };
                }
                // The whole attempt is released.
                Some(InnerList::Failed { failed, .. })
                    if self.is_stopped || self.shortage.is_some() =>
                {
                    return Some(failed.into());
                }
                Some(InnerList::Failed { failed, checkpoint: from }) => {
                    if let Some(failure) = self.timed_out() {
                        return Some(ListEnd::Failed(failure, Reason::Deadline, None));
                    }
                    let then = match &step.after_failure {
                        AfterFailure::Handle(steps) => steps,
                        AfterFailure::Repair(repair) if list.repairs < repair.rounds => {
                            &repair.steps
                        }
                        AfterFailure::Fallback(script) => {
                            return self.replace(step, script, failed, list).await;
                        }
                        AfterFailure::Repair(Repair { fails: false, .. })
                        | AfterFailure::Continue => {
                            list.scope.own.last = Some(String::new());
                            return None;
                        }
                        AfterFailure::Repair(_) | AfterFailure::Stop => return Some(failed.into()),
                    };
                    let scope = failed.scope(&list.scope.inside());
                    match self.after_failure(then, scope, from).await {
                        ListEnd::Again(pause, checkpoint) => {
                            let inner = InnerList::Failed { failed, checkpoint: *checkpoint };
                            return Some(ListEnd::Again(pause, list.inside(inner)));
                        }
                        _ if matches!(step.after_failure, AfterFailure::Handle(_)) => {
                            return Some(failed.into());
                        }
                        // This was a repair; a failed one counts as well.
                        ended => {
                            list.repairs += 1;
                            (!matches!(ended, ListEnd::Done(_))).then(|| InnerList::failed(failed))
                        }
                    }
                }
            };
        }
    }

    /// Runs the steps that follow a failure. They cannot come back later: one that is not ready has
    /// failed.
    async fn after_failure(&mut self, then: &Steps, scope: Scope, from: Checkpoint) -> ListEnd {
        let postponed = self.terms.postponed.take();
        let ended = Box::pin(self.list(then, scope, from)).await;
        self.terms.postponed = postponed;
        ended
    }

    /// Runs the command that replaces a failed step. Returns the end of the list, unless the next
    /// step follows.
    async fn replace(
        &mut self,
        step: &Step,
        script: &Script,
        failed: StepFailure,
        list: &mut ListState<'_>,
    ) -> Option<ListEnd> {
        match self.fallback(step, script, &failed.scope(&list.scope)).await {
            Ok(outputs) => {
                list.scope.own.add(outputs);
                None
            }
            Err(_) if self.shortage.is_some() => {
                let inner = list.inside(InnerList::failed(failed));
                Some(ListEnd::Again(Pause::Retry(Duration::ZERO), inner))
            }
            Err(mut second) => {
                let reason = failed.reason();
                second.chain.push(failed.failure.message);
                Some(ListEnd::Failed(second, reason, None))
            }
        }
    }
}

/// Adds the outputs to what a list leaves; and the place of the failed step to a failure, where the
/// step has all its attempts and repairs.
fn placed(end: ListEnd, list: ListState<'_>) -> ListEnd {
    let ListState { steps, at, scope: Scope { own: outputs, .. }, .. } = list;
    match end {
        ListEnd::Again(pause, left) => {
            ListEnd::Again(pause, Box::new(Checkpoint { outputs, ..*left }))
        }
        ListEnd::Failed(failure, reason, inner) => {
            let place = match inner {
                Some(inner) => {
                    let inner = InnerList::Succeeded { checkpoint: *inner };
                    Checkpoint::in_step(steps, at, 0, None, Some(inner))
                }
                None => Checkpoint::at(steps, at),
            };
            ListEnd::Failed(failure, reason, Some(Box::new(Checkpoint { outputs, ..place })))
        }
        done @ ListEnd::Done(_) => done,
    }
}

impl Steps {
    /// Checks that an item with this checkpoint can continue with these steps.
    ///
    /// # Errors
    /// Steps that are done were edited.
    pub(crate) fn continue_from(&self, checkpoint: &str) -> Result<(), EditedStep> {
        match serde_json::from_str::<Checkpoint>(checkpoint) {
            Ok(checkpoint) => checkpoint.check(self),
            // Reported when the item runs.
            Err(_) => Ok(()),
        }
    }

    /// The checkpoint to continue from: none if its steps were edited and its item may start over.
    pub(crate) fn checkpoint<'a>(&self, left: Option<&'a str>, restarts: bool) -> Option<&'a str> {
        left.filter(|left| !restarts || self.continue_from(left).is_ok())
    }
}

#[cfg(all(test, unix))]
mod tests;
