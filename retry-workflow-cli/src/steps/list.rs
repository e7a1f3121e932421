//! [`Steps`]: a list of commands as one attempt after another runs it, from where
//! the last one stopped. Items, whole workflows, tasks and handlers are all such lists.

use std::sync::Arc;
use std::time::Duration;

use retry_runtime::{Policy, Reason, Retrier, RetryConfig};
use serde::{Deserialize, Serialize};

use crate::steps::command_env::{PreparedCommand, Run, Workspace, item_variables};
use crate::steps::process::StepError;
use crate::template::placeholder::{Placeholder, Scope};
use crate::template::shell::Script;
use retry_workflow::{
    AttemptReport, AttemptTimer, Failure, ItemContext, NextStep, RetryState, StepRecord, Work,
    WorkItem, WorkOutcome,
};

/// Steps in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(pub(crate) Vec<Step>);

/// A command, and what comes after its failure.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What a history calls it: its name, or its number.
    pub(crate) label: String,
    pub(crate) run: Run,
    retrier: Retrier,
    /// Whether it has a policy; else it is tried once.
    is_retried: bool,
    /// Of one run of the command; with that of the policy, the smaller one.
    pub(crate) timeout: Option<Duration>,
    pub(crate) after_failure: AfterFailure,
}

/// What comes after a step has failed for good.
#[derive(Clone, Debug, Default)]
pub(crate) enum AfterFailure {
    #[default]
    Stop,
    Continue,
    Fallback(Script),
    /// These steps, and then the end.
    Handle(Steps),
}

/// Where a list has stopped, to go on from there.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Checkpoint {
    step: usize,
    /// What the step before has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// The call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<RetryState>,
    /// The step has failed for good, and its handler runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handling: Option<Box<Handling>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Handling {
    failure: Failure,
    reason: String,
    checkpoint: Checkpoint,
}

/// How a list has ended, for now.
enum ListEnd {
    Done(Option<String>),
    Again(Duration, Checkpoint),
    Failed(Failure, Reason),
}

/// One attempt, and what it is to write down.
struct Attempt<'a> {
    workspace: &'a Workspace,
    cx: &'a ItemContext,
    records: Vec<StepRecord>,
}

impl Steps {
    /// What the steps refer to, those of handlers included.
    pub(crate) fn placeholders(&self) -> Vec<&Placeholder> {
        let mut all = Vec::new();
        for step in &self.0 {
            all.extend(step.run.placeholders());
            match &step.after_failure {
                AfterFailure::Fallback(script) => all.extend(&script.values),
                AfterFailure::Handle(steps) => all.extend(steps.placeholders()),
                AfterFailure::Stop | AfterFailure::Continue => {}
            }
        }
        all
    }

    /// Makes one attempt: the steps in their order, from where `checkpoint` says that the last
    /// attempt has stopped.
    pub(crate) async fn attempt(
        &self,
        workspace: &Workspace,
        scope: Scope,
        checkpoint: Option<&str>,
        cx: &ItemContext,
    ) -> AttemptReport {
        let timer = AttemptTimer::start();
        let checkpoint = match checkpoint.map(serde_json::from_str).transpose() {
            Ok(checkpoint) => checkpoint.unwrap_or_default(),
            Err(error) => {
                let why = format!("what the last attempt has left cannot be read: {error}");
                let failure = Failure::new("payload", why);
                return AttemptReport::failed(timer, failure, Reason::NotRetryable);
            }
        };
        let mut attempt = Attempt { workspace, cx, records: Vec::new() };
        let outcome = match attempt.list(self, scope, checkpoint).await {
            ListEnd::Done(output) => {
                attempt.records.push(timer.succeeded());
                WorkOutcome::Succeeded(output)
            }
            ListEnd::Again(wait, checkpoint) => match serde_json::to_string(&checkpoint) {
                Ok(checkpoint) => WorkOutcome::Retry { wait, checkpoint },
                Err(error) => WorkOutcome::Failed {
                    failure: Failure::new("other", format!("cannot be kept: {error}")),
                    reason: Reason::NotRetryable,
                },
            },
            ListEnd::Failed(failure, reason) => WorkOutcome::Failed { failure, reason },
        };
        attempt.records.into_iter().fold(AttemptReport::new(outcome), AttemptReport::record)
    }
}

impl Attempt<'_> {
    async fn list(
        &mut self,
        steps: &Steps,
        mut scope: Scope,
        mut checkpoint: Checkpoint,
    ) -> ListEnd {
        if checkpoint.last.is_some() {
            scope.last = checkpoint.last.take();
        }
        while let Some(step) = steps.0.get(checkpoint.step) {
            let ended = match checkpoint.handling.take() {
                Some(handling) => Err((
                    handling.failure,
                    parse_reason(&handling.reason),
                    Some(handling.checkpoint),
                )),
                None => match self.step(step, &scope, checkpoint.kept.take()).await {
                    StepEnd::Done(output) => Ok(output),
                    StepEnd::Again(wait, kept) => {
                        let kept = Some(kept);
                        return ListEnd::Again(
                            wait,
                            Checkpoint { last: scope.last, kept, ..checkpoint },
                        );
                    }
                    StepEnd::Failed(failure, reason) => Err((failure, reason, None)),
                },
            };
            match ended {
                Ok(output) => scope.last = Some(output),
                Err((failure, reason, handling)) => {
                    let error = Some(failure.to_string());
                    let inner = Scope { error, ..scope.clone() };
                    match &step.after_failure {
                        AfterFailure::Stop => return ListEnd::Failed(failure, reason),
                        AfterFailure::Continue => scope.last = Some(String::new()),
                        AfterFailure::Fallback(script) => {
                            match self.fallback(step, script, &inner).await {
                                Ok(output) => scope.last = Some(output),
                                Err(mut second) => {
                                    second.chain.push(failure.message);
                                    return ListEnd::Failed(second, reason);
                                }
                            }
                        }
                        AfterFailure::Handle(handler) => {
                            let from = handling.unwrap_or_default();
                            let run = Box::pin(self.list(handler, inner, from));
                            if let ListEnd::Again(wait, inner) = run.await {
                                let reason = reason.as_str().to_owned();
                                let handling = Handling { failure, reason, checkpoint: inner };
                                let handling = Some(Box::new(handling));
                                let last = scope.last;
                                return ListEnd::Again(
                                    wait,
                                    Checkpoint { last, handling, ..checkpoint },
                                );
                            }
                            return ListEnd::Failed(failure, reason);
                        }
                    }
                }
            }
            checkpoint.step += 1;
        }
        ListEnd::Done(scope.last)
    }

    async fn step(&mut self, step: &Step, scope: &Scope, kept: Option<RetryState>) -> StepEnd {
        let retrier = &step.retrier;
        if let Some(kept) = &kept
            && let Some(reason) = kept.expired_by(retrier.policy(), self.cx.worker())
        {
            let failure = kept.failure().clone();
            self.record(&step.label, AttemptTimer::start(), failure.clone());
            return StepEnd::Failed(failure, reason);
        }
        let timer = AttemptTimer::start();
        let so_far = kept.as_ref().map_or(0, RetryState::attempts);
        let error = match self.run(&step.run, scope, step.limit(), so_far).await {
            Ok(output) => {
                if let Some(kept) = kept {
                    kept.succeeded(retrier);
                }
                return StepEnd::Done(output);
            }
            Err(error) => error,
        };
        let failure = Failure::from_error(&error);
        self.record(&step.label, timer, failure.clone());
        match RetryState::decide(kept, retrier, self.cx.worker(), Ok(&error), &failure) {
            NextStep::Retry { wait, state } => StepEnd::Again(wait, *state),
            NextStep::GiveUp(reason) => StepEnd::Failed(failure, reason),
        }
    }

    /// Runs a command that has been retried so often.
    async fn run(
        &self,
        command: &Run,
        scope: &Scope,
        limit: Option<Duration>,
        retries: u32,
    ) -> Result<String, StepError> {
        let PreparedCommand { mut invocation, files } = command.prepare(self.workspace, scope)?;
        invocation.timeout = limit;
        invocation.variables.extend(item_variables(self.cx, retries));
        let ended = invocation.run().await;
        // They live as long as the command runs.
        drop(files);
        ended
    }

    async fn fallback(
        &mut self,
        step: &Step,
        script: &Script,
        scope: &Scope,
    ) -> Result<String, Failure> {
        let timer = AttemptTimer::start();
        let command = Run::Shell(script.clone());
        let error = match self.run(&command, scope, step.timeout, 0).await {
            Ok(output) => return Ok(output),
            Err(error) => error,
        };
        let failure = Failure::from_error(&error);
        self.record(&format!("{}, fallback", step.label), timer, failure.clone());
        Err(failure)
    }

    fn record(&mut self, label: &str, timer: AttemptTimer, failure: Failure) {
        self.records.push(timer.failed(failure).step(label));
    }
}

enum StepEnd {
    Done(String),
    Again(Duration, RetryState),
    Failed(Failure, Reason),
}

impl Step {
    pub(crate) fn new(
        label: String,
        run: Run,
        timeout: Option<Duration>,
        after_failure: AfterFailure,
    ) -> Self {
        let once = Policy::new().attempts(1).into();
        let retrier = retrier(&label, &once);
        Self { label, run, retrier, is_retried: false, timeout, after_failure }
    }

    /// Sets how it is retried.
    pub(crate) fn retry(mut self, retry: &RetryConfig) -> Self {
        self.retrier = retrier(&self.label, retry);
        self.is_retried = true;
        self
    }

    /// How it is retried, if it is.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.is_retried.then(|| self.retrier.policy())
    }

    fn limit(&self) -> Option<Duration> {
        self.timeout.into_iter().chain(self.retrier.policy().get_timeout()).min()
    }
}

/// A retrier by the name of its step.
fn retrier(label: &str, config: &RetryConfig) -> Retrier {
    Retrier::from_config(config).name(label.to_owned())
}

fn parse_reason(word: &str) -> Reason {
    Reason::ALL.iter().copied().find(|reason| reason.as_str() == word).unwrap_or(Reason::Attempts)
}

/// The steps of `map`, done with each item.
#[derive(Debug)]
pub(crate) struct ItemSteps {
    pub(crate) steps: Steps,
    pub(crate) workspace: Arc<Workspace>,
}

impl Work for ItemSteps {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let payload = match serde_json::from_str(item.payload) {
            Ok(payload) => Some(Arc::new(payload)),
            Err(error) => {
                let failure = Failure::new("payload", format!("the item is no JSON: {error}"));
                return AttemptReport::failed(AttemptTimer::start(), failure, Reason::NotRetryable);
            }
        };
        let scope = Scope { item: payload, ..Scope::default() };
        self.steps.attempt(&self.workspace, scope, item.checkpoint.as_deref(), &item.context).await
    }
}

#[cfg(all(test, unix))]
mod tests;
