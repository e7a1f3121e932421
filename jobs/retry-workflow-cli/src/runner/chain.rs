//! [`Chain`]: what the steps of a chain pass on to later steps. Each step is a separate task, which
//! another process may run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::records;
use crate::steps::command_env::Workspace;
use crate::steps::list::AttemptTerms;
use crate::steps::step::{Capture, Steps};
use crate::steps::vault::Outputs;
use crate::template::placeholder::Captured;
use crate::template::scope::Scope;
use retry_workflow::work::{Reason, WorkOutcome};
use retry_workflow::{Failure, ItemContext, Store, StoreError};

/// The steps of a chain, and their outputs.
pub(super) struct Chain {
    pub(super) store: Arc<dyn Store>,
    pub(super) names: Vec<String>,
    pub(super) steps: Steps,
    /// The scope of the first step.
    pub(super) scope: Scope,
    /// Set if a step that is not ready may come back later.
    pub(super) postpones: bool,
    /// The outputs in memory, secrets included, up to and including this step.
    latest: Mutex<Option<(usize, Outputs)>>,
}

/// The outputs in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ChainOutputs {
    /// The values as JSON, with the step that each belongs to.
    captured: BTreeMap<String, (usize, serde_json::Value)>,
    /// Steps whose output contains a secret and is not stored: to get it, they run again.
    withheld: BTreeSet<usize>,
    /// The captures of the steps when they ended.
    #[serde(default)]
    captures: BTreeMap<usize, Capture>,
}

impl Chain {
    pub(super) fn new(store: Arc<dyn Store>, steps: Steps, scope: Scope) -> Self {
        let names = names(&steps);
        Self { store, names, steps, scope, postpones: true, latest: Mutex::new(None) }
    }

    /// The scope of a step: what the steps before it have captured.
    pub(super) async fn before(
        &self,
        at: usize,
        workspace: &Workspace,
        cx: &ItemContext,
    ) -> Result<Scope, WorkOutcome> {
        let mut scope = self.scope.clone();
        let Some(last) = at.checked_sub(1) else { return Ok(scope) };
        let known = self.latest.lock().clone();
        if let Some((_, outputs)) = known.filter(|(known, _)| *known == last) {
            scope.last = outputs.last;
            scope.captured = outputs.captured;
            return Ok(scope);
        }
        let unread = |error| failed(format!("cannot read the captured output: {error}"));
        let record = record(&*self.store, cx.job()).await.map_err(unread)?;
        scope.captured.extend(captured(&record));
        for &held in record.withheld.range(..=last) {
            scope.last = self.output(cx.job(), held.checked_sub(1)).await.map_err(unread)?;
            let Some(step) = self.steps.0.get(held) else { continue };
            let again = Steps(vec![step.clone()]);
            let terms = AttemptTerms::default();
            let ended = again.attempted(workspace, scope.clone(), None, cx, terms).await;
            match (ended.outputs, ended.report.outcome) {
                (Some(outputs), _) => {
                    scope.captured = outputs.captured;
                    scope.last = outputs.last;
                }
                (None, failed @ WorkOutcome::Failed { .. }) => return Err(failed),
                // The step after it cannot begin yet.
                (None, WorkOutcome::NotBegun { why, .. }) => {
                    return Err(WorkOutcome::NotBegun { why, checkpoint: None });
                }
                (None, _) => {
                    let message = format!(
                        "step {} had to run again, because its captured output contains a secret \
                         and is not stored, and failed this time",
                        held + 1
                    );
                    return Err(failed(message));
                }
            }
        }
        if !record.withheld.contains(&last) {
            scope.last = self.output(cx.job(), Some(last)).await.map_err(unread)?;
        }
        Ok(scope)
    }

    /// Keeps the outputs of a step.
    pub(super) async fn after(
        &self,
        at: usize,
        outputs: Outputs,
        workspace: &Workspace,
        job: &str,
    ) -> Result<(), StoreError> {
        let masks = &workspace.environment.masks;
        let mut added = ChainOutputs::default();
        if outputs.last.as_deref().is_some_and(|last| masks.is_in(last)) {
            added.withheld.insert(at);
        }
        for (name, step) in captures(&self.steps, at) {
            let Some(captured) = outputs.captured.get(name) else { continue };
            if masks.has_secret(&captured.value) {
                added.withheld.insert(step);
            } else if let Ok(value) = serde_json::to_value(captured) {
                added.captured.insert(name.to_owned(), (step, value));
            }
        }
        *self.latest.lock() = Some((at, outputs));
        let capture = self.steps.0.get(at).and_then(|step| step.capture.clone());
        records::update(&*self.store, &key(job), |found: Option<ChainOutputs>| {
            let is_recorded = found.is_some();
            let mut record = found.unwrap_or_default();
            record.captured.extend(added.captured.clone());
            record.withheld.retain(|step| *step < at);
            record.withheld.extend(&added.withheld);
            match &capture {
                Some(capture) => record.captures.insert(at, capture.clone()),
                None => record.captures.remove(&at),
            };
            (is_recorded || record != ChainOutputs::default()).then_some(record)
        })
        .await
    }

    /// The output of a step, as far as it is in the store.
    async fn output(&self, job: &str, at: Option<usize>) -> Result<Option<String>, StoreError> {
        let Some(name) = at.and_then(|at| self.names.get(at)) else { return Ok(None) };
        Ok(self.store.item(job, name).await?.and_then(|item| item.output))
    }
}

/// The names of a chain's tasks. They are unique, and each depends only on the steps before it, so
/// that steps appended to a file do not rename those that are in the store.
pub(super) fn names(steps: &Steps) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for (at, step) in steps.0.iter().enumerate() {
        let mut name = step.label.clone();
        while !taken.insert(name.clone()) {
            name = format!("{} {name}", at + 1);
        }
        names.push(name);
    }
    names
}

fn failed(message: String) -> WorkOutcome {
    let failure = Failure::new("other", message);
    WorkOutcome::Failed { failure, reason: Reason::NotRetryable }
}

fn captured(record: &ChainOutputs) -> BTreeMap<String, Captured> {
    let read = |(name, (_, value)): (&String, &(usize, serde_json::Value))| {
        Some((name.clone(), serde_json::from_value(value.clone()).ok()?))
    };
    record.captured.iter().filter_map(read).collect()
}

async fn record(store: &dyn Store, job: &str) -> Result<ChainOutputs, StoreError> {
    Ok(records::read(store, &key(job)).await?.unwrap_or_default())
}

/// Returns the captures of the steps that have ended, by place, and the places of steps that run
/// again to get their outputs.
pub(super) async fn captures_of(
    store: &dyn Store,
    job: &str,
) -> Result<(BTreeMap<usize, Capture>, BTreeSet<usize>), StoreError> {
    let ChainOutputs { captures, withheld, .. } = record(store, job).await?;
    Ok((captures, withheld))
}

/// The names under which these steps capture, each with the last step that does.
fn captures(steps: &Steps, up_to: usize) -> BTreeMap<&str, usize> {
    let steps = steps.0.iter().take(up_to + 1).enumerate();
    steps.filter_map(|(at, step)| Some((step.capture.as_ref()?.name.as_str(), at))).collect()
}

pub(super) fn key(job: &str) -> String {
    format!("captured/{job}")
}
