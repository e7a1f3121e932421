//! Pauses and cancels jobs, by a request to their workers, and ends the waits of their items.

use std::sync::Arc;
use std::time::Duration;

use retry_workflow::job::Request;
use retry_workflow::words::count;
use retry_workflow::{Job, JobStatus, Store, StoreError, audit};
use serde::Deserialize;
use serde_json::json;

use super::once::Done;
use super::{ActionForm, Proof};
use crate::parts::text::how_to_resume;
use crate::request::problem::{Problem, short};
use crate::request::query::Address;

#[derive(Clone, Debug, Default, Deserialize, Hash)]
#[serde(default)]
pub(crate) struct JobForm {
    pub(crate) job: String,
    #[serde(flatten)]
    pub(crate) proof: Proof,
}

/// The interval at which a job that is expected to end is polled.
const EACH: Duration = Duration::from_secs(1);
/// The number of polls before giving up; the request can then be repeated.
const PATIENCE: u32 = 3_600;

impl ActionForm for JobForm {
    fn proof(&self) -> &Proof {
        &self.proof
    }
}

impl JobForm {
    /// The address of the job's page.
    pub(crate) fn page(&self) -> Address {
        Address::new("job").with("id", &self.job)
    }

    fn object(&self) -> String {
        format!("job {}", self.job)
    }

    async fn unfinished(&self, store: &dyn Store) -> Result<Job, Problem> {
        let Some(job) = Job::find(store, &self.job).await? else {
            return Err(Problem::no_job(&self.job));
        };
        if job.status == JobStatus::Finished && store.counts(&job.id).await?.unfinished() == 0 {
            return Err(Problem::changed(format!("{} has ended", short(&job.id))));
        }
        Ok(job)
    }

    pub(crate) async fn pause(
        &self,
        store: &dyn Store,
        who: &str,
        command: &str,
    ) -> Result<Done, Problem> {
        let job = self.unfinished(store).await?;
        let id = short(&job.id);
        let how = how_to_resume(command, &job);
        let is_heard = Job::request(store, &self.job, Request::Pause).await?;
        audit::record(who, "pause", &self.object(), 0);
        let said = if is_heard {
            format!("{id} stops when its running items have finished; to resume: {how}")
        } else {
            format!("No process is working on {id}; to resume: {how}")
        };
        Ok(Done::new(said, json!({ "job": self.job, "requested": is_heard })))
    }

    /// Makes the items due now that wait for their next attempt.
    pub(crate) async fn make_due(
        &self,
        store: &dyn Store,
        who: &str,
        command: &str,
    ) -> Result<Done, Problem> {
        let job = self.unfinished(store).await?;
        let due = Job::make_due(store, &self.job).await?;
        audit::record(who, "make due", &self.object(), due);
        let is_live =
            Job::find(store, &self.job).await?.is_some_and(|job| job.is_live(store.now()));
        let next = if is_live {
            "a worker of the job picks them up".to_owned()
        } else {
            let id = short(&job.id);
            format!("no process is working on {id}; to run them: {}", how_to_resume(command, &job))
        };
        let are = if due == 1 { "is" } else { "are" };
        let said = format!("{} {are} due now; {next}", count(due, "waiting item"));
        Ok(Done::new(said, json!({ "job": self.job, "due": due })))
    }

    pub(crate) async fn cancel(&self, store: &Arc<dyn Store>, who: &str) -> Result<Done, Problem> {
        let id = short(&self.unfinished(&**store).await?.id);
        if Job::request(&**store, &self.job, Request::Cancel).await? {
            tokio::spawn(self.clone().cancel_later(Arc::clone(store), who.to_owned()));
            let said = format!("Cancelling {id}: waiting for its running items");
            return Ok(Done::new(
                said,
                json!({ "job": self.job, "requested": true, "skipped": null }),
            ));
        }
        let skipped = Job::cancel(&**store, &self.job).await?;
        audit::record(who, "cancel", &self.object(), skipped);
        let said = format!("{id} is cancelled: {} skipped", count(skipped, "item"));
        Ok(Done::new(said, json!({ "job": self.job, "requested": false, "skipped": skipped })))
    }

    /// Skips the remaining items once no worker is left.
    async fn cancel_later(self, store: Arc<dyn Store>, who: String) -> Result<(), StoreError> {
        for _ in 0..PATIENCE {
            tokio::time::sleep(EACH).await;
            if !Job::request(&*store, &self.job, Request::Cancel).await? {
                let skipped = Job::cancel(&*store, &self.job).await?;
                audit::record(&who, "cancel", &self.object(), skipped);
                break;
            }
        }
        Ok(())
    }
}
