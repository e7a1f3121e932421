//! One item in full: its payload, its output, its failure, and each attempt.

use std::time::Duration;

use retry_workflow::store::{AttemptOutcome, AttemptRecord};
use retry_workflow::{Failure, ItemRecord, ItemState, Timestamp, work};
use serde::Serialize;

use super::bounded::{self, Bounded};

/// The limit for a payload and an output.
const LONGEST: usize = 32 * 1024;
/// The limit for a message, and for the output of an attempt.
const SHORTER: usize = 4 * 1024;
/// The number of attempts shown: the latest ones.
const ATTEMPTS: usize = 50;

/// The data of an item's page.
#[derive(Debug, Serialize)]
pub(crate) struct ItemPage {
    pub(crate) job: String,
    pub(crate) id: String,
    pub(crate) correlation: String,
    pub(crate) priority: i8,
    pub(crate) state: ItemState,
    pub(crate) run: u32,
    pub(crate) attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Timestamp>,
    /// The step at which a re-drive from the failed step continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed_step: Option<String>,
    /// `None` if it was purged.
    pub(crate) payload: Option<Bounded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Bounded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<FailureText>,
    /// The attempts and re-drives of all runs, oldest first.
    pub(crate) history: Vec<AttemptLine>,
    /// The number of attempts before these.
    pub(crate) earlier_attempts: usize,
    pub(crate) now: Timestamp,
}

#[derive(Debug, Serialize)]
pub(crate) struct FailureText {
    pub(crate) class: String,
    pub(crate) signature: String,
    pub(crate) signature_id: String,
    pub(crate) message: Bounded,
    /// The causes, outermost first.
    pub(crate) chain: Vec<Bounded>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) culprits: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stdout: Option<Bounded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stderr: Option<Bounded>,
}

#[derive(Debug, Serialize)]
pub(crate) struct AttemptLine {
    pub(crate) run: u32,
    pub(crate) attempt: u32,
    pub(crate) started: Timestamp,
    /// In seconds.
    pub(crate) duration: f64,
    /// The wait after the attempt, in seconds.
    pub(crate) wait: f64,
    pub(crate) worker: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<String>,
    pub(crate) outcome: AttemptOutcome,
    /// The number of attempts that it stands for.
    pub(crate) times: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<FailureText>,
}

impl ItemPage {
    pub(crate) fn new(item: &ItemRecord, now: Timestamp) -> Self {
        let earlier = item.history.len().saturating_sub(ATTEMPTS);
        let history = item.history[earlier..].iter().map(AttemptLine::new);
        let postponed = work::postponed(item);
        let postponed = postponed.as_ref().map(AttemptLine::new);
        Self {
            job: bounded::id(&item.job),
            id: bounded::id(&item.id),
            correlation: bounded::id(&item.correlation),
            priority: item.priority,
            state: item.state,
            run: item.run,
            attempt: item.attempt,
            due: item.due,
            ended: item.ended,
            failed_step: work::failed_step(item).as_deref().map(bounded::id),
            payload: (!item.payload.is_empty()).then(|| json(&item.payload)),
            output: item.output.as_deref().map(json),
            failure: item.failure.as_ref().map(|failure| FailureText::new(failure, SHORTER)),
            history: history.chain(postponed).collect(),
            earlier_attempts: earlier,
            now,
        }
    }
}

/// Pretty-prints JSON; leaves the text as it is if it is not JSON or is very large.
fn json(text: &str) -> Bounded {
    if text.len() > 8 * LONGEST {
        return Bounded::new(text, LONGEST);
    }
    let pretty = serde_json::from_str::<serde_json::Value>(text)
        .and_then(|value| serde_json::to_string_pretty(&value));
    Bounded::new(pretty.as_deref().unwrap_or(text), LONGEST)
}

impl FailureText {
    fn new(failure: &Failure, most: usize) -> Self {
        let output = failure.output.as_deref();
        let written = |text: &String| (!text.is_empty()).then(|| Bounded::new(text, most));
        Self {
            class: bounded::id(&failure.class),
            signature: bounded::id(failure.signature.as_str()),
            signature_id: failure.signature.id(),
            message: Bounded::new(&failure.message, most),
            chain: failure.chain.iter().take(8).map(|text| Bounded::new(text, most / 4)).collect(),
            culprits: failure.culprits.iter().take(20).map(|task| bounded::id(task)).collect(),
            stdout: output.and_then(|output| written(&output.stdout)),
            stderr: output.and_then(|output| written(&output.stderr)),
        }
    }
}

impl AttemptLine {
    fn new(record: &AttemptRecord) -> Self {
        Self {
            run: record.run,
            attempt: record.attempt,
            started: record.started,
            duration: record.duration.as_secs_f64(),
            wait: record.wait.as_secs_f64(),
            worker: bounded::id(&record.worker),
            step: record.step.as_deref().map(bounded::id),
            outcome: record.outcome,
            times: record.failure.as_ref().map_or(1, |failure| failure.times),
            failure: record.failure.as_ref().map(|failure| FailureText::new(failure, SHORTER / 4)),
        }
    }

    pub(crate) fn took(&self) -> Duration {
        Duration::try_from_secs_f64(self.duration).unwrap_or_default()
    }

    pub(crate) fn waited(&self) -> Duration {
        Duration::try_from_secs_f64(self.wait).unwrap_or_default()
    }
}
