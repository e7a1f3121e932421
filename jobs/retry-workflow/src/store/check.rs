//! [`StoreCheck`]: what a check of a whole store found.

use serde::Serialize;

use super::sql::{self, Columns, SqlRow};
use crate::item::record::ItemState;

/// The result of checking a whole store, such as with
/// [`SqliteStore::check`](crate::SqliteStore::check).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreCheck {
    /// The layout of the store's tables.
    pub layout: u32,
    /// The newest layout that this program knows. A store with an older one is migrated when it is
    /// opened for writing.
    pub newest: u32,
    /// The size of the store, in bytes.
    pub bytes: u64,
    /// The number of items in the store.
    pub items: u64,
    /// The jobs whose counts do not match their items.
    pub disagreements: Vec<Disagreement>,
    /// The damage, as the database words it.
    pub damage: Vec<String>,
}

/// A count of a job that does not match its items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Disagreement {
    /// The job.
    pub job: String,
    /// The state of the items that are counted.
    pub state: ItemState,
    /// The number according to the counts of the job.
    pub counted: u64,
    /// The number of items that were found.
    pub found: u64,
}

impl StoreCheck {
    /// Creates a result without problems so far.
    pub fn new(layout: u32, newest: u32, bytes: u64) -> Self {
        Self { layout, newest, bytes, items: 0, disagreements: Vec::new(), damage: Vec::new() }
    }

    /// Returns `true` if no problem was found.
    pub fn is_sound(&self) -> bool {
        self.disagreements.is_empty() && self.damage.is_empty()
    }
}

/// Returns the statement that compares the counts of each job with its items. `counts` selects the
/// job and the counts by state.
#[doc(hidden)]
pub fn comparison(counts: &str) -> String {
    let states = &sql::COUNTS[..ItemState::ALL.len()];
    format!(
        "SELECT j.name, {}, {} FROM @jobs j LEFT JOIN ({counts}) c USING (job) \
         LEFT JOIN (SELECT job, count(*) FILTER (WHERE state = 0) AS pending, \
             count(*) FILTER (WHERE state = 1) AS leased, \
             count(*) FILTER (WHERE state = 2) AS succeeded, \
             count(*) FILTER (WHERE state = 3) AS dead, \
             count(*) FILTER (WHERE state >= 4) AS skipped \
             FROM @states GROUP BY job) s USING (job) ORDER BY j.name",
        sql::each(states, |state| format!("coalesce(c.{state}, 0)")),
        sql::each(states, |state| format!("coalesce(s.{state}, 0)")),
    )
}

impl StoreCheck {
    /// Reads a row of the [comparison].
    ///
    /// # Errors
    /// A column cannot be read.
    #[doc(hidden)]
    pub fn read<R: SqlRow>(&mut self, columns: &mut Columns<R>) -> Result<(), R::Error> {
        let job = columns.text()?;
        let mut read = || ItemState::ALL.map(|_| columns.count());
        for ((state, counted), found) in ItemState::ALL.into_iter().zip(read()).zip(read()) {
            let (job, counted, found) = (job.clone(), counted?, found?);
            self.items = self.items.saturating_add(found);
            if counted != found {
                self.disagreements.push(Disagreement { job, state, counted, found });
            }
        }
        Ok(())
    }
}
