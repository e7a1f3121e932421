//! `on_finish`: steps that run once a job has ended or stopped, with its report in a file.

use serde_json::{Value, json};

use super::{Reports, handlers};
use crate::file::WorkflowFile;
use crate::steps::command_env::{ValueFile, Workspace};
use crate::template::placeholder::Scope;
use crate::terminal::text::argument;
use retry_workflow::job::Unit;
use retry_workflow::work::WorkOutcome;
use retry_workflow::{ItemContext, JobReport, JobStatus, StopReason, Store, StoreError};

/// The variable with the path of the report.
const REPORT_FILE: &str = "RETRY_WORKFLOW_REPORT_FILE";
/// How many groups of dead letters the report names.
const GROUPS: usize = 3;

/// Runs the steps of `on_finish`, if there are any, and this process is the last one that worked on
/// the job; returns what went wrong. `flag` names the store on the command line.
pub(super) async fn finish(
    store: &dyn Store,
    file: &WorkflowFile,
    reports: &Reports,
    flag: &str,
) -> Result<Option<String>, StoreError> {
    let Some(steps) = &file.on_finish else { return Ok(None) };
    let (ended, job) = (reports.ended(), &reports.job.job);
    if !ended.job.is_last_to_leave(store, &job.id).await? {
        return Ok(None);
    }
    let text = told(reports, flag).to_string();
    let report = match ValueFile::new(REPORT_FILE, &text) {
        Ok(report) => report,
        Err(error) => return Ok(Some(error.to_string())),
    };
    // What they print is not output of an item.
    let mut workspace = Workspace { tap: None, ..(*file.workspace).clone() };
    let variable = (REPORT_FILE.to_owned(), report.path().into());
    workspace.environment.variables.push(variable);
    let context = ItemContext::new(job.id.as_str(), "on_finish", "on_finish");
    let outcome = handlers::run_here(steps, &workspace, &Scope::default(), &context).await;
    Ok(match outcome {
        WorkOutcome::Failed { failure, .. } => Some(failure.to_string()),
        _ => None,
    })
}

/// The report, as the steps get it.
fn told(reports: &Reports, flag: &str) -> Value {
    let (report, ended) = (&reports.job, reports.ended());
    let id = argument(&report.job.id);
    let reason = match &ended.job.status {
        JobStatus::Stopped { reason } => Some(reason.to_string()),
        _ => None,
    };
    let next = match report.unit() {
        _ if matches!(ended.job.status, JobStatus::Stopped { reason: StopReason::Cancelled }) => {
            None
        }
        _ if reason.is_some() => Some(format!("retry-workflow{flag} resume {id}")),
        _ if report.dead() == 0 => None,
        Unit::Item => Some(format!("retry-workflow{flag} dlq stats {id}")),
        _ => Some(format!("retry-workflow{flag} dlq list {id}")),
    };
    // If no item has failed, what failed is a step of `setup` or `reduce`.
    let failed = if report.groups.is_empty() { ended } else { report };
    let groups = failed.groups.iter().take(GROUPS).map(|group| {
        let mut told = json!(group);
        told["advice"] = json!(group.advice());
        told
    });
    json!({
        "job": report.job.id,
        "name": report.job.name,
        "status": ended.job.status.as_str(),
        "reason": reason,
        "counts": report.counts,
        "elapsed": report.elapsed.as_secs_f64(),
        "groups": groups.collect::<Vec<_>>(),
        "next": next,
        "text": reports.printed().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    })
}

impl Reports {
    /// The report that says how it ended: of the part that came last.
    fn ended(&self) -> &JobReport {
        let Self { job, setup, reduce, .. } = self;
        setup.as_ref().or(reduce.as_ref()).unwrap_or(job)
    }

    /// What is printed of them.
    pub(crate) fn printed(&self) -> impl Iterator<Item = &JobReport> {
        let Self { job, setup, reduce, .. } = self;
        let reduce = reduce.as_ref().filter(|reduce| !reduce.is_success());
        std::iter::once(setup.as_ref().unwrap_or(job)).chain(reduce)
    }
}
