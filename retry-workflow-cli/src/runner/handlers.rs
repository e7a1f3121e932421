//! The handlers of a file: steps that decide what becomes of an item that has failed.

use std::sync::Arc;

use crate::file::WorkflowFile;
use crate::steps::command_env::Setting;
use crate::steps::list::Steps;
use crate::template::placeholder::Scope;
use retry_workflow::bridge::End;
use retry_workflow::bridge::{Handler, Handlers};
use retry_workflow::{ItemContext, ItemFailure, OnItemFailure};

/// The file's handlers. The last line that one prints decides, if it is the word for it; else the
/// item is kept as a dead letter: a handler may just want to know of it.
pub(super) fn handlers(file: &WorkflowFile) -> Handlers {
    let handlers = file.handlers.iter().map(|(name, steps)| {
        let (steps, setting) = (steps.clone(), Arc::clone(&file.setting));
        let handler: Handler = Arc::new(move |failed| {
            let (steps, setting) = (steps.clone(), Arc::clone(&setting));
            Box::pin(async move { handled(&steps, &setting, failed).await })
        });
        (name.clone(), handler)
    });
    handlers.collect()
}

async fn handled(steps: &Steps, setting: &Setting, failed: ItemFailure) -> OnItemFailure {
    let scope = Scope {
        item: serde_json::from_str(&failed.payload).ok().map(Arc::new),
        error: Some(failed.failure.to_string()),
        ..Scope::default()
    };
    let cx = ItemContext {
        job: Arc::clone(&failed.job),
        id: failed.item.clone(),
        correlation: failed.correlation.clone(),
        run: failed.run,
        attempt: failed.attempt,
        worker: Arc::from("handler"),
        retries: 0,
    };
    let mut progress = None;
    loop {
        let ended = steps.attempt(setting, scope.clone(), progress.as_deref(), &cx).await;
        match ended.end {
            End::Succeeded(output) => return decision(output.as_deref()),
            End::Again { wait, progress: next } => {
                tokio::time::sleep(wait).await;
                progress = Some(next);
            }
            End::Skipped(_) | End::NotYet { .. } | End::Failed { .. } => return OnItemFailure::Dlq,
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
