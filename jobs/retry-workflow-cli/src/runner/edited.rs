//! Items that have begun, and whose steps have been edited since: they continue if the steps that
//! they have finished are the first steps of the edited list.

use serde::{Deserialize, Serialize};

use super::records;
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

/// Returns why items of a map cannot continue with these steps, if any cannot and may not start
/// over.
pub(super) async fn changed(
    store: &dyn Store,
    job: &Job,
    steps: &Steps,
    restarts: bool,
) -> Result<Option<String>, StoreError> {
    let before: Option<MapSteps> = records::read(store, &key(&job.id)).await?;
    let before = before.map(|record| record.steps);
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
    let (mut first, mut number) = (None, 0_u64);
    records::each_item(store, &begun, |item| {
        if let Some(misfit) = misfit(&item, steps) {
            number += 1;
            first.get_or_insert((item.id, misfit));
        }
    })
    .await?;
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
    let mut restarts = restarts;
    records::update(store, &key(job), |before: Option<MapSteps>| {
        let mut record = MapSteps::new(steps, restarts);
        record.restarts |=
            before.is_some_and(|before| before.restarts && before.steps == record.steps);
        restarts = record.restarts;
        Some(record)
    })
    .await?;
    Ok(restarts)
}

pub(super) fn key(job: &str) -> String {
    format!("template/{job}")
}
