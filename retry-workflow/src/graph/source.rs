//! [`GraphSource`]: adds a task to the store once everything that it needs has ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::source::Source;
use crate::item::record::{Filter, ItemState, NewItem};
use crate::job::dependencies::Dependencies;
use crate::job::error::WorkflowError;
use crate::store::{Store, StoreError, StoreFuture};

/// The shortest time between two checks of the states.
const LOOK_AT_MOST: Duration = Duration::from_secs(1);
/// The longest time between two checks, even if the store reports no change.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// The number of tasks that are read at once.
const PAGE: usize = 500;

/// The tasks that are ready to be added.
pub(super) struct GraphSource {
    store: Arc<dyn Store>,
    job: String,
    dependencies: Arc<Dependencies>,
    /// The states of the tasks that the store has.
    states: BTreeMap<String, ItemState>,
    /// Tasks that were skipped, and can run after all.
    rerun: Vec<String>,
    /// When the states were last checked.
    checked_at: Instant,
    /// When to check them again. Kept here, as is `change`, because the future that waits for them
    /// is dropped and recreated with every other event.
    check_at: Instant,
    /// Resolves when the store reports a change.
    change: StoreFuture<'static, u64>,
    /// Whether anything has changed since no task was found to be ready.
    is_changed: bool,
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
            store.redrive(&Filter::job(job), None, store.now(), Duration::ZERO).await?;
        }
        let now = Instant::now();
        let mut source = Self {
            change: change(&store, job, 0),
            store,
            job: job.to_owned(),
            dependencies,
            states: BTreeMap::new(),
            rerun: Vec::new(),
            checked_at: now,
            // Again soon, once changes are being reported.
            check_at: now + LOOK_AT_MOST,
            is_changed: true,
        };
        source.check().await?;
        source.forget_skipped();
        Ok(source)
    }

    /// Reads the states of all tasks.
    async fn check(&mut self) -> Result<(), StoreError> {
        let all = Filter::job(&self.job).states(ItemState::ALL);
        let mut after = None;
        loop {
            let page = self.store.list(&all, after, PAGE).await?;
            for item in page.items {
                // A task that is to run after all is only skipped in the store.
                if !self.rerun.contains(&item.id) {
                    self.states.insert(item.id, item.state);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Checks the states as soon as allowed.
    fn check_soon(&mut self) {
        self.check_at = self.check_at.min(self.checked_at + LOOK_AT_MOST);
    }

    /// Marks tasks to run after all if the ones that they were skipped for are no longer dead.
    fn forget_skipped(&mut self) {
        loop {
            let skipped = self.states.iter().find(|(task, state)| {
                **state == ItemState::Skipped
                    && self.dependencies.needs(task).next().is_some()
                    && self.dependencies.needs(task).all(|need| {
                        !matches!(self.states.get(need), Some(ItemState::Dead | ItemState::Skipped))
                    })
            });
            let Some((task, _)) = skipped else { return };
            let task = task.clone();
            self.states.remove(&task);
            self.rerun.push(task);
        }
    }

    /// The tasks that are not in the store, and whose needs have all ended.
    fn ready(&self) -> Vec<String> {
        let has_ended = |task: &str| self.states.get(task).is_some_and(|state| state.is_final());
        self.dependencies
            .tasks()
            .filter(|task| !self.states.contains_key(*task))
            .filter(|task| self.dependencies.needs(task).all(has_ended))
            .map(str::to_owned)
            .collect()
    }
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
                self.forget_skipped();
                self.checked_at = Instant::now();
                self.check_at = self.checked_at + LOOK_ANYWAY;
                self.is_changed = true;
            }
            if !self.is_changed {
                if let Ok(seen) = timeout_at(self.check_at, self.change.as_mut()).await {
                    self.change = change(&self.store, &self.job, seen?);
                    self.check_soon();
                }
                continue;
            }
            let ready = self.ready();
            if !ready.is_empty() {
                let (rerun, new): (Vec<_>, Vec<_>) =
                    ready.into_iter().partition(|task| self.rerun.contains(task));
                if !rerun.is_empty() {
                    let skipped =
                        Filter::job(&self.job).ids(rerun.clone()).states([ItemState::Skipped]);
                    self.store.redrive(&skipped, None, self.store.now(), Duration::ZERO).await?;
                }
                self.rerun.retain(|task| !rerun.contains(task));
                for task in rerun.iter().chain(&new) {
                    self.states.insert(task.clone(), ItemState::Pending);
                }
                let items = new.into_iter().map(|task| NewItem::new(task, "null"));
                return Ok(Some(items.collect()));
            }
            if self.dependencies.tasks().all(|task| self.states.contains_key(task)) {
                return Ok(None);
            }
            self.is_changed = false;
        }
    }

    fn item_ended(&mut self, id: &str, state: ItemState) -> bool {
        self.states.insert(id.to_owned(), state);
        self.is_changed = true;
        // Other needs of the dependent tasks may have been ended by other processes: whoever ends
        // the last one finds that all have ended.
        let has_ended = |task: &str| self.states.get(task).is_some_and(|state| state.is_final());
        let is_open = |task: &&str| {
            let mut needs = self.dependencies.needs(task);
            !self.states.contains_key(*task) && needs.any(|need| need == id)
        };
        if !self
            .dependencies
            .tasks()
            .filter(is_open)
            .flat_map(|task| self.dependencies.needs(task))
            .all(has_ended)
        {
            self.check_soon();
        }
        // A re-driven task has succeeded: tasks that were skipped because of it may run.
        if state == ItemState::Succeeded {
            self.forget_skipped();
        }
        !self.rerun.is_empty()
    }
}
