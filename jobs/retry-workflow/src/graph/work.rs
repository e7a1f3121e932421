//! [`GraphWork`]: runs a task once its needs are met, and skips it if they never will be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::work::{AttemptReport, DynWork, Work, WorkItem, WorkOutcome};
use crate::item::failure::Failure;
use crate::item::record::ItemState;
use crate::item::sanitize::OneLine;
use crate::job::dependencies::Dependencies;
use crate::store::Store;

/// The tasks of a graph as work: each item is the task with its name.
pub(super) struct GraphWork {
    pub(super) store: Arc<dyn Store>,
    pub(super) dependencies: Arc<Dependencies>,
    pub(super) tasks: BTreeMap<String, Box<dyn DynWork>>,
}

impl Work for GraphWork {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let name = item.context.id.clone();
        let Some(task) = self.tasks.get(&name) else {
            let message = format!("the graph no longer has a task `{}`", OneLine(&name));
            return skipped(Failure::new("dependency", message));
        };
        match self.needs(item.context.job(), &name).await {
            Needs::Met => task.attempt_boxed(item).await,
            Needs::Lost(failure) => skipped(failure),
            Needs::Open => {
                let (wait, checkpoint) = (POLL_EVERY, None);
                AttemptReport::new(WorkOutcome::Postponed { wait, checkpoint })
            }
        }
    }
}

/// The interval of further checks if needs have not ended after all.
const POLL_EVERY: Duration = Duration::from_secs(1);

fn skipped(failure: Failure) -> AttemptReport {
    AttemptReport::new(WorkOutcome::Skipped(failure))
}

/// The state of everything that a task needs.
enum Needs {
    /// All needs have succeeded.
    Met,
    /// Some have failed, or were skipped because others failed.
    Lost(Failure),
    /// Some have not ended, or could not be checked.
    Open,
}

impl GraphWork {
    async fn needs(&self, job: &str, task: &str) -> Needs {
        // The tasks that failed, and the skipped ones through which they are needed.
        let (mut culprits, mut through) = (BTreeSet::new(), BTreeSet::new());
        let needs: Vec<String> = self.dependencies.needs(task).map(str::to_owned).collect();
        for need in needs {
            let Ok(Some(found)) = self.store.item(job, &need).await else { return Needs::Open };
            match found.state {
                ItemState::Succeeded => {}
                ItemState::Dead => {
                    culprits.insert(need);
                }
                ItemState::Skipped => {
                    let caused_by = found.failure.map(|failure| failure.culprits);
                    match caused_by.filter(|culprits| !culprits.is_empty()) {
                        Some(tasks) => culprits.extend(tasks),
                        // Skipped by hand, not because of a failure.
                        None => {
                            culprits.insert(need.clone());
                        }
                    }
                    through.insert(need);
                }
                ItemState::Pending | ItemState::Leased => return Needs::Open,
            }
        }
        if culprits.is_empty() {
            return Needs::Met;
        }
        Needs::Lost(failure(task, culprits, &through))
    }
}

fn failure(task: &str, culprits: BTreeSet<String>, through: &BTreeSet<String>) -> Failure {
    let named = |names: &BTreeSet<String>| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let failed = format!("{} failed", named(&culprits));
    let mut message = format!("{failed}, which `{task}` needs");
    let through: BTreeSet<String> = through.difference(&culprits).cloned().collect();
    if !through.is_empty() {
        let _ = write!(message, " through {}", named(&through));
    }
    let mut failure = Failure::new("dependency", message);
    // Named after the culprits, so that everything caused by one failure is one group.
    failure.signature = failed.into();
    failure.culprits = culprits.into_iter().collect();
    failure
}
