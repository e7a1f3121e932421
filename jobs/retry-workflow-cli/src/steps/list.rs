//! A list of commands, which one attempt after another runs, each from where the previous one
//! stopped. Items, whole workflows, tasks and handlers are such lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::durable::AskedWait;
use retry_runtime::{Class, Reason};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::steps::command_env::{PreparedCommand, Run, Workspace, excerpt, item_variables};
use crate::steps::exit_codes;
use crate::steps::interruption;
use crate::steps::mask::Masks;
use crate::steps::process::{CommandOutput, StepError};
use crate::steps::retry_after;
use crate::steps::step::{AfterFailure, Capture, CaptureEdit, Step, StepId, Steps};
use crate::steps::stream::end_of_both;
use crate::steps::tap::Tapping;
use crate::steps::vault::Outputs;
use crate::template::expression::Types;
use crate::template::placeholder::{Captured, Scope};
use crate::template::shell::Script;
use retry_workflow::sanitize::OneLine;
use retry_workflow::work::{
    AttemptReport, AttemptTimer, NextStep, RetryState, StepRecord, StepTime, WorkItem, WorkOutcome,
    postponement,
};
use retry_workflow::{Failure, ItemContext, Work};

/// The class of failures that are due to the item's contents.
const PAYLOAD: &str = "payload";

/// The class of steps that were not ready for too long.
const POSTPONED: &str = "postponed";

/// The place where a list has stopped and will continue.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Checkpoint {
    /// The steps that are done, in order. The file may be edited before the list continues: these
    /// have to be the first steps of the list then.
    done: Vec<StepId>,
    /// The step after them, if it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<StepId>,
    /// The output of the previous step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<StoredValue<String>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    captured: BTreeMap<String, StoredValue<Captured>>,
    /// The captures of these steps when they ended, by place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    captures: BTreeMap<usize, Capture>,
    /// The place of the values that are not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withheld: Option<Withheld>,
    /// The state of the retries of a call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_state: Option<RetryState>,
    /// The step has ended, and the list that follows it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inner: Option<Box<InnerList>>,
    /// The number of times the step's repair has run.
    #[serde(default, skip_serializing_if = "is_zero")]
    repairs: u32,
    /// The running time of the steps so far.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    ran: Duration,
    /// The run and the attempt that have stopped here, if their commands have written output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written_by: Option<(u32, u32)>,
}

/// A value, and the step that it comes from; `None` if it contains a secret.
#[derive(Debug, Serialize, Deserialize)]
struct StoredValue<T> {
    /// Its place among those that are done; just after them, the step that has begun.
    step: usize,
    value: Option<T>,
}

/// A deposit in the vault of a process.
#[derive(Debug, Serialize, Deserialize)]
struct Withheld {
    worker: String,
    number: u64,
}

/// The list that follows a step, and where it has stopped.
#[derive(Debug, Serialize, Deserialize)]
enum InnerList {
    Failed { failed: StepFailure, checkpoint: Checkpoint },
    Succeeded { checkpoint: Checkpoint },
}

/// A step that has failed for good.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StepFailure {
    failure: Failure,
    reason: String,
    /// The output of the failed attempt.
    output: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The wait before the next attempt.
#[derive(Clone, Copy, Debug)]
enum Pause {
    /// The wait of a policy, or of a server, after a failure.
    Retry(Duration),
    /// A wait that uses up no attempt, because a step is not ready.
    Postponed(Duration),
}

/// The exit status of a step that is not ready: the status of a temporary failure, `EX_TEMPFAIL`.
const NOT_READY: i32 = 75;

/// The end of a list in this attempt.
enum ListEnd {
    Done(Scope),
    Again(Pause, Box<Checkpoint>),
    /// With the place of the failed step, if it is wanted.
    Failed(Failure, Reason, Option<Box<Checkpoint>>),
}

/// The next action for a step.
enum Phase {
    Run,
    Succeeded(Checkpoint),
    Failed(StepFailure, Checkpoint),
}

/// The action after a failure.
enum Next<'a> {
    End(ListEnd),
    /// Continue with the next step, and with this output for the failed one.
    GoOn(String),
    Run(&'a Steps),
}

/// The steps of this list that produced the current outputs.
#[derive(Default)]
struct OutputOwners {
    last: Option<usize>,
    captured: BTreeMap<String, usize>,
    /// The captures of all steps that have ended or were skipped.
    captures: BTreeMap<usize, Capture>,
}

/// One attempt, and what to record about it.
struct Attempt<'a> {
    workspace: &'a Workspace,
    cx: &'a ItemContext,
    records: Vec<StepRecord>,
    /// The duration of each successful step.
    step_times: Vec<StepTime>,
    /// The end of the output of successful commands, without secrets.
    printed: String,
    /// Commands of this attempt have run.
    has_written: bool,
    /// The wait that a server has asked a failed command for, for the breaker of the job.
    asked: Option<AskedWait>,
    /// A command has ended because this process is being stopped: the attempt has not failed.
    is_stopped: bool,
    /// The resource that this machine lacks, if a command could not begin: the attempt has not
    /// failed.
    shortage: Option<String>,
    began: Instant,
    terms: AttemptTerms,
    /// The running time of the steps in earlier attempts.
    ran: Duration,
    /// The running time of a step that was not ready.
    uncounted: Duration,
}

/// The terms that depend on the place of a list of steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AttemptTerms {
    /// The limit for the total run time of the steps.
    pub(crate) limit: Option<Duration>,
    /// A handler may let the item continue at a step that has failed.
    pub(crate) keeps_place: bool,
    /// Steps that are not ready may come back later: how long they have done so in this run.
    pub(crate) postponed: Option<Duration>,
}

/// The end of an attempt, and the outputs of its steps.
pub(crate) struct Attempted {
    pub(crate) report: AttemptReport,
    /// The outputs of a successful attempt, secrets included.
    pub(crate) outputs: Option<Outputs>,
}

impl Steps {
    /// Makes one attempt: runs the steps in order, from where `checkpoint` says that the previous
    /// attempt stopped.
    pub(crate) async fn attempt(
        &self,
        workspace: &Workspace,
        scope: Scope,
        checkpoint: Option<&str>,
        cx: &ItemContext,
    ) -> AttemptReport {
        self.attempted(workspace, scope, checkpoint, cx, AttemptTerms::default()).await.report
    }

    /// The same on these terms, with the outputs of the steps.
    pub(crate) async fn attempted(
        &self,
        workspace: &Workspace,
        scope: Scope,
        checkpoint: Option<&str>,
        cx: &ItemContext,
        terms: AttemptTerms,
    ) -> Attempted {
        let timer = AttemptTimer::start();
        let checkpoint: Checkpoint = match checkpoint.map(serde_json::from_str).transpose() {
            Ok(checkpoint) => checkpoint.unwrap_or_default(),
            Err(error) => {
                let why = format!("cannot read what the last attempt left: {error}");
                let failure = Failure::new(PAYLOAD, why);
                let report = AttemptReport::failed(timer, failure, Reason::NotRetryable);
                return Attempted { report, outputs: None };
            }
        };
        let checkpoint = match checkpoint.fitted(self) {
            Ok(checkpoint) => checkpoint,
            Err(misfit) => {
                let why = format!(
                    "it cannot continue, because its steps were edited: it has finished {misfit}"
                );
                let failure = Failure::new("other", why);
                let report = AttemptReport::failed(timer, failure, Reason::NotRetryable);
                return Attempted { report, outputs: None };
            }
        };
        let (began, ran) = (Instant::now(), checkpoint.ran);
        // A step that was postponed continues in the same attempt.
        let has_written = checkpoint.written_by == Some((cx.run(), cx.attempt()));
        let printed = String::new();
        let mut attempt = Attempt {
            workspace,
            cx,
            records: Vec::new(),
            step_times: Vec::new(),
            printed,
            has_written,
            asked: None,
            is_stopped: false,
            shortage: None,
            began,
            terms,
            ran,
            uncounted: Duration::ZERO,
        };
        let (mut outputs, mut resume_from) = (None, None);
        let ended = attempt.list(self, scope, checkpoint).await;
        if attempt.is_stopped {
            let report = AttemptReport::new(WorkOutcome::Released);
            return Attempted { report, outputs };
        }
        let outcome = match ended {
            ended if attempt.shortage.is_some() => attempt.not_begun(ended),
            ListEnd::Done(Scope { last, captured, .. }) => {
                let mut record = timer.succeeded();
                record.output = Some(attempt.printed).filter(|printed| !printed.is_empty());
                attempt.records.push(record);
                let masks = &workspace.environment.masks;
                let stored = last.as_deref().map(|last| masks.masked(last).into_owned());
                outputs = Some(Outputs { last, captured });
                WorkOutcome::Succeeded(stored)
            }
            ListEnd::Again(pause, checkpoint) => {
                match (attempt.checkpoint_text(*checkpoint), pause) {
                    (Ok(checkpoint), Pause::Retry(wait)) => WorkOutcome::Retry { wait, checkpoint },
                    (Ok(checkpoint), Pause::Postponed(wait)) => {
                        WorkOutcome::Postponed { wait, checkpoint: Some(checkpoint) }
                    }
                    (Err(error), _) => WorkOutcome::Failed {
                        failure: Failure::new("other", format!("cannot be kept: {error}")),
                        reason: Reason::NotRetryable,
                    },
                }
            }
            ListEnd::Failed(failure, reason, place) => {
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
    owners: OutputOwners,
    /// The state of the retries of the step, if it has begun.
    retry_state: Option<RetryState>,
    repairs: u32,
}

impl ListState<'_> {
    /// The list at a step whose command will run again.
    fn before(&mut self, retry_state: Option<RetryState>) -> Box<Checkpoint> {
        let place = Checkpoint::in_step(self.steps, self.at);
        Box::new(Checkpoint { retry_state, repairs: self.repairs, ..place })
    }

    fn inside(&self, inner: InnerList) -> Box<Checkpoint> {
        Box::new(Checkpoint::inside(self.steps, self.at, self.repairs, inner))
    }
}

impl Attempt<'_> {
    fn checkpoint_text(&self, checkpoint: Checkpoint) -> serde_json::Result<String> {
        let ran = self.running().saturating_sub(self.uncounted);
        let ran = if self.terms.limit.is_some() { ran } else { Duration::ZERO };
        let written_by = self.has_written.then(|| (self.cx.run(), self.cx.attempt()));
        serde_json::to_string(&Checkpoint { ran, written_by, ..checkpoint })
    }

    /// The outcome of an attempt with a command that could not begin. It continues there if other
    /// commands have ended before it.
    fn not_begun(&mut self, ended: ListEnd) -> WorkOutcome {
        let has_run = !self.records.is_empty() || !self.step_times.is_empty();
        let reached = match ended {
            ListEnd::Again(_, checkpoint) if has_run || checkpoint.withheld.is_some() => {
                self.checkpoint_text(*checkpoint).ok()
            }
            _ => None,
        };
        let why = self.shortage.take().unwrap_or_default();
        WorkOutcome::NotBegun { why, checkpoint: reached }
    }

    async fn list(
        &mut self,
        steps: &Steps,
        mut scope: Scope,
        mut checkpoint: Checkpoint,
    ) -> ListEnd {
        let owners = match self.restore(steps, &mut scope, &mut checkpoint).await {
            Ok(owners) => owners,
            Err((failure, reason)) => return ListEnd::Failed(failure, reason, None),
        };
        let Checkpoint { done, retry_state, repairs, mut inner, .. } = checkpoint;
        let mut list = ListState { steps, at: done.len(), scope, owners, retry_state, repairs };
        while let Some(step) = steps.0.get(list.at) {
            let is_new = list.retry_state.is_none() && inner.is_none() && list.repairs == 0;
            if is_new && let Some(when) = &step.when {
                match when.holds(Types::Json, &|placeholder| list.scope.json(placeholder)) {
                    Ok(true) => {}
                    Ok(false) => {
                        list.owners.ends(list.at, step);
                        list.at += 1;
                        continue;
                    }
                    Err(why) => {
                        let end = self.undecided(step, &why);
                        return self.left(end, list);
                    }
                }
            }
            if let Some(end) = self.run_step(step, &mut list, inner.take()).await {
                return self.left(end, list);
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
        let mut phase = match inner.map(|inner| *inner) {
            None => Phase::Run,
            Some(InnerList::Succeeded { checkpoint }) => Phase::Succeeded(checkpoint),
            Some(InnerList::Failed { failed, checkpoint }) => Phase::Failed(failed, checkpoint),
        };
        loop {
            phase = match phase {
                Phase::Run => match self.step(step, &list.scope, list.retry_state.take()).await {
                    StepEnd::Done(output, captured) => {
                        list.owners.keeps(list.at, step, captured, &mut list.scope);
                        list.scope.last = Some(output);
                        list.owners.last = Some(list.at);
                        Phase::Succeeded(Checkpoint::default())
                    }
                    StepEnd::Again(pause, retry_state) => {
                        return Some(ListEnd::Again(pause, list.before(retry_state)));
                    }
                    StepEnd::Failed(failed, captured) => {
                        list.owners.keeps(list.at, step, captured, &mut list.scope);
                        Phase::Failed(failed, Checkpoint::default())
                    }
                },
                Phase::Succeeded(from) => {
                    let then = step.on_success.as_ref()?;
                    return match Box::pin(self.list(then, list.scope.clone(), from)).await {
                        ListEnd::Done(_) => None,
                        ListEnd::Again(pause, checkpoint) => {
                            let inner = InnerList::Succeeded { checkpoint: *checkpoint };
                            Some(ListEnd::Again(pause, list.inside(inner)))
                        }
                        failed @ ListEnd::Failed(..) => Some(failed),
                    };
                }
                // The whole attempt is released.
                Phase::Failed(failed, _) if self.is_stopped || self.shortage.is_some() => {
                    return Some(failed.end());
                }
                Phase::Failed(failed, from) => {
                    if let Some(end) = self.timed_out() {
                        return Some(end);
                    }
                    let spent = list.repairs >= step.after_failure.repairs();
                    let then = match self.next(step, &failed, spent, &list.scope).await {
                        // This was the fallback.
                        _ if self.shortage.is_some() => {
                            let checkpoint = Checkpoint::default();
                            let inner = InnerList::Failed { failed, checkpoint };
                            let pause = Pause::Retry(Duration::ZERO);
                            return Some(ListEnd::Again(pause, list.inside(inner)));
                        }
                        Next::Run(then) => then,
                        Next::End(end) => return Some(end),
                        Next::GoOn(output) => {
                            list.scope.last = Some(output);
                            list.owners.last = Some(list.at);
                            return None;
                        }
                    };
                    let scope = failed.scope(&list.scope);
                    match self.after_failure(then, scope, from).await {
                        ListEnd::Again(pause, checkpoint) => {
                            let inner = InnerList::Failed { failed, checkpoint: *checkpoint };
                            return Some(ListEnd::Again(pause, list.inside(inner)));
                        }
                        _ if matches!(step.after_failure, AfterFailure::Handle(_)) => {
                            return Some(failed.end());
                        }
                        // This was a repair; a failed one counts as well.
                        ended => {
                            list.repairs += 1;
                            match ended {
                                ListEnd::Done(_) => Phase::Run,
                                _ => Phase::Failed(failed, Checkpoint::default()),
                            }
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

    /// Adds the outputs to what a list leaves.
    fn left(&self, end: ListEnd, list: ListState<'_>) -> ListEnd {
        match end {
            ListEnd::Again(pause, left) => {
                ListEnd::Again(pause, self.checkpoint(*left, &list.owners, list.scope))
            }
            end => self.placed(end, list),
        }
    }

    /// Adds the place to a failure: the place of the failed step, with all its attempts and
    /// repairs. What contains a secret is not kept, so its step runs again.
    fn placed(&self, end: ListEnd, list: ListState<'_>) -> ListEnd {
        let ListState { steps, at, scope, owners, .. } = list;
        let ListEnd::Failed(failure, reason, inner) = end else { return end };
        if !self.terms.keeps_place {
            return ListEnd::Failed(failure, reason, None);
        }
        let left = match inner {
            Some(inner) => {
                Checkpoint::inside(steps, at, 0, InnerList::Succeeded { checkpoint: *inner })
            }
            None => Checkpoint::at(steps, at),
        };
        let (place, _) = self.with_outputs(left, &owners, scope);
        ListEnd::Failed(failure, reason, Some(Box::new(place)))
    }

    /// Decides what follows a failure; `spent` means that the repair has run as often as it may.
    async fn next<'a>(
        &mut self,
        step: &'a Step,
        failed: &StepFailure,
        spent: bool,
        scope: &Scope,
    ) -> Next<'a> {
        match &step.after_failure {
            AfterFailure::Stop => Next::End(failed.clone().end()),
            AfterFailure::Fallback(script) => {
                match self.fallback(step, script, &failed.scope(scope)).await {
                    Ok(output) => Next::GoOn(output),
                    Err(mut second) => {
                        second.chain.push(failed.failure.message.clone());
                        Next::End(ListEnd::Failed(second, failed.reason(), None))
                    }
                }
            }
            AfterFailure::Handle(steps) => Next::Run(steps),
            AfterFailure::Repair(repair) if !spent => Next::Run(&repair.steps),
            AfterFailure::Repair(repair) if repair.fails => Next::End(failed.clone().end()),
            AfterFailure::Repair(_) | AfterFailure::Continue => Next::GoOn(String::new()),
        }
    }

    /// Restores the outputs from a checkpoint to the scope; steps whose outputs could not be kept
    /// run again.
    async fn restore(
        &mut self,
        steps: &Steps,
        scope: &mut Scope,
        checkpoint: &mut Checkpoint,
    ) -> Result<OutputOwners, (Failure, Reason)> {
        let mut owners = OutputOwners::default();
        owners.captures.append(&mut checkpoint.captures);
        let here = checkpoint.withheld.take().filter(|held| held.worker == self.cx.worker());
        let held = here.and_then(|held| self.workspace.vault.take(held.number));
        let is_lost = held.is_none();
        let held = held.unwrap_or_default();
        let mut again = Vec::new();
        if let Some(StoredValue { step, value }) = checkpoint.last.take() {
            owners.last = Some(step);
            if value.is_none() && is_lost {
                again.push(step);
            }
            scope.last = value.or(held.last);
        }
        for (name, StoredValue { step, value }) in std::mem::take(&mut checkpoint.captured) {
            match value.or_else(|| held.captured.get(&name).cloned()) {
                Some(value) => {
                    scope.captured.insert(name.clone(), value);
                }
                None => again.push(step),
            }
            owners.captured.insert(name, step);
        }
        again.sort_unstable();
        again.dedup();
        // A step that was edited has not run.
        let known = checkpoint.done.len() + usize::from(checkpoint.begun.is_some());
        again.retain(|step| *step < known);
        for at in again {
            let Some(step) = steps.0.get(at) else { continue };
            let (last, captured) = self.again(step, scope).await?;
            if owners.last == Some(at) {
                scope.last = Some(last);
            }
            owners.keeps(at, step, captured, scope);
        }
        Ok(owners)
    }

    /// Runs a step again, because its output contains a secret and was not kept.
    async fn again(
        &mut self,
        step: &Step,
        scope: &Scope,
    ) -> Result<(String, Option<Captured>), (Failure, Reason)> {
        let postponed = self.terms.postponed.take();
        let ended = self.step(step, scope, None).await;
        self.terms.postponed = postponed;
        match ended {
            StepEnd::Done(output, captured) => Ok((output, captured)),
            StepEnd::Failed(failed, _) => Err((failed.failure.clone(), failed.reason())),
            StepEnd::Again(_, state) => {
                let failure = state.map(|state| state.failure().clone());
                let why = self.shortage.as_deref().unwrap_or("it failed when it ran again");
                let unknown = || Failure::new("other", why);
                Err((failure.unwrap_or_else(unknown), Reason::Attempts))
            }
        }
    }

    /// The checkpoint for the next attempt; values with secrets stay in memory.
    fn checkpoint(
        &self,
        checkpoint: Checkpoint,
        owners: &OutputOwners,
        scope: Scope,
    ) -> Box<Checkpoint> {
        let (mut checkpoint, withheld) = self.with_outputs(checkpoint, owners, scope);
        if withheld.last.is_some() || !withheld.captured.is_empty() {
            let number = self.workspace.vault.put(withheld);
            checkpoint.withheld = Some(Withheld { worker: self.cx.worker().to_owned(), number });
        }
        Box::new(checkpoint)
    }

    /// Adds the outputs to a checkpoint, and returns those that contain secrets.
    fn with_outputs(
        &self,
        mut checkpoint: Checkpoint,
        owners: &OutputOwners,
        scope: Scope,
    ) -> (Checkpoint, Outputs) {
        let masks = &self.workspace.environment.masks;
        let mut withheld = Outputs::default();
        checkpoint.captures.clone_from(&owners.captures);
        if let Some(step) = owners.last {
            let (value, secret) = match scope.last {
                Some(last) if masks.is_in(&last) => (None, Some(last)),
                last => (Some(last.unwrap_or_default()), None),
            };
            checkpoint.last = Some(StoredValue { step, value });
            withheld.last = secret;
        }
        let mut captured = scope.captured;
        for (name, &step) in &owners.captured {
            let Some(value) = captured.remove(name) else { continue };
            let value = if has_secret(&value.value, masks) {
                withheld.captured.insert(name.clone(), value);
                None
            } else {
                Some(value)
            };
            checkpoint.captured.insert(name.clone(), StoredValue { step, value });
        }
        (checkpoint, withheld)
    }

    fn running(&self) -> Duration {
        self.ran.saturating_add(self.began.elapsed())
    }

    /// The failure of an item whose steps have run for too long.
    fn timed_out(&self) -> Option<ListEnd> {
        let limit = self.terms.limit.filter(|limit| self.running() >= *limit)?;
        let message = format!(
            "its steps exceeded the `agent_timeout_secs` of the map, {}",
            retry_rules::duration::format(limit)
        );
        Some(ListEnd::Failed(Failure::new("timeout", message), Reason::Deadline, None))
    }

    /// Fails the list, because a condition cannot be evaluated.
    fn undecided(&mut self, step: &Step, why: &str) -> ListEnd {
        let why = self.workspace.environment.masks.masked(why);
        let failure = Failure::new("other", format!("cannot evaluate `when`: {why}"));
        self.record(&step.label, AttemptTimer::start(), failure.clone());
        ListEnd::Failed(failure, Reason::NotRetryable, None)
    }

    async fn step(
        &mut self,
        step: &Step,
        scope: &Scope,
        retry_state: Option<RetryState>,
    ) -> StepEnd {
        let retrier = &step.retrier;
        if let Some(retry_state) = &retry_state
            && let Some(reason) = retry_state.expired_by(retrier.policy(), self.cx.worker())
        {
            let failure = retry_state.failure().clone();
            self.record(&step.label, AttemptTimer::start(), failure.clone());
            return StepEnd::Failed(StepFailure::new(failure, reason, String::new()), None);
        }
        let timer = AttemptTimer::start();
        let retries = retry_state.as_ref().map_or(0, RetryState::attempts);
        let ended = self.run(step, &step.run, scope, step.limit(), retries).await;
        let ended = ended.and_then(|written| match &step.capture {
            None => Ok((written.output, None)),
            Some(capture) => match capture.read(&written.output) {
                Ok(value) => {
                    let CommandOutput { output, stderr, .. } = written;
                    let exit_code = Some(0);
                    Ok((output, Some(Captured { value, success: true, exit_code, stderr })))
                }
                Err(why) => {
                    let masks = &self.workspace.environment.masks;
                    let wait = written.retry_after;
                    let excerpt = self.workspace.excerpt;
                    Err(StepError::bad_output(why, &written, excerpt, masks).retry_after(wait))
                }
            },
        });
        let mut error = match ended {
            Ok((output, captured)) => {
                if let Some(retry_state) = retry_state {
                    retry_state.succeeded(retrier);
                }
                self.step_times.push(StepTime::new(&*step.label, timer.elapsed()));
                return StepEnd::Done(output, captured);
            }
            Err(error) => error,
        };
        if self.shortage.is_some() {
            return StepEnd::Again(Pause::Retry(Duration::ZERO), retry_state);
        }
        let mut retry_state = retry_state;
        let not_ready = self.not_ready(step, &error);
        if let Some(Ok(wait)) = not_ready {
            self.failed(&step.label, timer, &mut error, None);
            self.uncounted = timer.elapsed();
            if let Some(retry_state) = &mut retry_state {
                retry_state.postpone(wait.saturating_add(timer.elapsed()));
            }
            return StepEnd::Again(Pause::Postponed(wait), retry_state);
        }
        let class = not_ready.map(|_| POSTPONED);
        self.note_wait(retrier.asked_wait(&error));
        let failure = self.failed(&step.label, timer, &mut error, class);
        let reason = match self.timed_out() {
            Some(_) => Reason::Deadline,
            None if step.is_final(&error) => Reason::NotRetryable,
            None => {
                match RetryState::decide(
                    retry_state,
                    retrier,
                    self.cx.worker(),
                    Ok(&error),
                    &failure,
                ) {
                    NextStep::Retry { wait, state } => {
                        return StepEnd::Again(Pause::Retry(wait), Some(*state));
                    }
                    NextStep::GiveUp(reason) => reason,
                }
            }
        };
        let captured = Capture::failed(error.stdout(), error.stderr(), error.exit_code());
        StepEnd::Failed(StepFailure::new(failure, reason, error.output()), Some(captured))
    }

    /// Returns how long a step that is not ready is postponed; an error if that would be for too
    /// long, and `None` if it has failed in any other way.
    fn not_ready(&self, step: &Step, error: &StepError) -> Option<Result<Duration, ()>> {
        let before = self.terms.postponed?;
        let wait = error.wait().filter(|_| error.exit_code() == Some(NOT_READY))?;
        let wait = postponement(wait);
        let most = step.max_postponed.limit();
        let is_within = most.is_none_or(|most| before.saturating_add(wait) <= most);
        Some(is_within.then_some(wait).ok_or(()))
    }

    /// Runs a command of a step that has been retried `retries` times.
    async fn run(
        &mut self,
        step: &Step,
        command: &Run,
        scope: &Scope,
        limit: Option<Duration>,
        retries: u32,
    ) -> Result<CommandOutput, StepError> {
        let ended = self.run_prepared(step, command, scope, limit, retries).await;
        if let Err(error) = &ended {
            self.shortage = error.shortage().map(str::to_owned);
        }
        ended
    }

    async fn run_prepared(
        &mut self,
        step: &Step,
        command: &Run,
        scope: &Scope,
        limit: Option<Duration>,
        retries: u32,
    ) -> Result<CommandOutput, StepError> {
        let PreparedCommand { mut invocation, files, retry_after, hint } =
            command.prepare(self.workspace, scope)?;
        let left = self.terms.limit.map(|limit| limit.saturating_sub(self.running()));
        invocation.timeout = limit.into_iter().chain(left).min();
        for (name, value) in &step.env {
            let value = value.render(scope).map_err(StepError::payload)?;
            invocation.variables.push((name.clone(), value.into()));
        }
        if let Some(folder) = &step.working_dir {
            let folder = folder.render(scope).map_err(StepError::payload)?;
            invocation.folder = invocation.folder.join(folder);
        }
        invocation.variables.extend(item_variables(self.cx, retries));
        if let Some(tap) = &self.workspace.tap {
            let is_begun = std::mem::replace(&mut self.has_written, true);
            let (tap, attempt) = (Arc::clone(tap), self.cx.clone());
            invocation.tapping = Some(Tapping { tap, attempt, is_begun });
        }
        let ended = invocation.run().await;
        if let Err(error) = &ended {
            self.is_stopped |= interruption::explains(error.status()).await;
        }
        if let Ok(written) = &ended {
            let most = self.workspace.excerpt.of_success();
            self.printed = end_of_both(&self.printed, &written.printed, most);
        }
        // The files exist for as long as the command runs.
        drop(files);
        let wait = retry_after.as_ref().and_then(|file| retry_after::written(file.path()));
        match ended {
            Ok(written) => Ok(CommandOutput { retry_after: wait, ..written }),
            Err(error) => Err(error.hint(hint).retry_after(wait)),
        }
    }

    async fn fallback(
        &mut self,
        step: &Step,
        script: &Script,
        scope: &Scope,
    ) -> Result<String, Failure> {
        let label = format!("{}, fallback", step.label);
        let timer = AttemptTimer::start();
        let command = Run::Shell(script.clone());
        match self.run(step, &command, scope, step.timeout, 0).await {
            Ok(written) => {
                self.step_times.push(StepTime::new(label, timer.elapsed()));
                Ok(written.output)
            }
            Err(error) if self.shortage.is_some() => Err(self.described(&error)),
            Err(mut error) => {
                self.note_wait(step.retrier.asked_wait(&error));
                Err(self.failed(&label, timer, &mut error, None))
            }
        }
    }

    /// Records that a command has failed, with its output; returns the failure without the output.
    /// `class` replaces the class of the error.
    fn failed(
        &mut self,
        label: &str,
        timer: AttemptTimer,
        error: &mut StepError,
        class: Option<&str>,
    ) -> Failure {
        let mut failure = self.described(error);
        if let Some(class) = class {
            class.clone_into(&mut failure.class);
        }
        let mut recorded = failure.clone();
        recorded.output = error.take_excerpt();
        self.record(label, timer, recorded);
        failure
    }

    /// Keeps the longest wait of the attempt. Its last failure decides whether the breaker counts
    /// it.
    fn note_wait(&mut self, asked: Option<AskedWait>) {
        let longest = self.asked.into_iter().chain(asked).map(|asked| asked.wait).max();
        let is_rate_limit = asked.is_some_and(|asked| asked.is_rate_limit);
        self.asked = longest.map(|wait| AskedWait { wait, is_rate_limit });
    }

    /// Converts an error to a failure, masking secrets that it quotes.
    fn described(&self, error: &StepError) -> Failure {
        let failure = described(error);
        let masks = &self.workspace.environment.masks;
        if !masks.is_in(&failure.message) {
            return failure;
        }
        // The source of such an error is the end of its stderr, which is masked.
        Failure::new(failure.class, masks.masked(&failure.message))
    }

    fn record(&mut self, label: &str, timer: AttemptTimer, failure: Failure) {
        self.records.push(timer.failed(failure).step(label));
    }
}

fn described(error: &StepError) -> Failure {
    let mut failure = Failure::from_error(error);
    if error.is_payload() {
        PAYLOAD.clone_into(&mut failure.class);
    }
    if let Some(class) = exit_codes::class(error) {
        let names = Class::NAMES.into_iter().filter(|(one, _)| class.contains(*one));
        failure.class = names.map(|(_, name)| name).collect::<Vec<_>>().join("+");
    }
    failure
}

enum StepEnd {
    Done(String, Option<Captured>),
    /// With the state of its retries, if it has failed before: its first attempt may not have
    /// begun.
    Again(Pause, Option<RetryState>),
    Failed(StepFailure, Option<Captured>),
}

impl OutputOwners {
    /// Records that a step has ended, or was skipped.
    fn ends(&mut self, at: usize, step: &Step) {
        match &step.capture {
            Some(capture) => self.captures.insert(at, capture.clone()),
            None => self.captures.remove(&at),
        };
    }

    fn keeps(&mut self, at: usize, step: &Step, captured: Option<Captured>, scope: &mut Scope) {
        self.ends(at, step);
        if let (Some(capture), Some(captured)) = (&step.capture, captured) {
            scope.captured.insert(capture.name.clone(), captured);
            self.captured.insert(capture.name.clone(), at);
        }
    }
}

impl Checkpoint {
    /// A list that has come to the step at this place.
    fn at(steps: &Steps, at: usize) -> Self {
        Self { done: steps.0.iter().take(at).map(Step::id).collect(), ..Self::default() }
    }

    /// The same, when that step has begun.
    fn in_step(steps: &Steps, at: usize) -> Self {
        let begun = steps.0.get(at).map(|step| StepId::Text(step.text.command.clone()));
        Self { begun, ..Self::at(steps, at) }
    }

    fn inside(steps: &Steps, at: usize, repairs: u32, inner: InnerList) -> Self {
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
    fn fitted(mut self, steps: &Steps) -> Result<Self, Misfit> {
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
            if is.map(Step::id).as_ref() != Some(was) {
                return Err(Misfit { edit: edit(at, is), ..Misfit::new(at, was.clone(), is) });
            }
            if let Some(edit) = needed_edit(at, is) {
                return Err(Misfit { edit: Some(edit), ..Misfit::new(at, was.clone(), is) });
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
                if let Some(edit) = begun_edit {
                    let misfit = Misfit::new(at, step.command_id(), Some(step));
                    return Err(Misfit { edit: Some(edit), ..misfit });
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

/// A step that is done, but is no longer at its place in its list.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Its place, from 0.
    pub(crate) at: usize,
    pub(crate) was: StepId,
    /// The command at its place now, if there is one.
    pub(crate) is: Option<String>,
    /// The edit of its `capture`.
    edit: Option<Box<CaptureEdit>>,
    /// The place of its list, if that belongs to another step: " of `on_success` of `pay`".
    place: String,
}

impl Misfit {
    fn new(at: usize, was: StepId, is: Option<&Step>) -> Self {
        let is = is.map(|step| match step.id() {
            StepId::Name(name) => name,
            StepId::Text(_) => step.run.written(),
        });
        Self { at, was, is, edit: None, place: String::new() }
    }

    /// The same in a list under this key of an outer step.
    fn inside(mut self, key: &str, outer: &Step) -> Self {
        let _infallible = write!(self.place, " of `{key}` of `{}`", OneLine(&outer.label));
        self
    }

    /// Describes the edit; `text` is what the step was, if that is known.
    pub(crate) fn described(&self, text: Option<&str>) -> String {
        let number = self.at + 1;
        let name = match &self.was {
            StepId::Name(name) => Some(name.as_str()),
            StepId::Text(_) => text,
        };
        let place = &self.place;
        let was = name.map_or_else(String::new, |name| format!(", `{}`", OneLine(&excerpt(name))));
        let was = format!("step {number}{place}{was}");
        let Some(is) = &self.is else { return format!("{was}, which no longer exists") };
        let is_same = name == Some(is.as_str());
        let is = format!("but step {number} is now `{}`", OneLine(&excerpt(is)));
        match &self.edit {
            Some(edit) if is_same => format!("{was}, {}", edit.described(number)),
            Some(edit) => format!("{was}, {is}, with {} instead of {}", edit.is(), edit.was()),
            None if is_same => format!(
                "{was}, but its other keys are now different, such as `env`, `when` or `on_success`"
            ),
            None => format!("{was}, {is}"),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described(None))
    }
}

impl Steps {
    /// Checks that an item with this checkpoint can continue with these steps.
    ///
    /// # Errors
    /// Steps that are done were edited.
    pub(crate) fn fit(&self, checkpoint: &str) -> Result<(), Misfit> {
        match serde_json::from_str::<Checkpoint>(checkpoint) {
            Ok(checkpoint) => checkpoint.fitted(self).map(drop),
            // Reported when the item runs.
            Err(_) => Ok(()),
        }
    }

    /// The checkpoint to continue from: none if it does not fit and its item may start over.
    pub(crate) fn checkpoint<'a>(&self, left: Option<&'a str>, restarts: bool) -> Option<&'a str> {
        left.filter(|left| !restarts || self.fit(left).is_ok())
    }
}

impl StepFailure {
    fn new(failure: Failure, reason: Reason, output: String) -> Self {
        Self { failure, reason: reason.as_str().to_owned(), output }
    }

    fn reason(&self) -> Reason {
        let named = |reason: &&Reason| reason.as_str() == self.reason;
        Reason::ALL.iter().find(named).copied().unwrap_or(Reason::Attempts)
    }

    fn end(self) -> ListEnd {
        let reason = self.reason();
        ListEnd::Failed(self.failure, reason, None)
    }

    /// The scope of the handlers of the failure.
    fn scope(&self, outer: &Scope) -> Scope {
        let error = Some(self.failure.to_string());
        Scope { error, failed_output: Some(self.output.clone()), ..outer.clone() }
    }
}

/// Returns whether any text in the value contains a secret in its unescaped form.
pub(crate) fn has_secret(value: &Value, masks: &Masks) -> bool {
    match value {
        Value::Array(list) => list.iter().any(|value| has_secret(value, masks)),
        Value::Object(map) => {
            map.iter().any(|(key, value)| masks.is_in(key) || has_secret(value, masks))
        }
        Value::String(text) => masks.is_in(text),
        other => masks.is_in(&other.to_string()),
    }
}

/// The steps of `map`, which run for each item.
#[derive(Debug)]
pub(crate) struct ItemSteps {
    pub(crate) steps: Steps,
    pub(crate) workspace: Arc<Workspace>,
    /// The values captured by `setup`.
    pub(crate) captured: BTreeMap<String, Captured>,
    pub(crate) terms: AttemptTerms,
    /// Items that cannot continue after an edit start over.
    pub(crate) restarts: bool,
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
        let scope = Scope { item: payload, captured: self.captured.clone(), ..Scope::default() };
        let (checkpoint, cx) = (item.checkpoint.as_deref(), &item.context);
        let checkpoint = self.steps.checkpoint(checkpoint, self.restarts);
        let terms = AttemptTerms { postponed: Some(item.postponed), ..self.terms };
        self.steps.attempted(&self.workspace, scope, checkpoint, cx, terms).await.report
    }
}

#[cfg(all(test, unix))]
mod tests;
