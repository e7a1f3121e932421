//! One job: its state, what it is waiting for, its recent progress, why items failed, and its tasks.

use std::collections::BTreeMap;

use retry_workflow::job::{BreakerRecord, Dependencies, PendingRequest, Unit, Waits};
use retry_workflow::store::NEWEST_FAILURES;
use retry_workflow::{Filter, ItemRecord, ItemState, Job, Store, StoreError, Timestamp};
use serde::Serialize;

use super::bounded;
use super::jobs::JobLine;
use super::letters::{GroupLine, of_newest};
use super::samples::{Sample, Samples};

/// The data of a job's page.
#[derive(Debug, Serialize)]
pub(crate) struct JobPage {
    #[serde(flatten)]
    pub(crate) job: JobLine,
    #[serde(flatten)]
    pub(crate) waits: Waits,
    /// The waits of the job, in words.
    pub(crate) waiting: Vec<Wait>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) breaker: Option<BreakerRecord>,
    /// The pending request to its workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requested: Option<PendingRequest>,
    /// Its counts while it is watched, the oldest first.
    #[serde(skip)]
    pub(crate) samples: Vec<Sample>,
    /// Its failures, the largest group first.
    pub(crate) groups: Vec<GroupLine>,
    /// Set if only its newest failures are grouped: their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) groups_of_newest: Option<usize>,
    /// The number of groups that are not shown.
    pub(crate) more_groups: usize,
    /// Its tasks, if it is a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tasks: Option<Tasks>,
    pub(crate) now: Timestamp,
}

/// Something that a job is waiting for.
#[derive(Debug, Serialize)]
pub(crate) struct Wait {
    pub(crate) what: &'static str,
    pub(crate) text: String,
}

/// The tasks of a graph.
#[derive(Debug, Serialize)]
pub(crate) struct Tasks {
    pub(crate) tasks: Vec<TaskLine>,
    /// The number of tasks that are not shown.
    pub(crate) left_out: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct TaskLine {
    pub(crate) name: String,
    pub(crate) needs: Vec<String>,
    /// `None` if its dependencies have not ended.
    pub(crate) state: Option<ItemState>,
    /// The tasks whose failure is the reason that it was skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) culprits: Vec<String>,
}

/// The number of groups shown.
const GROUPS: usize = 10;
/// The number of tasks shown.
const TASKS: usize = 200;

impl JobPage {
    /// Loads the page; `None` if the job does not exist.
    pub(crate) async fn load(
        store: &dyn Store,
        samples: &Samples,
        id: &str,
    ) -> Result<Option<Self>, StoreError> {
        let Some(job) = Job::find(store, id).await? else { return Ok(None) };
        let now = store.now();
        let counts = store.counts(id).await?;
        let waits = Waits::load(store, &job, &counts).await?;
        let tasks = Tasks::load(store, id).await?;
        let unit = if tasks.is_some() { Unit::Task } else { Unit::Item };
        let waiting = waits.lines(&counts, unit, now);
        let failed = Filter::job(id).states([ItemState::Dead, ItemState::Skipped]);
        let groups = match counts.failed() {
            0 => Vec::new(),
            _ => store.stats(&failed, Some(NEWEST_FAILURES)).await?,
        };
        let samples = samples.add(id, &counts, now);
        Ok(Some(Self {
            requested: job.requested(now),
            job: JobLine::new(&job, counts, &samples, now),
            waits,
            waiting: waiting.into_iter().map(|(what, text)| Wait { what, text }).collect(),
            breaker: BreakerRecord::find(store, id).await?,
            samples,
            groups_of_newest: of_newest(counts.failed()),
            more_groups: groups.len().saturating_sub(GROUPS),
            groups: groups.iter().take(GROUPS).map(GroupLine::new).collect(),
            tasks,
            now,
        }))
    }

    /// Returns whether items have ended while the job was watched.
    pub(crate) fn has_progress(&self) -> bool {
        self.samples.first().zip(self.samples.last()).is_some_and(|(first, last)| {
            (first.succeeded, first.failed) != (last.succeeded, last.failed)
        })
    }

    pub(crate) fn unit(&self) -> Unit {
        if self.tasks.is_some() { Unit::Task } else { Unit::Item }
    }

    /// Returns whether items wait for their next attempt, and nothing is due before.
    pub(crate) fn has_waiting_items(&self) -> bool {
        self.job.counts.pending > 0 && self.waits.next_due.is_some_and(|due| due > self.now)
    }
}

impl Tasks {
    async fn load(store: &dyn Store, job: &str) -> Result<Option<Self>, StoreError> {
        let Some(mut tasks) = Dependencies::find(store, job).await? else { return Ok(None) };
        let left_out = tasks.len().saturating_sub(TASKS);
        tasks.truncate(TASKS);
        let mut found = BTreeMap::new();
        let names: Vec<_> = tasks.iter().map(|(name, _)| name.clone()).collect();
        let these = Filter::job(job).ids(names).states(ItemState::ALL);
        let visit = |item: ItemRecord| {
            let culprits = item.failure.map(|failure| failure.culprits).unwrap_or_default();
            found.insert(item.id, (item.state, culprits));
        };
        store.each_item(&these, visit).await?;
        let line = |(name, needs): (String, Vec<String>)| {
            let (state, culprits) =
                found.remove(&name).map_or((None, Vec::new()), |(state, by)| (Some(state), by));
            TaskLine {
                name: bounded::id(&name),
                needs: needs.iter().take(50).map(|need| bounded::id(need)).collect(),
                state,
                culprits: culprits.iter().take(50).map(|task| bounded::id(task)).collect(),
            }
        };
        Ok(Some(Self { tasks: tasks.into_iter().map(line).collect(), left_out }))
    }
}
