//! [`Operator`]: a user who changes jobs and their items. Each action is an event of `tracing`.

use std::time::Duration;

use crate::audit;
use crate::dead_letters::{DeadLetters, Redrive};
use crate::item::failure::{CANCELLED, Failure};
use crate::item::one_or_many::OneOrMany;
use crate::item::record::{Filter, ItemState};
use crate::job::record::{Job, Request};
use crate::store::{Alteration, IntoStore, StoreError, StoreResult};
use crate::words::{count, moment};

/// The interval at which a job whose workers are to stop is polled.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// A user who changes jobs and their items, on the board, on the command line or in a program.
///
/// Each action is an event of [`audit`], once it is done.
///
/// ```
/// use retry_workflow::{Filter, SqliteStore, Operator, Redrive};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), retry_workflow::StoreError> {
/// let ada = Operator::new(SqliteStore::in_memory(), "ada");
/// // The event: user="ada" action="re-drive" object="job import-1, class timeout" count=0
/// let taken = ada.redrive(Filter::job("import-1").class("timeout"), Redrive::new()).await?;
/// assert_eq!(taken, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Operator {
    letters: DeadLetters,
    user: String,
}

retry_rules::partial_debug!(Operator, |self| { user: &self.user });

impl Operator {
    /// Creates an operator with the name of a user.
    pub fn new(store: impl IntoStore, user: impl Into<String>) -> Self {
        Self { letters: DeadLetters::new(store), user: user.into() }
    }

    /// Returns the dead letters of the store, and so the [store](DeadLetters::store) itself.
    pub fn letters(&self) -> &DeadLetters {
        &self.letters
    }

    /// Re-drives items, as [`DeadLetters::retry`] does. The history of each item shows the user.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn redrive(
        &self,
        filters: impl AsRef<[Filter]>,
        redrive: Redrive,
    ) -> StoreResult<u64> {
        let record = |filter: &Filter, taken| {
            audit::record(&self.user, "re-drive", &object(filter), taken);
        };
        self.letters.retry_by(filters.as_ref(), redrive, Some(&self.user), record).await
    }

    /// Purges items, as [`DeadLetters::purge`] does.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn purge(&self, filter: &Filter) -> StoreResult<u64> {
        let purged = self.letters.purge(filter).await?;
        audit::record(&self.user, "purge", &object(filter), purged);
        Ok(purged)
    }

    /// Emits the event of an action on a job that failed after its request had been answered: at
    /// the level `ERROR`, with the field `error`.
    ///
    /// ```
    /// # use retry_workflow::{Operator, SqliteStore, StoreError};
    /// let ada = Operator::new(SqliteStore::in_memory(), "ada");
    /// ada.failed("cancel", "import-1", &StoreError::Closed);
    /// ```
    pub fn failed(&self, action: &str, job: &str, error: &StoreError) {
        let (user, object) = (&self.user, format!("job {job}"));
        tracing::error!(target: audit::TARGET, user, action, object, %error);
    }

    /// Requests that the workers of a job and of its parts stop, so that it can be resumed. Returns
    /// `false` if none of these jobs has a worker.
    ///
    /// # Errors
    /// The store fails.
    pub async fn pause(&self, job: &str, parts: &[String]) -> StoreResult<bool> {
        let has_worker = self.request(job, parts, Request::Pause).await?;
        audit::record(&self.user, "pause", &format!("job {job}"), 0);
        Ok(has_worker)
    }

    /// Cancels a job and its parts, as [`Job::cancel`] does, once their workers have stopped.
    /// Returns how many items were skipped.
    ///
    /// # Errors
    /// The store fails.
    pub async fn cancel(&self, job: &str, parts: &[String]) -> StoreResult<u64> {
        while self.request(job, parts, Request::Cancel).await? {
            tokio::time::sleep(POLL_EVERY).await;
        }
        let mut skipped = 0_u64;
        for job in all(job, parts) {
            let (store, mut of_job) = (self.letters.store(), 0_u64);
            loop {
                // A worker may have joined in the meantime.
                if !self.request(job, &[], Request::Cancel).await? {
                    of_job = of_job.saturating_add(Job::cancel(store, job).await?);
                    // A lease may outlast the heartbeat of a worker that was killed on another
                    // machine.
                    if store.counts(job).await?.leased == 0 {
                        break;
                    }
                }
                tokio::time::sleep(POLL_EVERY).await;
            }
            audit::record(&self.user, "cancel", &format!("job {job}"), of_job);
            skipped = skipped.saturating_add(of_job);
        }
        Ok(skipped)
    }

    /// Cancels items of a job, and returns how many: those that wait or run are skipped, with a
    /// failure of class `cancelled`. A handler that runs for one is dropped within a second or two,
    /// and its attempt is recorded as lost. Items that have ended are left unchanged.
    ///
    /// ```
    /// # use retry_workflow::store::NewItem;
    /// # use retry_workflow::{ItemState, Operator, SqliteStore, Store};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// store.enqueue("import-1", vec![NewItem::new("17", "{}")], store.now()).await?;
    /// let ada = Operator::new(store.clone(), "ada");
    /// assert_eq!(ada.cancel_items("import-1", ["17"]).await?, 1);
    /// assert_eq!(store.item("import-1", "17").await?.unwrap().state, ItemState::Skipped);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn cancel_items<Kind>(
        &self,
        job: &str,
        ids: impl OneOrMany<String, Kind>,
    ) -> StoreResult<u64> {
        let store = self.letters.store();
        let meant = Filter::job(job).ids(ids);
        let unfinished = meant.clone().states([ItemState::Pending, ItemState::Leased]);
        let skip = Alteration::Skip(Failure::new(CANCELLED, "the item was cancelled"));
        let cancelled = store.alter(&unfinished, skip, usize::MAX, store.now()).await?;
        audit::record(&self.user, "cancel", &object(&meant), cancelled);
        Ok(cancelled)
    }

    /// Makes the waiting items of a job and of its parts due now, as [`Job::make_due`] does.
    ///
    /// # Errors
    /// The store fails.
    pub async fn make_due(&self, job: &str, parts: &[String]) -> StoreResult<u64> {
        let mut due = 0_u64;
        for job in all(job, parts) {
            let of_job = Job::make_due(self.letters.store(), job).await?;
            audit::record(&self.user, "make due", &format!("job {job}"), of_job);
            due = due.saturating_add(of_job);
        }
        Ok(due)
    }

    /// Sends a request to the workers of a job and of its parts, and returns whether there are any.
    ///
    /// # Errors
    /// The store fails.
    async fn request(&self, job: &str, parts: &[String], request: Request) -> StoreResult<bool> {
        let mut has_worker = false;
        for job in all(job, parts) {
            has_worker |= Job::request(self.letters.store(), job, request).await?;
        }
        Ok(has_worker)
    }

    /// Replaces the payload of a dead letter, and returns whether there is one with this id.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn edit(&self, job: &str, id: &str, payload: &str) -> StoreResult<bool> {
        let store = self.letters.store();
        let one = Filter::job(job).ids([id]);
        let failed = one.clone().states([ItemState::Dead, ItemState::Skipped]);
        let payload = Alteration::Edit(payload.to_owned());
        let edited = store.alter(&failed, payload, 1, store.now()).await?;
        audit::record(&self.user, "edit", &object(&one), edited);
        Ok(edited > 0)
    }
}

/// A job and its parts.
fn all<'a>(job: &'a str, parts: &'a [String]) -> impl Iterator<Item = &'a str> {
    std::iter::once(job).chain(parts.iter().map(String::as_str))
}

/// Returns what a filter selects, in words.
fn object(filter: &Filter) -> String {
    let Filter { job, ids, class, signature, since, until, states } = filter;
    let items = ids.as_deref().map(|ids| match ids {
        [one] => format!("item {one}"),
        several => count(u64::try_from(several.len()).unwrap_or(u64::MAX), "item"),
    });
    let states = states.as_ref().map(|states| {
        let names: Vec<_> = states.iter().map(|state| state.as_str()).collect();
        names.join(" or ")
    });
    let conditions = [
        job.as_ref().map(|job| format!("job {job}")),
        items,
        class.as_ref().map(|class| format!("class {class}")),
        signature.as_ref().map(|signature| format!("signature {signature}")),
        since.map(|since| format!("since {}", moment(since))),
        until.map(|until| format!("until {}", moment(until))),
        states,
    ];
    let text = conditions.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if text.is_empty() { "all dead letters".to_owned() } else { text }
}
