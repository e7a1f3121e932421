//! Items that have begun, and whose steps have been edited since: they continue if the steps that
//! they have finished are the first steps of the edited list.

use serde::{Deserialize, Serialize};

use crate::steps::list::Misfit;
use crate::steps::step::{StepId, Steps};
use crate::terminal::text::count;
use retry_workflow::job::WorkerRecord;
use retry_workflow::sanitize::OneLine;
use retry_workflow::{Filter, ItemRecord, ItemState, Job, Store, StoreError, work};

/// The steps of a map when a process last worked on it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MapSteps {
    steps: Vec<RecordedStep>,
    /// Items that cannot continue with these steps start over.
    #[serde(default)]
    restarts: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedStep {
    id: StepId,
    /// A hash of everything in it.
    source: String,
    /// The text that it runs.
    text: String,
}

impl MapSteps {
    fn new(steps: &Steps, restarts: bool) -> Self {
        let steps = steps.0.iter().map(|step| RecordedStep {
            id: step.id(),
            source: step.text.source.clone(),
            text: step.run.written(),
        });
        Self { steps: steps.collect(), restarts }
    }
}

/// The number of items that are read at a time.
const PAGE: usize = 500;

/// Returns why items of a map cannot continue with these steps, if any cannot and may not start
/// over.
pub(super) async fn changed(
    store: &dyn Store,
    job: &Job,
    steps: &Steps,
    restarts: bool,
) -> Result<Option<String>, StoreError> {
    let before = read(store, &job.id).await?.map(|(_, record)| record.steps);
    // All items have been checked against these steps, or have begun with them.
    if before.as_ref() == Some(&MapSteps::new(steps, false).steps) {
        return Ok(None);
    }
    // This process may have reserved the job already.
    let is_other =
        |worker: &&WorkerRecord| worker.is_live(store.now()) && !worker.is_of_this_process();
    if before.is_some()
        && let Some(worker) = job.workers.iter().find(is_other)
    {
        return Ok(Some(format!(
            "{} is running with the steps as they were before an edit, in process {}: wait until \
             that process has ended, or undo the edit",
            OneLine(&job.id),
            worker.process
        )));
    }
    if restarts {
        return Ok(None);
    }
    let begun = Filter::job(&job.id).states([ItemState::Pending, ItemState::Leased]);
    let mut after = None;
    let mut first = None;
    let mut number = 0_u64;
    loop {
        let page = store.list(&begun, after, PAGE).await?;
        for item in &page.items {
            if let Some(misfit) = misfit(item, steps) {
                number += 1;
                first.get_or_insert_with(|| (item.id.clone(), misfit));
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(first.map(|(item, misfit)| {
        let before = before.unwrap_or_default();
        let was = before.iter().find(|step| step.id == misfit.was);
        let what = misfit.described(was.map(|step| step.text.as_str()));
        let others = match number - 1 {
            0 => String::new(),
            others => format!(" (and {} like it)", count(others, "item")),
        };
        refusal(&format!("item `{}` has finished {what}{others}", OneLine(&item)), &job.id)
    }))
}

/// Returns why a step or a task cannot continue, if its item has begun.
pub(super) fn changed_within(item: &ItemRecord, steps: &Steps) -> Option<String> {
    let misfit = misfit(item, steps)?;
    let what = format!("`{}` has finished {misfit}", OneLine(&item.id));
    Some(refusal(&what, &item.job))
}

fn misfit(item: &ItemRecord, steps: &Steps) -> Option<Misfit> {
    let checkpoint = work::checkpoint(item).filter(|_| !item.state.is_final())?;
    steps.fit(&checkpoint).err()
}

fn refusal(what: &str, job: &str) -> String {
    let job = OneLine(job);
    format!(
        "{what}; undo the edit, or let what cannot continue start over, finished steps included: \
         resume {job} with --restart-items"
    )
}

/// Records these steps as the steps of the job. Returns whether items that cannot continue with
/// them start over, as they do from then on if `restarts` is set.
pub(super) async fn remember(
    store: &dyn Store,
    job: &str,
    steps: &Steps,
    restarts: bool,
) -> Result<bool, StoreError> {
    loop {
        let (revision, before) = read(store, job).await?.unzip();
        let mut record = MapSteps::new(steps, restarts);
        if let Some(before) = &before {
            record.restarts |= before.restarts && before.steps == record.steps;
            if *before == record {
                return Ok(record.restarts);
            }
        }
        let text = serde_json::to_string(&record).unwrap_or_default();
        if store.cas(&key(job), revision.unwrap_or(0), &text).await? {
            return Ok(record.restarts);
        }
    }
}

pub(super) fn key(job: &str) -> String {
    format!("template/{job}")
}

async fn read(store: &dyn Store, job: &str) -> Result<Option<(u64, MapSteps)>, StoreError> {
    let found = store.get(&key(job)).await?;
    Ok(found.and_then(|(revision, text)| Some((revision, serde_json::from_str(&text).ok()?))))
}
