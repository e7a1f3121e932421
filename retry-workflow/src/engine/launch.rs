//! Runs a job, and reports on it: what all that can be run have in common.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::source::Source;
use crate::engine::work::Work;
use crate::engine::{self, Options};
use crate::job::error::WorkflowError;
use crate::job::error_policy::OnItemFailure;
use crate::job::record::Job;
use crate::job::report::JobReport;
use crate::store::Store;

/// Whether the options can be obeyed.
pub fn check(options: &Options) -> Result<(), WorkflowError> {
    options.policy.validate().map_err(WorkflowError::ErrorPolicy)?;
    if options.max_parallel == 0 {
        return Err(WorkflowError::NoParallelism);
    }
    if options.lease < Duration::from_millis(100) {
        return Err(WorkflowError::ShortLease { lease: options.lease });
    }
    if let OnItemFailure::Custom(name) = options.policy.get_on_item_failure()
        && !options.handlers.contains_key(name)
    {
        let known = options.handlers.keys().cloned().collect();
        return Err(WorkflowError::UnknownHandler { name: name.clone(), known });
    }
    Ok(())
}

/// The job of this id.
pub async fn find<S: Store>(store: &S, id: &str) -> Result<Job, WorkflowError> {
    if let Some(job) = Job::find(store, id).await? {
        return Ok(job);
    }
    let mut known: Vec<String> = Job::all(store).await?.into_iter().map(|job| job.id).collect();
    known.reverse();
    Err(WorkflowError::UnknownJob { id: id.to_owned(), known })
}

/// Runs a job, and reports on it.
pub async fn run<S: Store, W: Work>(
    store: S,
    job: Job,
    source: impl Source,
    work: W,
    options: Options,
    stop: impl Future<Output = ()> + Send,
) -> Result<JobReport, WorkflowError> {
    let id = job.id.clone();
    engine::run(store.clone(), job, source, Arc::new(work), options, stop).await?;
    match JobReport::of(&store, &id).await? {
        Some(report) => Ok(report),
        None => Err(WorkflowError::UnknownJob { id, known: Vec::new() }),
    }
}
