//! [`Work`]: what is done with an item. Closures, the steps of a file and tasks
//! are work alike; the engine knows nothing else of them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::Reason;

use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::AttemptOutcome;

/// The item that a handler works on: which one it is, and how often it was tried.
#[derive(Clone, Debug)]
pub struct ItemContext {
    pub job: Arc<str>,
    pub id: String,
    pub correlation: Option<String>,
    pub run: u32,
    pub attempt: u32,
    pub worker: Arc<str>,
    pub retries: u32,
}

impl ItemContext {
    /// The id of the job.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The item's id within the job: a good key to make an effect idempotent by.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What follows the item through logs of other systems; the same in every attempt
    /// and every re-drive.
    pub fn correlation_id(&self) -> String {
        correlation(self.correlation.as_deref(), &self.job, &self.id)
    }

    /// 0, and one more for each time that the item was taken back from the dead letters.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// The number of this attempt within the run; the first is 1. An attempt whose process
    /// was killed has counted, too.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How often the policy has let this item or task be tried again: 0 in the first attempt.
    /// Unlike [`attempt`](Self::attempt), it leaves out attempts whose process was killed.
    pub fn retry_count(&self) -> u32 {
        self.retries
    }

    /// Who makes this attempt: the process, and when it began to work on the job.
    pub fn worker(&self) -> &str {
        &self.worker
    }
}

/// The correlation id of an item: its own, or `job/id`.
pub fn correlation(given: Option<&str>, job: &str, id: &str) -> String {
    given.map_or_else(|| format!("{job}/{id}"), str::to_owned)
}

/// An item, for one attempt.
#[derive(Debug)]
pub struct Given<'a> {
    pub cx: ItemContext,
    /// JSON.
    pub payload: &'a str,
    /// What the last attempt left in [`End::Again`]: JSON.
    pub progress: Option<String>,
}

/// What is done with an item.
pub trait Work: Send + Sync + 'static {
    /// Makes one attempt. It may be dropped at any await.
    fn attempt(self: Arc<Self>, given: Given<'_>) -> impl Future<Output = Ended> + Send;
}

/// What an attempt came to.
#[derive(Debug)]
pub struct Ended {
    /// For the history: one note, or more where an attempt has steps that failed on the way.
    pub notes: Vec<Note>,
    pub end: End,
}

/// A row of the history in the making.
#[derive(Debug)]
pub struct Note {
    pub step: Option<String>,
    pub started: Timestamp,
    pub duration: Duration,
    pub outcome: AttemptOutcome,
    pub failure: Option<Failure>,
}

/// How an attempt ended.
#[derive(Debug)]
pub enum End {
    /// The item is done; its output, if there is one that may be asked for.
    Succeeded(Option<String>),
    /// Another attempt after this wait, which is to know this.
    Again { wait: Duration, progress: String },
    /// It is left out, for this reason.
    Skipped(Failure),
    /// It could not begin; to be asked again after this wait.
    NotYet { wait: Duration },
    /// Its retries have ended.
    Failed { failure: Failure, reason: Reason },
}
