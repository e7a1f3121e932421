//! Records the commands of a chain as they were run, because a file may change before its job is
//! resumed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{chain, edited, records};
use crate::steps::command_env::{Run, excerpt};
use crate::steps::step::{CaptureEdit, Step, Steps};
use retry_workflow::sanitize::OneLine;
use retry_workflow::{ItemState, Store, StoreError};

/// A command of a chain, as recorded in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedCommand {
    /// The name of its task in the store.
    name: String,
    /// `shell` or `claude`.
    kind: String,
    /// The text that it runs.
    text: String,
    /// Its placeholders, which do not show in every text.
    placeholders: Vec<String>,
}

impl RecordedCommand {
    fn runs_same_as(&self, other: &Self) -> bool {
        (&self.kind, &self.text, &self.placeholders)
            == (&other.kind, &other.text, &other.placeholders)
    }
}

/// The number of commands of a job, if it is a chain that has started.
pub(super) async fn number(store: &dyn Store, job: &str) -> Result<Option<u64>, StoreError> {
    let known = read(store, job).await?;
    Ok(known.map(|commands| u64::try_from(commands.len()).unwrap_or(u64::MAX)))
}

/// Returns why these steps cannot resume a chain that has started: commands that succeeded have
/// changed, or steps inside the one that has begun. Commands that did not succeed may change,
/// because that is how they are fixed. `later` are lists that use what the chain captures.
pub(super) async fn changed(
    store: &dyn Store,
    job: &str,
    steps: &Steps,
    later: &[&Steps],
    restarts: bool,
) -> Result<Option<String>, StoreError> {
    let later = || later.iter().flat_map(|steps| &steps.0);
    let mut succeeded = BTreeSet::new();
    let before = read(store, job).await?.unwrap_or_default();
    let now = commands(steps);
    for (at, was) in before.iter().enumerate() {
        let Some(item) = store.item(job, &was.name).await? else { continue };
        let is = now.get(at);
        let is_same = is.is_some_and(|is| {
            is.name == was.name && (is.runs_same_as(was) || item.state != ItemState::Succeeded)
        });
        if !is_same {
            return Ok(Some(refusal(&difference(at + 1, was, is))));
        }
        if item.state == ItemState::Succeeded {
            succeeded.insert(at);
        }
        // All later steps may use the captures of the step.
        let within = steps.0.get(at..).filter(|_| !restarts);
        let within = within.map(|rest| Steps(rest.iter().chain(later()).cloned().collect()));
        if let Some(why) = within.and_then(|steps| edited::changed_within(&item, &steps)) {
            return Ok(Some(why));
        }
    }
    let (captures, again) = chain::captures_of(store, job).await?;
    let (ended, waiting): (Vec<_>, Vec<_>) = steps
        .0
        .iter()
        .enumerate()
        .partition(|(at, _)| succeeded.contains(at) && !again.contains(at));
    let waiting = waiting.into_iter().map(|(_, step)| step);
    let needed = waiting.chain(later()).flat_map(Step::used_captures).collect();
    let edit = ended.into_iter().find_map(|(at, step)| {
        let edit = CaptureEdit::find(captures.get(&at), step.capture.as_ref(), &needed);
        let edit = edit.and_then(CaptureEdit::needed)?.described(at + 1);
        let command = excerpt(&step.run.written());
        Some(format!("step {}, `{}`, succeeded {edit}", at + 1, OneLine(&command)))
    });
    Ok(edit.map(|edit| refusal(&edit)))
}

fn refusal(what: &str) -> String {
    format!(
        "{what}; the job cannot be resumed with these changes: change it back, or start a new job \
         with `run FILE`"
    )
}

fn difference(number: usize, was: &RecordedCommand, is: Option<&RecordedCommand>) -> String {
    match is.filter(|is| is.runs_same_as(was)) {
        Some(is) => format!(
            "step {number} was named `{}` when the job started, but is now named `{}`",
            OneLine(&was.name),
            OneLine(&is.name)
        ),
        None => {
            let now = is.map_or_else(
                || "no longer exists".to_owned(),
                |is| format!("is now `{}`", OneLine(&excerpt(&is.text))),
            );
            let was = excerpt(&was.text);
            format!("step {number} was `{}` when the job started, but {now}", OneLine(&was))
        }
    }
}

/// Records these steps as the steps of the job.
pub(super) async fn remember(
    store: &dyn Store,
    job: &str,
    steps: &Steps,
) -> Result<(), StoreError> {
    records::update(store, &key(job), |_: Option<_>| Some(commands(steps))).await
}

pub(super) fn key(job: &str) -> String {
    format!("steps/{job}")
}

async fn read(store: &dyn Store, job: &str) -> Result<Option<Vec<RecordedCommand>>, StoreError> {
    records::read(store, &key(job)).await
}

fn commands(steps: &Steps) -> Vec<RecordedCommand> {
    let named = chain::names(steps).into_iter().zip(&steps.0);
    let commands = named.map(|(name, step)| {
        let kind = match step.run {
            Run::Shell(_) => "shell",
            Run::Exec(..) => "exec",
            Run::Agent(_) => "claude",
        };
        let placeholders = step.run.placeholders().map(|value| value.written.clone()).collect();
        RecordedCommand { name, kind: kind.to_owned(), text: step.run.written(), placeholders }
    });
    commands.collect()
}
