//! [`Attempt`]: one attempt at a list of steps: runs their commands, and records how these end.

use std::collections::BTreeMap;
use std::time::Duration;

use retry_runtime::durable::AskedWait;
use retry_runtime::{Class, Reason};
use serde_json::Value;
use tokio::time::Instant;

use super::checkpoint::{Checkpoint, PAYLOAD, StepFailure};
use crate::steps::command_env::{PreparedCommand, Run, Workspace, item_variables};
use crate::steps::exit_codes;
use crate::steps::interruption;
use crate::steps::process::{CommandOutput, Status, StepError};
use crate::steps::retry_after;
use crate::steps::step::Step;
use crate::steps::stream::end_of_both;
use crate::template::placeholder::Captured;
use crate::template::scope::{Scope, StepOutputs};
use crate::template::shell::Script;
use retry_workflow::work::{
    AttemptTimer, NextStep, RetryState, StepRecord, StepTime, postponement,
};
use retry_workflow::{Failure, ItemContext};

/// The class of steps that were not ready for too long.
const POSTPONED: &str = "postponed";

/// The wait before the next attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pause {
    /// The wait of a policy, or of a server, after a failure.
    Retry(Duration),
    /// A wait that uses up no attempt, because a step is not ready.
    Postponed(Duration),
    /// A wait after a failure that uses up no attempt.
    Uncounted(Duration),
}

/// The exit status of a step that is not ready: the status of a temporary failure, `EX_TEMPFAIL`.
const NOT_READY: i32 = 75;

pub(super) enum StepEnd {
    Done(StepOutputs),
    /// With the state of its retries, if it has failed before: its first attempt may not have
    /// begun.
    Again(Pause, Option<RetryState>),
    /// With the captured output of the failed attempt.
    Failed(StepFailure, StepOutputs),
}

/// One attempt, and what to record about it.
pub(super) struct Attempt<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) cx: &'a ItemContext,
    pub(super) records: Vec<StepRecord>,
    /// The duration of each successful step.
    pub(super) step_times: Vec<StepTime>,
    /// The end of the output of successful commands, without secrets.
    pub(super) printed: String,
    /// Commands of this attempt have run.
    pub(super) has_written: bool,
    /// The wait that a server has asked a failed command for, for the breaker of the job.
    pub(super) asked: Option<AskedWait>,
    /// A command has ended because this process is being stopped: the attempt has not failed.
    pub(super) is_stopped: bool,
    /// The resource that this machine lacks, if a command could not begin: the attempt has not
    /// failed.
    pub(super) shortage: Option<String>,
    pub(super) began: Instant,
    pub(super) terms: AttemptTerms,
    /// The running time of the steps in earlier attempts.
    pub(super) ran: Duration,
    /// The running time of a step that was not ready.
    pub(super) uncounted: Duration,
}

/// The terms that depend on the place of a list of steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AttemptTerms {
    /// The limit for the total running time of the steps.
    pub(crate) limit: Option<Duration>,
    /// Steps that are not ready may come back later: how long they have done so in this run.
    pub(crate) postponed: Option<Duration>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        cx: &'a ItemContext,
        terms: AttemptTerms,
        from: &Checkpoint,
    ) -> Self {
        Self {
            workspace,
            cx,
            records: Vec::new(),
            step_times: Vec::new(),
            printed: String::new(),
            // A step that was postponed continues in the same attempt.
            has_written: from.written_by == Some(cx.attempt()),
            asked: None,
            is_stopped: false,
            shortage: None,
            began: Instant::now(),
            terms,
            ran: from.ran,
            uncounted: Duration::ZERO,
        }
    }

    pub(super) fn running(&self) -> Duration {
        self.ran.saturating_add(self.began.elapsed())
    }

    /// The failure of an item whose steps have run for too long.
    pub(super) fn timed_out(&self) -> Option<Failure> {
        let limit = self.terms.limit.filter(|limit| self.running() >= *limit)?;
        let message = format!(
            "its steps exceeded the `agent_timeout_secs` of the map, {}",
            retry_rules::duration::format(limit)
        );
        Some(Failure::new("timeout", message))
    }

    pub(super) async fn step(
        &mut self,
        step: &Step,
        scope: &Scope,
        mut retry_state: Option<RetryState>,
    ) -> StepEnd {
        retry_state.iter_mut().for_each(RetryState::resume);
        let retrier = &step.retrier;
        if let Some(retry_state) = &retry_state
            && let Some(reason) = retry_state.expired_by(retrier.policy(), self.cx.worker())
        {
            let failure = retry_state.failure().clone();
            self.record(&step.label, AttemptTimer::start(), failure.clone());
            let failed = StepFailure::new(failure, reason, String::new());
            return StepEnd::Failed(failed, StepOutputs::default());
        }
        let timer = AttemptTimer::start();
        let before = retry_state.as_ref().map_or(0, RetryState::attempts);
        let ended = self.run(step, &step.run, scope, step.limit(), before).await;
        let ended = ended.and_then(|written| self.outputs(step, written));
        let mut error = match ended {
            Ok(outputs) => {
                if let Some(retry_state) = retry_state {
                    retry_state.succeeded(retrier);
                }
                self.step_times.push(StepTime::new(&*step.label, timer.elapsed()));
                return StepEnd::Done(outputs);
            }
            Err(error) => error,
        };
        if self.shortage.is_some() {
            return StepEnd::Again(Pause::Retry(Duration::ZERO), retry_state);
        }
        let most = step.max_postponed.limit().unwrap_or(Duration::MAX);
        let rest = self.terms.postponed.map(|before| most.saturating_sub(before));
        // A step that is not ready says when it will be.
        let asked = error.wait().filter(|_| error.exit_code() == Some(NOT_READY));
        let not_ready = rest.and(asked).map(postponement);
        if let Some(wait) = not_ready.filter(|wait| Some(*wait) <= rest) {
            self.failed(&step.label, timer, &mut error, None);
            self.uncounted = timer.elapsed();
            if let Some(retry_state) = &mut retry_state {
                retry_state.postpone(timer.elapsed(), wait);
            }
            return StepEnd::Again(Pause::Postponed(wait), retry_state);
        }
        let class = not_ready.map(|_| POSTPONED);
        self.note_wait(retrier.asked_wait(&error));
        let failure = self.failed(&step.label, timer, &mut error, class);
        let is_uncounted = || retrier.describe(&error).class.intersects(step.uncounted);
        let uncounted = rest.filter(|_| not_ready.is_none() && is_uncounted());
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
                    uncounted,
                ) {
                    NextStep::Retry { wait, state } => {
                        return StepEnd::Again(Pause::Retry(wait), Some(*state));
                    }
                    NextStep::Postpone { wait, mut state } => {
                        self.uncounted = timer.elapsed();
                        state.postpone(timer.elapsed(), wait);
                        return StepEnd::Again(Pause::Uncounted(wait), Some(*state));
                    }
                    NextStep::GiveUp(reason) => reason,
                }
            }
        };
        let mut outputs = StepOutputs::default();
        if let Some(capture) = &step.capture {
            let (value, stderr) = (error.stdout().into(), error.stderr().to_owned());
            let exit_code = error.exit_code();
            let captured = Captured { value, success: false, exit_code, stderr };
            outputs.captured.insert(capture.name.clone(), captured);
        }
        StepEnd::Failed(StepFailure::new(failure, reason, error.output()), outputs)
    }

    /// The outputs of a successful step.
    ///
    /// # Errors
    /// The output does not have the format of the `capture`, or a later step would get a secret.
    fn outputs(&self, step: &Step, written: CommandOutput) -> Result<StepOutputs, StepError> {
        let Some(capture) = &step.capture else {
            let last = Some(self.passed_output(step, &written, None)?);
            return Ok(StepOutputs { last, ..StepOutputs::default() });
        };
        let value = capture.read(&written.output).map_err(|why| {
            let (excerpt, masks) = (self.workspace.excerpt, &self.workspace.environment.masks);
            StepError::bad_output(Status::BadOutput(why), &written, excerpt, masks)
        })?;
        let last = Some(self.passed_output(step, &written, Some((&capture.name, &value)))?);
        let stderr = written.stderr;
        let captured = Captured { value, success: true, exit_code: Some(0), stderr };
        Ok(StepOutputs { last, captured: BTreeMap::from([(capture.name.clone(), captured)]) })
    }

    /// The output of a command, without secrets.
    ///
    /// # Errors
    /// There are some, and a later step would get them.
    fn passed_output(
        &self,
        step: &Step,
        written: &CommandOutput,
        captured: Option<(&String, &Value)>,
    ) -> Result<String, StepError> {
        let masks = &self.workspace.environment.masks;
        let by = match captured {
            Some((name, _)) => Some(name.as_str()),
            None => step.passes_output.then_some("last.output"),
        };
        let has_secret = masks.is_in(&written.output)
            || captured.is_some_and(|(_, value)| masks.has_secret(value));
        let Some(by) = by.filter(|_| has_secret) else {
            return Ok(masks.masked(&written.output).into_owned());
        };
        let why = format!(
            "its output contains a secret, which `${{{by}}}` would pass on: write it to a file, \
             and pass the name of the file"
        );
        let status = Status::SecretOutput(why);
        Err(StepError::bad_output(status, written, self.workspace.excerpt, masks))
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
        let ended = async {
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
                invocation.sinks = tap.sinks(self.cx, is_begun);
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
            let file = retry_after.as_ref();
            let wait = file.map_or(Ok(None), |file| retry_after::written(file.path()));
            match (ended, wait) {
                (Ok(written), wait) => {
                    Ok(CommandOutput { retry_after: wait.unwrap_or_default(), ..written })
                }
                (Err(error), Ok(wait)) => Err(error.hint(hint).retry_after(wait)),
                (Err(error), Err((place, why))) => {
                    let why = self.workspace.environment.masks.masked(&why);
                    let notice = format!("warning: {}: {why}", step.label);
                    self.workspace.notices.add(place, &notice);
                    Err(error.unreadable(&why))
                }
            }
        }
        .await;
        if let Err(error) = &ended {
            self.shortage = error.shortage().map(str::to_owned);
        }
        ended
    }

    pub(super) async fn fallback(
        &mut self,
        step: &Step,
        script: &Script,
        scope: &Scope,
    ) -> Result<StepOutputs, Failure> {
        let label = format!("{}, fallback", step.label);
        let timer = AttemptTimer::start();
        let command = Run::Shell(script.clone());
        let ended = self.run(step, &command, scope, step.timeout, 0).await;
        match ended.and_then(|written| self.outputs(step, written)) {
            Ok(outputs) => {
                self.step_times.push(StepTime::new(label, timer.elapsed()));
                Ok(outputs)
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
        let mut failure = Failure::from_error(error);
        if matches!(error.status(), Status::Payload(_)) {
            PAYLOAD.clone_into(&mut failure.class);
        }
        if let Some(class) = exit_codes::class(error) {
            let names = Class::NAMES.into_iter().filter(|(one, _)| class.contains(*one));
            failure.class = names.map(|(_, name)| name).collect::<Vec<_>>().join("+");
        }
        let masks = &self.workspace.environment.masks;
        if !masks.is_in(&failure.message) {
            return failure;
        }
        // The source of such an error is the end of its stderr, which is masked.
        Failure::new(failure.class, masks.masked(&failure.message))
    }

    pub(super) fn record(&mut self, label: &str, timer: AttemptTimer, failure: Failure) {
        self.records.push(timer.failed(failure).step(label));
    }
}
