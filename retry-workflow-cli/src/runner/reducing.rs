//! [`Reducing`]: whether the `reduce` of a job has been run since its items ended; and what
//! it is told of them.

use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::template::placeholder::{MapResults, Results};
use retry_workflow::{Filter, ItemState, Job, JobReport, Store, StoreError, WorkflowError};

/// Whether the `reduce` of a job has been run since its items ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reducing {
    /// How often it was to be run so far.
    pub(super) number: u64,
    pub(super) done: bool,
}

impl Reducing {
    pub(super) fn key(job: &str) -> String {
        format!("reduce/{job}")
    }

    /// The job that this `reduce` is.
    pub(super) fn job(&self, of: &str) -> String {
        format!("{of}/reduce-{}", self.number)
    }

    pub(super) async fn find<S: Store>(store: &S, job: &str) -> Result<Option<Self>, StoreError> {
        Ok(Self::read(store, job).await?.map(|(_, reducing)| reducing))
    }

    async fn read<S: Store>(store: &S, job: &str) -> Result<Option<(u64, Self)>, StoreError> {
        let found = store.get(&Self::key(job)).await?;
        Ok(found.and_then(|(revision, text)| Some((revision, serde_json::from_str(&text).ok()?))))
    }

    /// It is to be run once the items have ended. One that was started is resumed; where
    /// items have been added or re-driven since, another one follows.
    pub(super) async fn due<S: Store>(store: &S, job: &str) -> Result<(), StoreError> {
        loop {
            // In this order: a process that ends the job meanwhile changes the revision after that.
            let (revision, mut reducing) = Self::read(store, job).await?.unwrap_or_default();
            if reducing.number > 0 {
                let has_work = store.counts(job).await?.unfinished() > 0;
                let was_begun =
                    reducing.done || Job::find(store, &reducing.job(job)).await?.is_some();
                if !(has_work && was_begun) {
                    return Ok(());
                }
            }
            reducing.number = reducing.number.saturating_add(1);
            reducing.done = false;
            if reducing.write(store, job, revision).await? {
                return Ok(());
            }
        }
    }

    /// It has been run, unless another one is to follow.
    pub(super) async fn ended<S: Store>(self, store: &S, job: &str) -> Result<(), StoreError> {
        while let Some((revision, mut found)) = Self::read(store, job).await? {
            if found.done || found.number != self.number {
                break;
            }
            found.done = true;
            if found.write(store, job, revision).await? {
                break;
            }
        }
        Ok(())
    }

    async fn write<S: Store>(
        &self,
        store: &S,
        job: &str,
        revision: u64,
    ) -> Result<bool, StoreError> {
        let text = serde_json::to_string(self).unwrap_or_default();
        store.cas(&Self::key(job), revision, &text).await
    }
}

/// Items that are read at once.
const PAGE: usize = 500;

/// What became of the items of a map. Their results go to a file, one by one.
pub(super) async fn summary<S: Store>(
    store: &S,
    report: &JobReport,
) -> Result<MapResults, WorkflowError> {
    let unwritten = |error: io::Error| {
        WorkflowError::input(format!("cannot write the results to a temporary file: {error}"))
    };
    let done = Filter::job(&report.job.id).states([ItemState::Succeeded]);
    let mut results = BufWriter::new(NamedTempFile::new().map_err(unwritten)?);
    let mut mark = "[";
    let mut after = None;
    loop {
        let page = store.list(&done, after, PAGE).await?;
        for item in page.items {
            let output = item.output.unwrap_or_default();
            // What is JSON stays what it is; any other output is a text.
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&output).is_ok();
            let json = if is_json { output } else { serde_json::Value::from(output).to_string() };
            write!(results, "{mark}{}", json.trim()).map_err(unwritten)?;
            mark = ",";
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let end = if mark == "[" { "[]" } else { "]" };
    write!(results, "{end}").map_err(unwritten)?;
    let file = results.into_inner().map_err(|error| unwritten(error.into_error()))?;
    Ok(MapResults {
        results: Results::File(Arc::new(file.into_temp_path())),
        total: report.total(),
        successful: report.succeeded(),
        failed: report.counts.failed(),
    })
}
