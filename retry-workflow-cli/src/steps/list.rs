//! A list of commands, which one attempt after another runs, each from where the previous one
//! stopped. Items, whole workflows, tasks and handlers are such lists.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::durable::AskedWait;
use retry_runtime::retrier::ForError;
use retry_runtime::{Class, Reason, Retrier};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::steps::command_env::{PreparedCommand, Run, Workspace, excerpt, item_variables};
use crate::steps::exit_codes;
use crate::steps::interruption;
use crate::steps::mask::Masks;
use crate::steps::process::{StepError, Written};
use crate::steps::retry_after;
use crate::steps::step::{AfterFailure, Capture, Step, StepId, Steps};
use crate::steps::stream::end_of_both;
use crate::steps::tap::Tapping;
use crate::steps::vault::Outputs;
use crate::template::expression::Types;
use crate::template::placeholder::{Captured, Scope};
use crate::template::shell::Script;
use retry_workflow::sanitize::OneLine;
use retry_workflow::work::{
    AttemptReport, AttemptTimer, NextStep, RetryState, StepRecord, StepTime, WorkItem, WorkOutcome,
};
use retry_workflow::{Failure, ItemContext, Work};

/// The class of failures that are due to the item's contents.
const PAYLOAD: &str = "payload";

/// Where a list has stopped and will continue.
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
    last: Option<KeptValue<String>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    captured: BTreeMap<String, KeptValue<Captured>>,
    /// Where to find the values that are not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withheld: Option<Withheld>,
    /// The state of the retries of a call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<RetryState>,
    /// The step has ended, and the list that follows it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inner: Option<Box<InnerList>>,
    /// How many times the step's repair has run.
    #[serde(default, skip_serializing_if = "is_zero")]
    repairs: u32,
    /// How long the steps have run so far.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    ran: Duration,
}

/// A value, and the step that it comes from; `None` if it contains a secret.
#[derive(Debug, Serialize, Deserialize)]
struct KeptValue<T> {
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

/// How a list has ended in this attempt.
enum ListEnd {
    Done(Scope),
    Again(Duration, Box<Checkpoint>),
    Failed(Failure, Reason),
}

/// What to do about a step now.
enum Phase {
    Run,
    Succeeded(Checkpoint),
    Failed(StepFailure, Checkpoint),
}

/// What follows a failure.
enum Next<'a> {
    End(ListEnd),
    /// Continue with the next step, and with this output for the failed one.
    GoOn(String),
    Run(&'a Steps),
}

/// Which steps of this list produced the current outputs.
#[derive(Default)]
struct OutputOwners {
    last: Option<usize>,
    captured: BTreeMap<String, usize>,
}

/// One attempt, and what to record about it.
struct Attempt<'a> {
    workspace: &'a Workspace,
    cx: &'a ItemContext,
    records: Vec<StepRecord>,
    /// How long each successful step took.
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
    /// The limit for the total run time of the item's steps, and the time used by earlier attempts.
    limit: Option<Duration>,
    ran: Duration,
}

/// How an attempt has ended, and the outputs of its steps.
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
        self.attempted(workspace, scope, checkpoint, cx, None).await.report
    }

    /// The same, with the outputs of the steps, which run no longer than `limit`.
    pub(crate) async fn attempted(
        &self,
        workspace: &Workspace,
        scope: Scope,
        checkpoint: Option<&str>,
        cx: &ItemContext,
        limit: Option<Duration>,
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
        let (has_written, printed) = (false, String::new());
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
            limit,
            ran,
        };
        let mut outputs = None;
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
            ListEnd::Again(wait, checkpoint) => match attempt.checkpoint_text(*checkpoint) {
                Ok(checkpoint) => WorkOutcome::Retry { wait, checkpoint },
                Err(error) => WorkOutcome::Failed {
                    failure: Failure::new("other", format!("cannot be kept: {error}")),
                    reason: Reason::NotRetryable,
                },
            },
            ListEnd::Failed(failure, reason) => WorkOutcome::Failed { failure, reason },
        };
        let mut report = AttemptReport::new(outcome).asked_wait(attempt.asked);
        report.step_times = attempt.step_times;
        let report = attempt.records.into_iter().fold(report, AttemptReport::record);
        Attempted { report, outputs }
    }
}

impl Attempt<'_> {
    fn checkpoint_text(&self, checkpoint: Checkpoint) -> serde_json::Result<String> {
        let ran = if self.limit.is_some() { self.running() } else { Duration::ZERO };
        serde_json::to_string(&Checkpoint { ran, ..checkpoint })
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
        let mut owners = match self.restore(steps, &mut scope, &mut checkpoint).await {
            Ok(owners) => owners,
            Err((failure, reason)) => return ListEnd::Failed(failure, reason),
        };
        let (mut at, mut kept, mut repairs) =
            (checkpoint.done.len(), checkpoint.kept, checkpoint.repairs);
        let mut inner = checkpoint.inner;
        while let Some(step) = steps.0.get(at) {
            if kept.is_none() && inner.is_none() && repairs == 0 {
                match self.is_wanted(step, &scope) {
                    Ok(true) => {}
                    Ok(false) => {
                        at += 1;
                        continue;
                    }
                    Err(end) => return *end,
                }
            }
            let mut phase = inner.take().map_or(Phase::Run, |inner| inner.phase());
            loop {
                phase = match phase {
                    Phase::Run => match self.step(step, &scope, kept.take()).await {
                        StepEnd::Done(output, captured) => {
                            owners.keeps(at, step, captured, &mut scope);
                            scope.last = Some(output);
                            owners.last = Some(at);
                            Phase::Succeeded(Checkpoint::default())
                        }
                        StepEnd::Again(wait, kept) => {
                            let left =
                                Checkpoint { kept, repairs, ..Checkpoint::in_step(steps, at) };
                            return self.again_at(left, wait, &owners, scope);
                        }
                        StepEnd::Failed(failed, captured) => {
                            owners.keeps(at, step, captured, &mut scope);
                            Phase::Failed(failed, Checkpoint::default())
                        }
                    },
                    Phase::Succeeded(from) => {
                        let Some(then) = &step.on_success else { break };
                        match Box::pin(self.list(then, scope.clone(), from)).await {
                            ListEnd::Done(_) => break,
                            ListEnd::Again(wait, checkpoint) => {
                                let inner = InnerList::Succeeded { checkpoint: *checkpoint };
                                let left = Checkpoint::inside(steps, at, repairs, inner);
                                return self.again_at(left, wait, &owners, scope);
                            }
                            failed @ ListEnd::Failed(..) => return failed,
                        }
                    }
                    // The whole attempt is released.
                    Phase::Failed(failed, _) if self.is_stopped || self.shortage.is_some() => {
                        return failed.end();
                    }
                    Phase::Failed(failed, from) => {
                        if let Some(end) = self.timed_out() {
                            return end;
                        }
                        let spent = repairs >= step.after_failure.repairs();
                        let then = match self.next(step, &failed, spent, &scope).await {
                            // This was the fallback.
                            _ if self.shortage.is_some() => {
                                let checkpoint = Checkpoint::default();
                                let inner = InnerList::Failed { failed, checkpoint };
                                let left = Checkpoint::inside(steps, at, repairs, inner);
                                return self.again_at(left, Duration::ZERO, &owners, scope);
                            }
                            Next::Run(then) => then,
                            Next::End(end) => return end,
                            Next::GoOn(output) => {
                                scope.last = Some(output);
                                owners.last = Some(at);
                                break;
                            }
                        };
                        let ended = Box::pin(self.list(then, failed.scope(&scope), from)).await;
                        match ended {
                            ListEnd::Again(wait, checkpoint) => {
                                let inner = InnerList::Failed { failed, checkpoint: *checkpoint };
                                let left = Checkpoint::inside(steps, at, repairs, inner);
                                return self.again_at(left, wait, &owners, scope);
                            }
                            _ if matches!(step.after_failure, AfterFailure::Handle(_)) => {
                                return failed.end();
                            }
                            // This was a repair; a failed one counts as well.
                            ended => {
                                repairs += 1;
                                match ended {
                                    ListEnd::Done(_) => Phase::Run,
                                    _ => Phase::Failed(failed, Checkpoint::default()),
                                }
                            }
                        }
                    }
                };
            }
            at += 1;
            repairs = 0;
        }
        ListEnd::Done(scope)
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
                        Next::End(ListEnd::Failed(second, failed.reason()))
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
        let here = checkpoint.withheld.take().filter(|held| held.worker == self.cx.worker());
        let held = here.and_then(|held| self.workspace.vault.take(held.number));
        let is_lost = held.is_none();
        let held = held.unwrap_or_default();
        let mut again = Vec::new();
        if let Some(KeptValue { step, value }) = checkpoint.last.take() {
            owners.last = Some(step);
            if value.is_none() && is_lost {
                again.push(step);
            }
            scope.last = value.or(held.last);
        }
        for (name, KeptValue { step, value }) in std::mem::take(&mut checkpoint.captured) {
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
        match self.step(step, scope, None).await {
            StepEnd::Done(output, captured) => Ok((output, captured)),
            StepEnd::Failed(failed, _) => Err((failed.failure.clone(), failed.reason())),
            StepEnd::Again(_, Some(state)) => Err((state.failure().clone(), Reason::Attempts)),
            StepEnd::Again(_, None) => {
                let why = self.shortage.as_deref().unwrap_or_default();
                Err((Failure::new("other", why), Reason::Attempts))
            }
        }
    }

    /// Leaves the list for a while, with the checkpoint for the next attempt; values with secrets
    /// stay in memory.
    fn again_at(
        &self,
        mut checkpoint: Checkpoint,
        wait: Duration,
        owners: &OutputOwners,
        scope: Scope,
    ) -> ListEnd {
        let masks = &self.workspace.environment.masks;
        let mut withheld = Outputs::default();
        if let Some(step) = owners.last {
            let (value, secret) = match scope.last {
                Some(last) if masks.is_in(&last) => (None, Some(last)),
                last => (Some(last.unwrap_or_default()), None),
            };
            checkpoint.last = Some(KeptValue { step, value });
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
            checkpoint.captured.insert(name.clone(), KeptValue { step, value });
        }
        if withheld.last.is_some() || !withheld.captured.is_empty() {
            let number = self.workspace.vault.put(withheld);
            checkpoint.withheld = Some(Withheld { worker: self.cx.worker().to_owned(), number });
        }
        ListEnd::Again(wait, Box::new(checkpoint))
    }

    fn running(&self) -> Duration {
        self.ran.saturating_add(self.began.elapsed())
    }

    /// The failure of an item whose steps have run for too long.
    fn timed_out(&self) -> Option<ListEnd> {
        let limit = self.limit.filter(|limit| self.running() >= *limit)?;
        let message = format!(
            "its steps exceeded the `agent_timeout_secs` of the map, {}",
            retry_rules::duration::format(limit)
        );
        Some(ListEnd::Failed(Failure::new("timeout", message), Reason::Deadline))
    }

    /// Whether the step is to run. Fails the list if its condition cannot be evaluated.
    fn is_wanted(&mut self, step: &Step, scope: &Scope) -> Result<bool, Box<ListEnd>> {
        let Some(when) = &step.when else { return Ok(true) };
        when.holds(Types::Json, &|placeholder| scope.json(placeholder)).map_err(|why| {
            let why = self.workspace.environment.masks.masked(&why);
            let failure = Failure::new("other", format!("cannot evaluate `when`: {why}"));
            self.record(&step.label, AttemptTimer::start(), failure.clone());
            Box::new(ListEnd::Failed(failure, Reason::NotRetryable))
        })
    }

    async fn step(&mut self, step: &Step, scope: &Scope, kept: Option<RetryState>) -> StepEnd {
        let retrier = &step.retrier;
        if let Some(kept) = &kept
            && let Some(reason) = kept.expired_by(retrier.policy(), self.cx.worker())
        {
            let failure = kept.failure().clone();
            self.record(&step.label, AttemptTimer::start(), failure.clone());
            return StepEnd::Failed(StepFailure::new(failure, reason, String::new()), None);
        }
        let timer = AttemptTimer::start();
        let so_far = kept.as_ref().map_or(0, RetryState::attempts);
        let ended = self.run(step, &step.run, scope, step.limit(), so_far).await;
        let ended = ended.and_then(|written| match &step.capture {
            None => Ok((written.output, None)),
            Some(capture) => match capture.read(&written.output) {
                Ok(value) => {
                    let Written { output, stderr, .. } = written;
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
                if let Some(kept) = kept {
                    kept.succeeded(retrier);
                }
                self.step_times.push(StepTime::new(&*step.label, timer.elapsed()));
                return StepEnd::Done(output, captured);
            }
            Err(error) => error,
        };
        if self.shortage.is_some() {
            return StepEnd::Again(Duration::ZERO, kept);
        }
        let failure = self.failed(retrier, &step.label, timer, &mut error);
        let reason = match self.timed_out() {
            Some(_) => Reason::Deadline,
            None if step.is_final(&error) => Reason::NotRetryable,
            None => {
                match RetryState::decide(kept, retrier, self.cx.worker(), Ok(&error), &failure) {
                    NextStep::Retry { wait, state } => return StepEnd::Again(wait, Some(*state)),
                    NextStep::GiveUp(reason) => reason,
                }
            }
        };
        let captured = Capture::failed(error.stdout(), error.stderr(), error.exit_code());
        StepEnd::Failed(StepFailure::new(failure, reason, error.output()), Some(captured))
    }

    /// Runs a command of a step that has been retried `retries` times.
    async fn run(
        &mut self,
        step: &Step,
        command: &Run,
        scope: &Scope,
        limit: Option<Duration>,
        retries: u32,
    ) -> Result<Written, StepError> {
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
    ) -> Result<Written, StepError> {
        let PreparedCommand { mut invocation, files, retry_after, hint } =
            command.prepare(self.workspace, scope)?;
        let left = self.limit.map(|limit| limit.saturating_sub(self.running()));
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
            Ok(written) => Ok(Written { retry_after: wait, ..written }),
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
            Err(mut error) => Err(self.failed(&step.retrier, &label, timer, &mut error)),
        }
    }

    /// Records that a command has failed, with its output and the wait that its server has asked for;
    /// returns the failure without the output.
    fn failed(
        &mut self,
        retrier: &Retrier<ForError<StepError>>,
        label: &str,
        timer: AttemptTimer,
        error: &mut StepError,
    ) -> Failure {
        self.note_wait(retrier.asked_wait(error));
        let failure = self.described(error);
        let mut recorded = failure.clone();
        recorded.output = error.take_excerpt();
        self.record(label, timer, recorded);
        failure
    }

    /// Keeps the longest wait of the attempt. Its last failure decides whether the breaker counts it.
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
    /// The step is tried again after a wait, with the state of its retries; `None` if its first attempt
    /// could not begin.
    Again(Duration, Option<RetryState>),
    Failed(StepFailure, Option<Captured>),
}

impl OutputOwners {
    fn keeps(&mut self, at: usize, step: &Step, captured: Option<Captured>, scope: &mut Scope) {
        if let (Some(capture), Some(captured)) = (&step.capture, captured) {
            scope.captured.insert(capture.name.clone(), captured);
            self.captured.insert(capture.name.clone(), at);
        }
    }
}

impl InnerList {
    fn phase(self) -> Phase {
        match self {
            Self::Succeeded { checkpoint } => Phase::Succeeded(checkpoint),
            Self::Failed { failed, checkpoint } => Phase::Failed(failed, checkpoint),
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

    /// The same for these steps, which may have been edited since: the step after those that are
    /// done follows. If it is another one than the step that had begun, it starts with all its
    /// attempts and repairs.
    fn fitted(mut self, steps: &Steps) -> Result<Self, Misfit> {
        for (at, was) in self.done.iter().enumerate() {
            let is = steps.0.get(at);
            if is.map(Step::id).as_ref() != Some(was) {
                return Err(Misfit::new(at, was.clone(), is));
            }
        }
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
                let then = step.on_success.as_ref().unwrap_or(&none);
                let checkpoint = checkpoint.fitted(then)?;
                self.inner = Some(Box::new(InnerList::Succeeded { checkpoint }));
            }
            inner => {
                let begun = step.map(|step| StepId::Text(step.text.command.clone()));
                if self.begun.is_none() || self.begun != begun {
                    let Self { done, last, captured, withheld, ran, .. } = self;
                    return Ok(Self { done, last, captured, withheld, ran, ..Self::default() });
                }
                if let (Some(InnerList::Failed { failed, checkpoint }), Some(step)) = (inner, step)
                {
                    let then = step.after_failure.steps().unwrap_or(&none);
                    let checkpoint = checkpoint.fitted(then)?;
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
    /// What runs at its place now, if anything does.
    pub(crate) is: Option<String>,
}

impl Misfit {
    fn new(at: usize, was: StepId, is: Option<&Step>) -> Self {
        let is = is.map(|step| match step.id() {
            StepId::Name(name) => name,
            StepId::Text(_) => step.run.written(),
        });
        Self { at, was, is }
    }

    /// Describes the edit; `text` is what the step was, if that is known.
    pub(crate) fn described(&self, text: Option<&str>) -> String {
        let number = self.at + 1;
        let name = match &self.was {
            StepId::Name(name) => Some(name.as_str()),
            StepId::Text(_) => text,
        };
        let was = name.map_or_else(String::new, |name| format!(", `{}`", OneLine(&excerpt(name))));
        match &self.is {
            Some(is) => {
                let is = excerpt(is);
                format!("step {number}{was}, but step {number} is now `{}`", OneLine(&is))
            }
            None => format!("step {number}{was}, which no longer exists"),
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
        ListEnd::Failed(self.failure, reason)
    }

    /// The scope of the handlers of the failure.
    fn scope(&self, outer: &Scope) -> Scope {
        let error = Some(self.failure.to_string());
        Scope { error, failed_output: Some(self.output.clone()), ..outer.clone() }
    }
}

/// Whether any text in the value contains a secret in its unescaped form.
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
    /// What `setup` has captured.
    pub(crate) captured: BTreeMap<String, Captured>,
    /// The limit for the total run time of an item's steps.
    pub(crate) limit: Option<Duration>,
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
        self.steps.attempted(&self.workspace, scope, checkpoint, cx, self.limit).await.report
    }
}

#[cfg(all(test, unix))]
mod tests;
