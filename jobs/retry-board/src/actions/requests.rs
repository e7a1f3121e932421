//! Pauses and cancels jobs, by a request to their workers, and ends the waits of their items.

use std::time::Duration;

use futures_util::FutureExt as _;
use maud::html;
use retry_workflow::words::count;
use retry_workflow::{Job, JobStatus, StoreError};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::action::{Action, Confirmation, Request, Target};
use super::once::Done;
use crate::data::job::JobPage;
use crate::parts::text::how_to_resume;
use crate::request::problem::{Problem, short};

pub(super) const DUE: Action = Action {
    name: "due",
    target: Target::Job,
    summary: "Makes the items of a job due now that wait for their next attempt",
    label: "Run waiting items now",
    style: "",
    is_for: JobPage::has_waiting_items,
    confirmation: None,
    act: |request| request.make_due().boxed(),
};

pub(super) const PAUSE: Action = Action {
    name: "pause",
    target: Target::Job,
    summary: "Requests that the workers of a job stop, so that it can be resumed",
    label: "Pause",
    style: "",
    is_for: |page| page.job.is_unfinished() && page.job.has_worker,
    confirmation: None,
    act: |request| request.pause().boxed(),
};

pub(super) const CANCEL: Action = Action {
    name: "cancel",
    target: Target::Job,
    summary: "Ends a job: what is left of it is skipped",
    label: "Cancel",
    style: "danger",
    is_for: |page| page.job.is_unfinished(),
    confirmation: Some(Confirmation {
        counted: "unfinished",
        effect: "unfinished: those in progress run to their end, the others are skipped.",
        fields: |_| html! {},
    }),
    act: |request| request.cancel().boxed(),
};

pub(super) const CANCEL_ITEMS: Action = Action {
    name: "cancel-items",
    target: Target::Items,
    summary: "Cancels items of a job that have not ended, by their ids",
    label: "Cancel",
    style: "danger",
    is_for: |_| false,
    confirmation: Some(Confirmation {
        counted: "cancelled",
        effect: "will be cancelled: skipped, with the class cancelled. What runs for them is ended.",
        fields: |_| html! {},
    }),
    act: |request| request.cancel_items().boxed(),
};

/// The longest time for which a cancelled job may have workers. The request can then be repeated.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The longest time for which a visitor waits for the end of a cancellation.
const SOON: Duration = Duration::from_secs(1);

impl Request {
    async fn unfinished(&self) -> Result<Job, Problem> {
        self.form.check_job()?;
        let store = self.operator.letters().store();
        let id = self.form.job();
        let Some(job) = Job::find(store, id).await? else { return Err(Problem::no_job(id)) };
        if job.status == JobStatus::Finished && store.counts(&job.id).await?.unfinished() == 0 {
            return Err(Problem::changed(format!("{} has ended", short(&job.id))));
        }
        Ok(job)
    }

    async fn pause(self) -> Result<Done, Problem> {
        let job = self.unfinished().await?;
        let id = short(&job.id);
        let how = how_to_resume(&self.command, &job);
        let has_worker = self.operator.pause(&job.id, &[]).await?;
        let said = if has_worker {
            format!("{id} stops when its running items have finished; to resume: {how}")
        } else {
            format!("No process is working on {id}; to resume: {how}")
        };
        Ok(Done::new(said, json!({ "job": job.id, "requested": has_worker })))
    }

    /// Makes the items due now that wait for their next attempt.
    async fn make_due(self) -> Result<Done, Problem> {
        let job = self.unfinished().await?;
        let due = self.operator.make_due(&job.id, &[]).await?;
        let (are, next) = (if due == 1 { "is" } else { "are" }, self.next().await?);
        let said = format!("{} {are} due now. {next}", count(due, "waiting item"));
        Ok(Done::new(said, json!({ "job": job.id, "due": due })))
    }

    /// Cancels the items that are named.
    async fn cancel_items(self) -> Result<Done, Problem> {
        let (job, ids) = self.form.items()?;
        let cancelled = self.operator.cancel_items(&job, ids).await?;
        let said = format!("{} cancelled", count(cancelled, "item"));
        Ok(Done::new(said, json!({ "job": job, "cancelled": cancelled })))
    }

    /// Skips the remaining items. It continues after the response while workers hold some.
    async fn cancel(self) -> Result<Done, Problem> {
        let job = self.unfinished().await?.id;
        let (id, operator, meant) = (short(&job), self.operator.clone(), job.clone());
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            let late = |_| Err(StoreError::other("its workers have not stopped"));
            let cancelled = timeout(PATIENCE, operator.cancel(&meant, &[])).await;
            // The visitor may no longer wait.
            if let Err(Err(error)) = answer.send(cancelled.unwrap_or_else(late)) {
                operator.failed("cancel", &meant, &error);
            }
        });
        let skipped = timeout(SOON, answered).await.ok().and_then(Result::ok).transpose()?;
        let left = self.operator.letters().store().counts(&job).await?.leased;
        let said = match skipped {
            Some(skipped) => format!("{id} is cancelled: {} skipped", count(skipped, "item")),
            None if left == 0 => format!("Cancelling {id}"),
            None => format!("Cancelling {id}: waiting for {} of its workers", count(left, "item")),
        };
        let requested = skipped.is_none();
        let done = json!({ "job": job, "requested": requested, "skipped": skipped, "left": left });
        Ok(Done::new(said, done))
    }
}
