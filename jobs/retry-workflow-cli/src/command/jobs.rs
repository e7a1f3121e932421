//! `jobs`: all jobs of the store. `status` shows the same summary of a single job.

pub(super) mod items;
pub(super) mod removal;
pub(super) mod requests;
pub(super) mod status;

use serde::Serialize;
use serde_json::json;

use super::outcome::CommandError;
use super::screen::Screen;
use crate::runner::{Origin, Tasks};
use crate::terminal::text::{age, thousands};
use retry_workflow::job::{PendingRequest, Unit, Waits};
use retry_workflow::{Counts, Job, JobStatus, Store, Timestamp};

/// A job in machine-readable form.
#[derive(Debug, Serialize)]
pub(super) struct JobSummary {
    pub(super) id: String,
    name: String,
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    pub(super) created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    input_complete: bool,
    /// The total number of commands, if commands run one after another.
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<u64>,
    pub(super) counts: Counts,
    #[serde(flatten)]
    pub(super) waits: Waits,
    /// The pending request to its workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requested: Option<PendingRequest>,
    /// The noun for its items.
    #[serde(skip)]
    pub(super) unit: Unit,
    /// The job that this one is the `reduce` of.
    #[serde(skip_serializing_if = "Option::is_none")]
    reduces: Option<String>,
}

impl JobSummary {
    pub(super) async fn load(store: &dyn Store, job: &Job) -> Result<Self, CommandError> {
        let counts = store.counts(&job.id).await?;
        let tasks = Tasks::begun(store, &job.id).await?;
        let waits = Waits::load(store, job, &counts).await?;
        let origin = Origin::read(job);
        let status = job.status_with(&counts, store.now());
        Ok(Self {
            id: job.id.clone(),
            name: job.name.clone(),
            status: status.as_str(),
            reason: match status {
                JobStatus::Stopped { reason } => Some(reason.to_string()),
                _ => None,
            },
            created: job.created,
            ended: job.ended,
            input_complete: job.input_complete,
            commands: tasks.map(|tasks| tasks.number),
            counts,
            waits,
            requested: job.requested(store.now()),
            unit: origin.as_ref().map_or(Unit::Item, Origin::unit),
            reduces: origin.and_then(|origin| origin.reduces),
        })
    }

    fn row(&self, now: Timestamp) -> [String; 8] {
        let id = match self.reduces.as_ref().and_then(|whole| self.id.strip_prefix(whole)) {
            Some(reduce) => format!("  {}", reduce.trim_start_matches('/')),
            None => self.id.clone(),
        };
        let Counts { succeeded, dead, skipped, .. } = self.counts;
        [
            id,
            self.status.to_owned(),
            age(now, self.created),
            self.items(),
            thousands(succeeded),
            thousands(dead),
            thousands(skipped),
            thousands(self.counts.unfinished()),
        ]
    }

    /// The number of items, with a `+` while the input is still being read.
    pub(super) fn items(&self) -> String {
        let more = if self.input_complete || self.commands.is_some() { "" } else { "+" };
        format!("{}{more}", thousands(self.progress().1))
    }

    /// Returns how many have ended, and how many there are.
    pub(super) fn progress(&self) -> (u64, u64) {
        match self.commands {
            Some(number) => Tasks { number, is_chain: true }.progress(&self.counts),
            None => (self.counts.ended(), self.counts.total()),
        }
    }
}

pub(super) async fn jobs(store: &dyn Store, screen: &mut Screen) -> Result<(), CommandError> {
    screen.now = store.now();
    let mut summaries = Vec::new();
    for job in below_each_other(Job::all(store).await?) {
        summaries.push(JobSummary::load(store, &job).await?);
    }
    let none = format!("no jobs yet: start one with `retry-workflow{} run FILE`", screen.flag);
    let headings =
        &["job", "status", ">started", ">items", ">succeeded", ">dead", ">skipped", ">left"];
    let now = screen.now;
    let row = |job: &JobSummary| job.row(now);
    screen.list(&summaries, |job| json!(job), none, (headings, row))
}

/// Sorts each `reduce` directly below its job.
fn below_each_other(jobs: Vec<Job>) -> Vec<Job> {
    let reduces = |job: &Job| Origin::read(job).and_then(|origin| origin.reduces);
    let (of_others, own): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|job| reduces(job).is_some());
    let mut sorted = Vec::new();
    for job in own {
        let id = job.id.clone();
        sorted.push(job);
        sorted.extend(of_others.iter().filter(|one| reduces(one).as_ref() == Some(&id)).cloned());
    }
    sorted
}
