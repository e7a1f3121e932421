//! [`Reducing`]: whether the `reduce` of a job has run since its items ended; and the summary of
//! the items that it gets.

use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::steps::temporary;
use crate::template::scope::MapResults;
use retry_workflow::{Filter, ItemRecord, ItemState, Job, JobReport, Store, StoreError};

/// The state of a job's `reduce`: whether it has run since the items ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reducing {
    /// The number of times it has become due.
    pub(super) number: u64,
    pub(super) done: bool,
}

impl Reducing {
    pub(super) fn key(job: &str) -> String {
        format!("reduce/{job}")
    }

    /// The id of the job of this `reduce`.
    pub(super) fn job(&self, of: &str) -> String {
        format!("{of}/reduce-{}", self.number)
    }

    pub(super) async fn find(store: &dyn Store, job: &str) -> Result<Option<Self>, StoreError> {
        Ok(store.json(&Self::key(job)).await?.1)
    }

    /// Marks `reduce` as due once the items have ended. A `reduce` that has started is resumed; if
    /// items have been added or re-driven since, another one follows.
    pub(super) async fn due(store: &dyn Store, job: &str) -> Result<(), StoreError> {
        loop {
            // Read the revision first: if a process ends the job in the meantime, the revision
            // changes and our write fails.
            let (revision, found) = store.json::<Self>(&Self::key(job)).await?;
            let mut reducing = found.unwrap_or_default();
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
            if store.cas_json(&Self::key(job), revision, &reducing).await? {
                return Ok(());
            }
        }
    }

    /// Marks `reduce` as done, unless another one is due by now.
    pub(super) async fn ended(self, store: &dyn Store, job: &str) -> Result<(), StoreError> {
        let done = |found: Option<Self>| {
            let found = found.filter(|found| !found.done && found.number == self.number);
            found.map(|found| Self { done: true, ..found })
        };
        store.update_json(&Self::key(job), done).await
    }
}

/// Summarises the items of a map. Steps that do not use the results run without a file for them.
pub(super) async fn summary(
    store: &dyn Store,
    report: &JobReport,
) -> Result<MapResults, StoreError> {
    let results = match temporary::folder().and_then(NamedTempFile::new_in) {
        Ok(file) => write_results(store, &report.job.id, file).await?,
        Err(error) => Err(error),
    };
    let results = results.map(|file| Arc::new(file.into_temp_path())).map_err(|error| {
        format!(
            "cannot write the results to a temporary file: {error}: set TMPDIR to a folder with \
             room for it"
        )
    });
    Ok(MapResults {
        results,
        total: report.total(),
        successful: report.succeeded(),
        failed: report.counts.failed(),
    })
}

/// Writes the results of the items to a file, one by one.
async fn write_results(
    store: &dyn Store,
    job: &str,
    file: NamedTempFile,
) -> Result<io::Result<NamedTempFile>, StoreError> {
    let done = Filter::job(job).states([ItemState::Succeeded]);
    let mut results = BufWriter::new(file);
    let mut mark = "[";
    let mut written = Ok(());
    let visit = |item: ItemRecord| {
        let output = item.output.unwrap_or_default();
        // Output that is JSON is kept as it is; any other output becomes a string.
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&output).is_ok();
        let json = if is_json { output } else { serde_json::Value::from(output).to_string() };
        if written.is_ok() {
            written = write!(results, "{mark}{}", json.trim());
        }
        mark = ",";
    };
    store.each_item(&done, visit).await?;
    if let Err(error) = written {
        return Ok(Err(error));
    }
    let end = if mark == "[" { "[]" } else { "]" };
    let written = write!(results, "{end}");
    Ok(written.and_then(|()| results.into_inner().map_err(io::IntoInnerError::into_error)))
}
