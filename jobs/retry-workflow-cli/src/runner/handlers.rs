//! The handlers of a file: steps that decide what happens to an item that has failed.

use std::sync::Arc;
use std::time::Duration;

use crate::file::WorkflowFile;
use crate::steps::command_env::Workspace;
use crate::steps::list::AttemptTerms;
use crate::steps::step::Steps;
use crate::template::scope::{Scope, StepOutputs};
use retry_workflow::work::{Reason, WorkOutcome};
use retry_workflow::{Failure, ItemContext, ItemFailure, JobRunner, OnItemFailure};

/// Adds the file's handlers. If the last line that a handler prints is the word for a decision,
/// that decision is taken; otherwise the item becomes a dead letter, because the handler may only
/// want to be informed. `given` are the outputs of `setup`.
pub(super) fn add_handlers(
    runner: JobRunner,
    file: &WorkflowFile,
    given: &StepOutputs,
) -> JobRunner {
    // The output of handlers is not part of the attempt's record.
    let workspace = Arc::new(Workspace { tap: None, ..(*file.workspace).clone() });
    file.handlers.iter().fold(runner, |runner, (name, steps)| {
        let (steps, workspace) = (steps.clone(), Arc::clone(&workspace));
        let scope = Scope { given: given.clone(), ..Scope::default() };
        runner.handler(name, move |failed| {
            let (steps, workspace) = (steps.clone(), Arc::clone(&workspace));
            let scope = scope.clone();
            async move { handled(&steps, &workspace, scope, failed).await }
        })
    })
}

async fn handled(
    steps: &Steps,
    workspace: &Workspace,
    scope: Scope,
    failed: ItemFailure,
) -> OnItemFailure {
    let scope = Scope {
        item: serde_json::from_str(&failed.payload).ok().map(Arc::new),
        error: Some(failed.failure.to_string()),
        ..scope
    };
    match run_here(steps, workspace, &scope, &failed.context()).await {
        WorkOutcome::Succeeded(output) => decision(output.as_deref()),
        _ => OnItemFailure::Dlq,
    }
}

/// The wait after a command could not begin, because this machine lacks the resources.
const AFTER_SHORTAGE: Duration = Duration::from_secs(1);
/// The number of times in a row that a command may be unable to begin.
const MOST_SHORTAGES: u32 = 60;

/// Runs steps with all their retries, whose waits are not stored.
pub(super) async fn run_here(
    steps: &Steps,
    workspace: &Workspace,
    scope: &Scope,
    context: &ItemContext,
) -> WorkOutcome {
    let mut checkpoint = None;
    let mut shortages = 0;
    loop {
        let (scope, terms) = (scope.clone(), AttemptTerms::default());
        let ended = steps.attempted(workspace, scope, checkpoint.as_deref(), context, terms).await;
        match ended.report.outcome {
            WorkOutcome::Retry { wait, checkpoint: next } => {
                tokio::time::sleep(wait).await;
                checkpoint = Some(next);
                shortages = 0;
            }
            WorkOutcome::NotBegun { checkpoint: next, .. } if shortages < MOST_SHORTAGES => {
                tokio::time::sleep(AFTER_SHORTAGE).await;
                checkpoint = next.or(checkpoint);
                shortages += 1;
            }
            WorkOutcome::NotBegun { why, .. } => {
                let failure = Failure::new("other", why);
                return WorkOutcome::Failed { failure, reason: Reason::Attempts };
            }
            outcome => return outcome,
        }
    }
}

fn decision(output: Option<&str>) -> OnItemFailure {
    match output.and_then(|output| output.trim_end().lines().last()).map(str::trim) {
        Some("skip") => OnItemFailure::Skip,
        Some("retry") => OnItemFailure::Retry,
        Some("retry-step") => OnItemFailure::RetryStep,
        Some("stop") => OnItemFailure::Stop,
        _ => OnItemFailure::Dlq,
    }
}
