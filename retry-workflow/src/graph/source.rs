//! [`GraphSource`]: puts a task into the store when what it needs has ended.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::source::Source;
use crate::item::record::{Filter, ItemState, NewItem};
use crate::job::dependencies::Dependencies;
use crate::job::error::WorkflowError;
use crate::store::{Store, StoreError, StoreResult};

/// The states are checked no sooner than this after the last time.
const LOOK_AT_MOST: Duration = Duration::from_secs(1);
/// But as often as this, though the store tells of no change.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// Tasks that are read at once.
const PAGE: usize = 500;

/// Tasks whose time has come.
pub(super) struct GraphSource<S> {
    store: S,
    job: String,
    dependencies: Arc<Dependencies>,
    /// Of the tasks that the store has.
    states: BTreeMap<String, ItemState>,
    /// Those that were skipped, and can be run after all.
    anew: Vec<String>,
    /// When the states were last checked.
    looked_at: Instant,
    /// When to look at them again. Kept here, as the next one is: the future that waits for it is
    /// dropped and created again with whatever else happens.
    look_at: Instant,
    /// Ends when the store tells of a change.
    change: Pin<Box<dyn Future<Output = StoreResult<u64>> + Send>>,
    /// Whether anything has changed since it was found that no task is ready.
    is_changed: bool,
}

impl<S: Store> GraphSource<S> {
    /// `redrives_dead`: tasks that are dead letters start over.
    pub(super) async fn new(
        store: S,
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
            anew: Vec::new(),
            looked_at: now,
            // Once more when changes are reported.
            look_at: now + LOOK_AT_MOST,
            is_changed: true,
        };
        source.look().await?;
        source.forget_skipped();
        Ok(source)
    }

    /// Reads the states of all tasks.
    async fn look(&mut self) -> Result<(), StoreError> {
        let all = Filter::job(&self.job).states(ItemState::ALL);
        let mut after = None;
        loop {
            let page = self.store.list(&all, after, PAGE).await?;
            for item in page.items {
                // One that is to be run after all is skipped only in the store.
                if !self.anew.contains(&item.id) {
                    self.states.insert(item.id, item.state);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Looks at the states as soon as may be.
    fn look_soon(&mut self) {
        self.look_at = self.look_at.min(self.looked_at + LOOK_AT_MOST);
    }

    /// A task was skipped because of one that is no longer dead: it is to be run after all.
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
            self.anew.push(task);
        }
    }

    /// Tasks that are not in the store and need nothing that has not ended.
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

/// Ends when the store tells of more changes of a job.
fn change<S: Store>(
    store: &S,
    job: &str,
    seen: u64,
) -> Pin<Box<dyn Future<Output = StoreResult<u64>> + Send>> {
    let (store, job) = (store.clone(), job.to_owned());
    Box::pin(async move { store.changed(&job, seen).await })
}

impl<S: Store> Source for GraphSource<S> {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        loop {
            if self.look_at <= Instant::now() {
                self.look().await?;
                self.forget_skipped();
                self.looked_at = Instant::now();
                self.look_at = self.looked_at + LOOK_ANYWAY;
                self.is_changed = true;
            }
            if !self.is_changed {
                if let Ok(seen) = timeout_at(self.look_at, self.change.as_mut()).await {
                    self.change = change(&self.store, &self.job, seen?);
                    self.look_soon();
                }
                continue;
            }
            let ready = self.ready();
            if !ready.is_empty() {
                let (anew, new): (Vec<_>, Vec<_>) =
                    ready.into_iter().partition(|task| self.anew.contains(task));
                if !anew.is_empty() {
                    let skipped =
                        Filter::job(&self.job).ids(anew.clone()).states([ItemState::Skipped]);
                    self.store.redrive(&skipped, None, self.store.now(), Duration::ZERO).await?;
                }
                self.anew.retain(|task| !anew.contains(task));
                for task in anew.iter().chain(&new) {
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
        // What else they need may have been ended by another process: whoever is the last one to
        // end some of it finds all of it.
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
            self.look_soon();
        }
        // One that was re-driven has succeeded: what it had kept from running may run.
        if state == ItemState::Succeeded {
            self.forget_skipped();
        }
        !self.anew.is_empty()
    }
}
