//! [`JobInput`]: the state of a job's input in a worker, and the comparison of its items with those
//! that the job has already.

use std::collections::HashMap;

use serde_json::Value;

use crate::item::clock::Timestamp;
use crate::item::record::{Filter, ItemRecord, ItemState};
use crate::job::error::WorkflowError;
use crate::job::record::Job;
use crate::store::{Store, StoreError};

/// The items that a source has given so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputCounts {
    pub(crate) new: u64,
    /// Items that the job had already.
    pub(crate) known: u64,
    /// Known items that had succeeded before this worker began.
    pub(crate) already_done: u64,
    /// Known items whose payload in the job differs.
    pub(crate) changed: u64,
    pub(crate) first_changed: Option<String>,
    /// Items with the id and the payload of an earlier one of the same input.
    pub(crate) repeated: u64,
}

impl InputCounts {
    pub(crate) fn add(&mut self, other: Self) {
        self.new += other.new;
        self.known += other.known;
        self.already_done += other.already_done;
        self.changed += other.changed;
        self.repeated += other.repeated;
        self.first_changed = self.first_changed.take().or(other.first_changed);
    }
}

/// The state of a job's input.
pub(crate) struct JobInput {
    /// The time at which this worker began.
    pub(crate) since: Timestamp,
    /// Set if the job had items by then.
    pub(crate) has_begun: bool,
    /// Set if the rule for the ids of its items is in the job's record.
    pub(crate) is_id_rule_known: bool,
    pub(crate) counts: InputCounts,
    /// The error of the input, if it has stopped the job.
    pub(crate) result: Result<(), WorkflowError>,
}

/// Compares items of the input with those that the job has.
pub(crate) async fn compare(
    (store, job): (&dyn Store, &str),
    given: Vec<(String, String)>,
    since: Timestamp,
    counts: &mut InputCounts,
) -> Result<(), StoreError> {
    let ids = given.iter().map(|(id, _)| id.clone());
    let of_input = Filter::job(job).ids(ids.collect::<Vec<_>>()).states(ItemState::ALL);
    let mut stored = HashMap::new();
    let visit = |item: ItemRecord| {
        let is_done = item.state == ItemState::Succeeded;
        counts.already_done += u64::from(is_done && item.ended.is_some_and(|at| at <= since));
        // An edited dead letter differs from the input on purpose.
        let has_failed = matches!(item.state, ItemState::Dead | ItemState::Skipped) || item.run > 0;
        let is_purged = item.payload.is_empty();
        if !is_purged && !has_failed {
            stored.insert(item.id, item.payload);
        }
    };
    store.each_item(&of_input, visit).await?;
    for (id, payload) in given {
        if stored.get(&id).is_some_and(|stored| !is_same(stored, &payload)) {
            counts.changed += 1;
            counts.first_changed.get_or_insert(id);
        }
    }
    Ok(())
}

/// Returns whether two texts are the same JSON: the order of a `HashMap` differs between processes.
fn is_same(one: &str, two: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == two || value(one).is_some_and(|one| Some(one) == value(two))
}

/// Records the rule by which a source gives ids to its items, and returns whether it is known.
///
/// # Errors
/// The job has items with ids by another rule, and not all of its items yet: the source would add
/// the same items again under other ids.
pub(crate) async fn check_id_rule(
    store: &dyn Store,
    job: &Job,
    rule: Option<String>,
) -> Result<bool, WorkflowError> {
    let Some(rule) = rule.filter(|_| !job.input_complete) else {
        return Ok(job.input_complete);
    };
    if job.id_rule.as_ref() != Some(&rule) {
        let recorded = |job: &mut Job| job.id_rule.get_or_insert_with(|| rule.clone()).clone();
        let before = Job::update(store, &job.id, recorded).await?;
        if let Some(before) = before.filter(|before| *before != rule) {
            return Err(WorkflowError::OtherIds { job: job.id.clone(), before, now: rule });
        }
    }
    Ok(true)
}
