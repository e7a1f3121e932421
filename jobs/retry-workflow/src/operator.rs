//! [`Operator`]: a user who changes jobs and their items. Each action is an event of `tracing`.

use crate::audit;
use crate::dead_letters::{DeadLetters, Redrive};
use crate::item::record::Filter;
use crate::store::{IntoStore, StoreResult};
use crate::words::{count, moment};

/// A user who changes jobs and their items, on the board, on the command line or in a program.
///
/// Each action is an event of [`audit`], once it is done.
///
/// ```
/// use retry_workflow::{Filter, MemoryStore, Operator, Redrive};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), retry_workflow::StoreError> {
/// let ada = Operator::new(MemoryStore::new(), "ada");
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

    /// Returns the dead letters of the store.
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

    /// Replaces the payload of a dead letter, and returns whether there is one with this id.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn edit(&self, job: &str, id: &str, payload: &str) -> StoreResult<bool> {
        let is_edited = self.letters.store().edit(job, id, payload.to_owned()).await?;
        let edited = object(&Filter::job(job).ids([id]));
        audit::record(&self.user, "edit", &edited, is_edited.into());
        Ok(is_edited)
    }
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
