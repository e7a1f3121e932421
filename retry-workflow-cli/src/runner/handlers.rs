//! The handlers of a file: steps that decide what becomes of an item that has failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::file::WorkflowFile;
use crate::steps::command_env::Workspace;
use crate::steps::step::Steps;
use crate::template::placeholder::{Captured, Scope};
use retry_workflow::{ItemFailure, JobRunner, OnItemFailure, WorkOutcome};

/// Adds the file's handlers. The last line that one prints decides, if it is the word for it; else
/// the item is kept as a dead letter: a handler may just want to know of it.
/// `captured` is what the `setup` has captured.
pub(super) fn add_handlers<S>(
    runner: JobRunner<S>,
    file: &WorkflowFile,
    captured: &BTreeMap<String, Captured>,
) -> JobRunner<S> {
    // Their output does not belong to their item's attempt.
    let workspace = Arc::new(Workspace { tap: None, ..(*file.workspace).clone() });
    file.handlers.iter().fold(runner, |runner, (name, steps)| {
        let (steps, workspace) = (steps.clone(), Arc::clone(&workspace));
        let scope = Scope { captured: captured.clone(), ..Scope::default() };
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
    let context = failed.context();
    let mut checkpoint = None;
    loop {
        let report = steps.attempt(workspace, scope.clone(), checkpoint.as_deref(), &context).await;
        match report.outcome {
            WorkOutcome::Succeeded(output) => return decision(output.as_deref()),
            WorkOutcome::Retry { wait, checkpoint: next } => {
                tokio::time::sleep(wait).await;
                checkpoint = Some(next);
            }
            _ => return OnItemFailure::Dlq,
        }
    }
}

fn decision(output: Option<&str>) -> OnItemFailure {
    match output.and_then(|output| output.trim_end().lines().last()).map(str::trim) {
        Some("skip") => OnItemFailure::Skip,
        Some("retry") => OnItemFailure::Retry,
        Some("stop") => OnItemFailure::Stop,
        _ => OnItemFailure::Dlq,
    }
}
