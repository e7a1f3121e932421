//! `on_finish`: steps that run once a job has ended or stopped, with its report in a file.

use std::cell::Cell;

use serde_json::{Value, json};

use super::{FileRun, Reports, handlers};
use crate::file::WorkflowFile;
use crate::steps::command_env::{ValueFile, Workspace};
use crate::steps::step::Steps;
use crate::template::scope::Scope;
use crate::terminal::text::argument;
use retry_workflow::job::{Unit, WorkerRecord};
use retry_workflow::words::in_a_while;
use retry_workflow::work::WorkOutcome;
use retry_workflow::{ItemContext, Job, JobReport, JobStatus, StopReason, Store, StoreError};

/// The variable with the path of the report.
const REPORT_FILE: &str = "RETRY_WORKFLOW_REPORT_FILE";
/// The variable with the key of the end: the same if the steps run again after the same end.
const FINISH: &str = "RETRY_WORKFLOW_FINISH";
/// The number of groups of dead letters that the report names.
const GROUPS: usize = 3;

/// Records that steps follow the end of the job, if the file has some.
pub(super) async fn expect(
    store: &dyn Store,
    file: &WorkflowFile,
    job: &str,
) -> Result<(), StoreError> {
    match file.on_finish {
        Some(_) => Job::expect_finish(store, job).await,
        None => Ok(()),
    }
}

/// Returns whether a job has ended, and the steps of `on_finish` have not run to their end after
/// that.
pub(crate) async fn is_due(store: &dyn Store, job: &Job) -> Result<bool, StoreError> {
    last_part(store, job).await?.is_finish_due(store, &job.id).await
}

/// The part of a finished job that ended last.
async fn last_part(store: &dyn Store, job: &Job) -> Result<Job, StoreError> {
    Ok(super::find_reduce(store, &job.id).await?.unwrap_or_else(|| job.clone()))
}

/// Runs the steps of `on_finish`, if there are any, and this process is the last one that worked on
/// the job; returns what went wrong.
pub(super) async fn finish(run: FileRun<'_>, mut reports: Reports) -> Result<Reports, StoreError> {
    let FileRun { file, settings, .. } = run;
    let store = &**run.store;
    let job = reports.job.job.clone();
    let part = match &reports.setup {
        Some(setup) => setup.job.clone(),
        None => last_part(store, &job).await?,
    };
    let Some(steps) = &file.on_finish else {
        // They have been removed from the file.
        if part.is_finish_due(store, &job.id).await? {
            part.finish(store, &job.id, |_| {}, |_| async { Some(()) }).await?;
        }
        return Ok(reports);
    };
    if reports.ended().job.id != part.id
        && let Some(loaded) = Reports::load(store, file, &job.id).await?
    {
        // Another process has run `reduce` meanwhile.
        reports = loaded;
    }
    let text = report_json(&reports, &settings.flag).to_string();
    let waits_for = |worker: &WorkerRecord| {
        (settings.notify)(&format!(
            "on_finish waits until process {} has left the job, or is known to be dead: {} at the \
             latest",
            worker.process,
            in_a_while(worker.until, store.now())
        ));
    };
    let is_interrupted = Cell::new(false);
    let run = async |key| {
        let outcome = run_steps(file, steps, &job.id, text, key).await;
        is_interrupted.set(outcome.is_none());
        outcome
    };
    let outcome = part.finish(store, &job.id, waits_for, run).await?;
    reports.unfinished = outcome.and_then(Result::err);
    if is_interrupted.get() {
        let (flag, id) = (&settings.flag, argument(&job.id));
        reports.unfinished =
            Some(format!("it was interrupted; to run it again: retry-workflow{flag} resume {id}"));
    }
    Ok(reports)
}

/// Runs the steps; `None` if they were interrupted.
async fn run_steps(
    file: &WorkflowFile,
    steps: &Steps,
    job: &str,
    report: String,
    key: String,
) -> Option<Result<(), String>> {
    let report = match ValueFile::new(REPORT_FILE, &report) {
        Ok(report) => report,
        Err(error) => return Some(Err(error.to_string())),
    };
    // Their output does not belong to an item.
    let mut workspace = Workspace { tap: None, ..(*file.workspace).clone() };
    workspace
        .environment
        .variables
        .extend([(REPORT_FILE.to_owned(), report.path().into()), (FINISH.to_owned(), key.into())]);
    let context = ItemContext::new(job, "on_finish", "on_finish");
    match handlers::run_here(steps, &workspace, &Scope::default(), &context).await {
        WorkOutcome::Failed { failure, .. } => Some(Err(failure.to_string())),
        WorkOutcome::Released => None,
        _ => Some(Ok(())),
    }
}

/// The report, as the steps get it.
fn report_json(reports: &Reports, flag: &str) -> Value {
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
        let mut object = json!(group);
        object["advice"] = json!(group.advice());
        object
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
    pub(super) fn ended(&self) -> &JobReport {
        let Self { job, setup, reduce, .. } = self;
        setup.as_ref().or(reduce.as_ref()).unwrap_or(job)
    }

    /// Returns the reports to print.
    pub(crate) fn printed(&self) -> impl Iterator<Item = &JobReport> {
        let Self { job, setup, reduce, .. } = self;
        let reduce = reduce.as_ref().filter(|reduce| !reduce.is_success());
        std::iter::once(setup.as_ref().unwrap_or(job)).chain(reduce)
    }
}
