//! [`GraphSource`]: adds a task to the store once everything that it needs has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::source::Source;
use crate::item::failure::CANCELLED;
use crate::item::record::{Filter, ItemRecord, ItemState, NewItem};
use crate::job::dependencies::Dependencies;
use crate::job::error::WorkflowError;
use crate::store::{Alteration, Store, StoreError, StoreFuture};

/// The shortest time between two checks of the states.
const LOOK_AT_MOST: Duration = Duration::from_secs(1);
/// The longest time between two checks, even if the store reports no change.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);

/// The tasks that are ready to be added.
pub(super) struct GraphSource {
    store: Arc<dyn Store>,
    job: String,
    dependencies: Arc<Dependencies>,
    /// The states of the tasks that the store has, but for those to run after all.
    states: BTreeMap<String, ItemState>,
    /// The unmet needs of each task. They are counted as states change, so that a task costs as
    /// much in a graph of thousands as in a small one.
    needs: BTreeMap<String, NeedCounts>,
    /// The tasks without a state.
    absent: BTreeSet<String>,
    /// Those of them whose needs have all ended.
    ready: BTreeSet<String>,
    /// Those of them that were skipped, and can run after all.
    rerun: BTreeSet<String>,
    /// The time at which the states were last checked.
    checked_at: Instant,
    /// The time of the next check. Kept here, as is `change`, because the future that waits for
    /// them is dropped and recreated with every other event.
    check_at: Instant,
    /// Resolves when the store reports a change.
    change: StoreFuture<'static, u64>,
}

/// The counts of a task's direct needs by state.
struct NeedCounts {
    all: usize,
    ended: usize,
    /// Dead or skipped.
    lost: usize,
}

impl GraphSource {
    /// With `redrives_dead`, tasks that are dead letters start over.
    pub(super) async fn new(
        store: Arc<dyn Store>,
        job: &str,
        dependencies: Arc<Dependencies>,
        redrives_dead: bool,
    ) -> Result<Self, StoreError> {
        if redrives_dead {
            let begin = Alteration::redrive(Duration::ZERO);
            store.alter(&Filter::job(job), begin, usize::MAX, store.now()).await?;
        }
        let now = Instant::now();
        let mut source = Self {
            change: change(&store, job, 0),
            store,
            job: job.to_owned(),
            states: BTreeMap::new(),
            needs: BTreeMap::new(),
            absent: BTreeSet::new(),
            ready: BTreeSet::new(),
            rerun: BTreeSet::new(),
            dependencies: Arc::clone(&dependencies),
            checked_at: now,
            // Again soon, once changes are being reported.
            check_at: now + LOOK_AT_MOST,
        };
        for task in dependencies.tasks() {
            let needs = NeedCounts { all: dependencies.needs(task).count(), ended: 0, lost: 0 };
            source.needs.insert(task.to_owned(), needs);
            source.set(task, None);
        }
        source.check().await?;
        Ok(source)
    }

    /// Reads the states of all tasks.
    async fn check(&mut self) -> Result<(), StoreError> {
        let all = Filter::job(&self.job).states(ItemState::ALL);
        let mut found = Vec::new();
        self.store
            .each_item(&all, |item| {
                let state = lasting_state(&item);
                found.push((item.id, state));
            })
            .await?;
        for (task, state) in found {
            // A task that is to run after all is only skipped in the store.
            if !self.rerun.contains(&task) {
                self.set(&task, Some(state));
            }
        }
        let skipped = self.states.iter().filter(|(_, state)| **state == ItemState::Skipped);
        self.run_after_all(skipped.map(|(task, _)| task.clone()).collect());
        Ok(())
    }

    /// Notes the state of a task; with `None`, it is to be added, or run after all.
    fn set(&mut self, task: &str, state: Option<ItemState>) {
        let before = match state {
            Some(state) => {
                self.absent.remove(task);
                self.rerun.remove(task);
                self.states.insert(task.to_owned(), state)
            }
            None => {
                self.absent.insert(task.to_owned());
                self.states.remove(task)
            }
        };
        self.note_if_ready(task);
        let count =
            |is: fn(ItemState) -> bool, state: Option<_>| usize::from(state.is_some_and(is));
        let dependencies = Arc::clone(&self.dependencies);
        for dependent in dependencies.needed_by(task) {
            if let Some(needs) = self.needs.get_mut(dependent) {
                let has_ended = ItemState::is_final;
                needs.ended = needs.ended + count(has_ended, state) - count(has_ended, before);
                needs.lost = needs.lost + count(is_lost, state) - count(is_lost, before);
            }
            self.note_if_ready(dependent);
        }
    }

    fn note_if_ready(&mut self, task: &str) {
        let have_ended = self.needs.get(task).is_some_and(|needs| needs.ended == needs.all);
        if have_ended && self.absent.contains(task) {
            self.ready.insert(task.to_owned());
        } else {
            self.ready.remove(task);
        }
    }

    /// Checks the states as soon as allowed.
    fn check_soon(&mut self) {
        self.check_at = self.check_at.min(self.checked_at + LOOK_AT_MOST);
    }

    /// Marks skipped tasks to run after all if none of the tasks that they were skipped for is dead
    /// or skipped any longer; and the tasks that were skipped for them.
    fn run_after_all(&mut self, mut tasks: Vec<String>) {
        while let Some(task) = tasks.pop() {
            let is_skipped = self.states.get(&task) == Some(&ItemState::Skipped);
            let may_run =
                self.needs.get(&task).is_some_and(|needs| needs.all > 0 && needs.lost == 0);
            if is_skipped && may_run {
                self.set(&task, None);
                tasks.extend(self.dependencies.needed_by(&task).map(str::to_owned));
                self.rerun.insert(task);
            }
        }
    }
}

/// Returns the state of a task, as its dependents see it. A task that a user cancelled counts as
/// dead, and not as skipped because of its needs: it stays cancelled once they have succeeded.
fn lasting_state(item: &ItemRecord) -> ItemState {
    let class = item.failure.as_ref().map(|failure| failure.class.as_str());
    if item.state == ItemState::Skipped && class == Some(CANCELLED) {
        ItemState::Dead
    } else {
        item.state
    }
}

fn is_lost(state: ItemState) -> bool {
    matches!(state, ItemState::Dead | ItemState::Skipped)
}

/// Resolves when the store reports more changes of a job.
fn change(store: &Arc<dyn Store>, job: &str, seen: u64) -> StoreFuture<'static, u64> {
    let (store, job) = (Arc::clone(store), job.to_owned());
    Box::pin(async move { store.changed(&job, seen).await })
}

impl Source for GraphSource {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        loop {
            if self.check_at <= Instant::now() {
                self.check().await?;
                self.checked_at = Instant::now();
                self.check_at = self.checked_at + LOOK_ANYWAY;
            }
            if !self.ready.is_empty() {
                let mut ready: Vec<_> = self.ready.iter().cloned().collect();
                ready.sort_by_key(|task| self.dependencies.place(task));
                let (rerun, new): (Vec<_>, Vec<_>) =
                    ready.into_iter().partition(|task| self.rerun.contains(task));
                if !rerun.is_empty() {
                    let skipped =
                        Filter::job(&self.job).ids(rerun.clone()).states([ItemState::Skipped]);
                    let begin = Alteration::redrive(Duration::ZERO);
                    self.store.alter(&skipped, begin, usize::MAX, self.store.now()).await?;
                }
                // Not before: the waiting caller may drop this future, and call again.
                for task in rerun.iter().chain(&new) {
                    self.set(task, Some(ItemState::Pending));
                }
                let items = new.into_iter().map(|task| NewItem::new(task, "null"));
                return Ok(Some(items.collect()));
            }
            if self.absent.is_empty() {
                return Ok(None);
            }
            if let Ok(seen) = timeout_at(self.check_at, self.change.as_mut()).await {
                self.change = change(&self.store, &self.job, seen?);
                self.check_soon();
            }
        }
    }

    fn item_ended(&mut self, id: &str, state: ItemState) -> bool {
        self.set(id, Some(state));
        let dependents: Vec<_> = self.dependencies.needed_by(id).map(str::to_owned).collect();
        // Other needs of the dependent tasks may have been ended by other processes: the process
        // that ends the last one finds that all have ended.
        if dependents.iter().any(|task| self.absent.contains(task) && !self.ready.contains(task)) {
            self.check_soon();
        }
        // A re-driven task has succeeded: tasks that were skipped because of it may run.
        if state == ItemState::Succeeded {
            self.run_after_all(dependents);
        }
        !self.rerun.is_empty()
    }
}
