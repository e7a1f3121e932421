//! The steps of a job as a process last ran them, and whether they may have been edited since: what
//! has begun continues if the steps that it has finished are the first steps of the edited list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::steps::list::EditedStep;
use crate::steps::step::{Step, StepId, Steps};
use crate::template::placeholder::Captured;
use crate::template::scope::StepOutputs;
use crate::terminal::text::count;
use retry_workflow::job::WorkerRecord;
use retry_workflow::sanitize::OneLine;
use retry_workflow::{Filter, ItemRecord, ItemState, Job, Store, StoreError, work};

/// The steps of a map or a chain when a process last worked on it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedSteps {
    pub(super) steps: Vec<RecordedStep>,
    /// Items of a map that cannot continue with these steps start over.
    restarts: bool,
    /// The captured outputs of a chain, by the place of the step that they come from.
    pub(super) captured: BTreeMap<usize, BTreeMap<String, Captured>>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedStep {
    /// Its name; in a chain, that of its task.
    pub(super) name: String,
    id: StepId,
    /// A hash of everything in it.
    source: String,
}

impl RecordedStep {
    pub(super) fn new(name: String, step: &Step) -> Self {
        Self { name, id: step.id(), source: step.text.source.clone() }
    }
}

impl RecordedSteps {
    /// Reads the record of a job; an empty one if it has not begun.
    pub(super) async fn read(store: &dyn Store, job: &str) -> Result<Self, StoreError> {
        Ok(store.json(&key(job)).await?.1.unwrap_or_default())
    }

    /// The outputs that steps before this place have captured.
    pub(super) fn captured_before(&self, at: usize) -> StepOutputs {
        let captured = self.captured.range(..at).flat_map(|(_, captured)| captured.clone());
        StepOutputs { last: None, captured: captured.collect() }
    }

    /// Changes the record of a job.
    pub(super) async fn update(
        store: &dyn Store,
        job: &str,
        mut change: impl FnMut(&mut Self),
    ) -> Result<(), StoreError> {
        let change = |found: Option<Self>| {
            let mut record = found.unwrap_or_default();
            change(&mut record);
            Some(record)
        };
        store.update_json(&key(job), change).await
    }
}

/// Returns why items of a map cannot continue with these steps, if any cannot and may not start
/// over.
pub(super) async fn map_changed(
    store: &dyn Store,
    job: &Job,
    steps: &Steps,
    restarts: bool,
) -> Result<Option<String>, StoreError> {
    let before = RecordedSteps::read(store, &job.id).await?.steps;
    // All items have been checked against these steps, or have begun with them.
    if before == of_map(steps) {
        return Ok(None);
    }
    // This process may have reserved the job already.
    let is_other =
        |worker: &&WorkerRecord| worker.is_live(store.now()) && !worker.is_of_this_process();
    if !before.is_empty()
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
    items_changed(store, &begun, steps).await
}

/// Returns why these items cannot continue with these steps, if any cannot.
pub(super) async fn items_changed(
    store: &dyn Store,
    filter: &Filter,
    steps: &Steps,
) -> Result<Option<String>, StoreError> {
    let (mut first, mut number) = (None, 0_u64);
    let visit = |item: ItemRecord| {
        if let Some(edited) = edited(&item, steps) {
            number += 1;
            first.get_or_insert((item.id, edited));
        }
    };
    store.each_item(filter, visit).await?;
    Ok(first.map(|(item, edited)| {
        let others = match number - 1 {
            0 => String::new(),
            others => format!(" (and {} like it)", count(others, "item")),
        };
        refusal(&format!("item `{}` has finished {edited}{others}", OneLine(&item)))
    }))
}

/// Returns why these steps cannot continue a chain: steps that have finished were edited, or steps
/// inside the one that has begun. The others may change, because that is how they are fixed.
pub(super) async fn chain_changed(
    store: &dyn Store,
    job: &str,
    steps: &Steps,
    restarts: bool,
) -> Result<Option<String>, StoreError> {
    let mut done = Vec::new();
    let (mut within, mut removed) = (None, None);
    for (at, was) in RecordedSteps::read(store, job).await?.steps.into_iter().enumerate() {
        let Some(item) = store.item(job, &was.name).await? else { break };
        match steps.0.get(at) {
            _ if item.state == ItemState::Succeeded => done.push(was.id),
            None => removed = Some(was.name),
            Some(step) if !restarts => {
                within = within.or(changed_within(&item, &Steps(vec![step.clone()])));
            }
            Some(_) => {}
        }
    }
    let what = match (steps.begin_with(&done), removed) {
        (Ok(()), None) => return Ok(within),
        (Ok(()), Some(name)) => {
            format!("`{}` has begun, but no longer exists", OneLine(&name))
        }
        (Err(edited), _) => format!("{} has finished {edited}", OneLine(job)),
    };
    Ok(Some(format!("{what}; undo the edit, or start a new job with `run FILE`")))
}

/// Returns why a step or a task cannot continue, if its item has begun.
pub(super) fn changed_within(item: &ItemRecord, steps: &Steps) -> Option<String> {
    let edited = edited(item, steps).filter(|_| !item.state.is_final())?;
    let what = format!("`{}` has finished {edited}", OneLine(&item.id));
    Some(refusal(&what))
}

fn edited(item: &ItemRecord, steps: &Steps) -> Option<EditedStep> {
    steps.continue_from(&work::checkpoint(item)?).err()
}

fn refusal(what: &str) -> String {
    format!(
        "{what}; undo the edit, or let what cannot continue start over, finished steps included: \
         write --restart-items as well"
    )
}

/// Records these steps as the steps of a map. Returns whether items that cannot continue with them
/// start over, as they do from then on if `restarts` is set.
pub(super) async fn remember_map(
    store: &dyn Store,
    job: &str,
    steps: &Steps,
    restarts: bool,
) -> Result<bool, StoreError> {
    let mut restarts = restarts;
    RecordedSteps::update(store, job, |record| {
        let now = of_map(steps);
        restarts |= record.restarts && record.steps == now;
        (record.steps, record.restarts) = (now, restarts);
    })
    .await?;
    Ok(restarts)
}

fn of_map(steps: &Steps) -> Vec<RecordedStep> {
    steps.0.iter().map(|step| RecordedStep::new(step.label.clone(), step)).collect()
}

pub(super) fn key(job: &str) -> String {
    format!("steps/{job}")
}
