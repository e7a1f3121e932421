//! [`StoreCheck`]: what a check of a whole store found.

use serde::Serialize;

use super::sql::{self, Columns, SqlRow};
use crate::item::clock::Timestamp;
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
    /// The jobs whose counts or summary do not match their items.
    pub disagreements: Vec<Disagreement>,
    /// The damage, as the database words it.
    pub damage: Vec<String>,
}

/// A summary of a job's items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Summary {
    /// The failures with this class and this signature that ended in this hour.
    Group {
        /// The class.
        class: String,
        /// The signature.
        signature: String,
        /// The hour.
        hour: Timestamp,
    },
    /// The same over all jobs: it is compared with the groups of the jobs, added up.
    AllJobs {
        /// The class.
        class: String,
        /// The signature.
        signature: String,
        /// The hour.
        hour: Timestamp,
    },
    /// The successes of this minute.
    Minute(Timestamp),
}

/// A count of a job that does not match its items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Disagreement {
    /// The job; empty for a summary over all of them.
    pub job: String,
    /// The state of the items that are counted.
    pub state: ItemState,
    /// The summary that counts them, if it is not the counts of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The number according to the counts of the job or to the summary.
    pub counted: u64,
    /// The number of items that were found.
    pub found: u64,
}

impl StoreCheck {
    /// Creates a result without problems so far.
    pub fn new(layout: u32, newest: u32, bytes: u64) -> Self {
        Self { layout, newest, bytes, items: 0, disagreements: Vec::new(), damage: Vec::new() }
    }

    /// Compares the number of items of a job in a state, in its counts or in a summary, with the
    /// number found; the job is empty for a summary over all of them.
    fn compare(
        &mut self,
        (job, state): (String, ItemState),
        summary: Option<Summary>,
        (counted, found): (u64, u64),
    ) {
        if summary.is_none() {
            self.items = self.items.saturating_add(found);
        }
        if counted != found {
            self.disagreements.push(Disagreement { job, state, summary, counted, found });
        }
    }

    /// Returns `true` if no problem was found.
    pub fn is_sound(&self) -> bool {
        self.disagreements.is_empty() && self.damage.is_empty()
    }
}

/// A comparison of the counts or the summaries of a store in SQL with its items, in one statement.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    /// The counts of each job, whether they differ or not.
    Counts,
    /// The groups that differ from the failures.
    Groups,
    /// The roll-ups that are not the sum of their groups.
    Rollup,
    /// The minutes that differ from the items that succeeded in them.
    Minutes,
}

impl Comparison {
    /// All comparisons.
    pub const ALL: [Self; 4] = [Self::Counts, Self::Groups, Self::Rollup, Self::Minutes];

    /// Returns the statement. `counts` selects the job and the counts by state.
    pub fn sql(self, counts: &str) -> String {
        let states = &sql::COUNTS[..ItemState::ALL.len()];
        let hour = sql::hour("s.ended");
        match self {
            Self::Counts => format!(
                "SELECT j.name, {}, {} FROM @jobs j LEFT JOIN ({counts}) c USING (job) \
                 LEFT JOIN (SELECT job, count(*) FILTER (WHERE state = 0) AS pending, \
                     count(*) FILTER (WHERE state = 1) AS leased, \
                     count(*) FILTER (WHERE state = 2) AS succeeded, \
                     count(*) FILTER (WHERE state = 3) AS dead, \
                     count(*) FILTER (WHERE state >= 4) AS skipped \
                     FROM @states GROUP BY job) s USING (job) ORDER BY j.name",
                sql::each(states, |state| format!("coalesce(c.{state}, 0)")),
                sql::each(states, |state| format!("coalesce(s.{state}, 0)")),
            ),
            Self::Groups => format!(
                "SELECT j.name, state, coalesce(g.count, 0), coalesce(f.count, 0), hour, class, \
                     signature \
                 FROM (SELECT job, state, class, signature, hour, \
                     CAST(sum(count) AS bigint) AS count FROM @groups GROUP BY 1, 2, 3, 4, 5) g \
                 FULL JOIN (SELECT s.job, s.state, f.class, f.signature, {hour} AS hour, \
                     count(*) AS count FROM @failures f JOIN @states s ON s.item = f.item \
                     WHERE s.ended IS NOT NULL GROUP BY 1, 2, 3, 4, 5) f \
                     USING (job, state, class, signature, hour) \
                 JOIN @jobs j USING (job) \
                 WHERE coalesce(g.count, 0) <> coalesce(f.count, 0) ORDER BY 1, 2, 6, 7, 5",
            ),
            Self::Rollup => "SELECT '', state, CAST(sum(rolled) AS bigint), \
                     CAST(sum(grouped) AS bigint), hour, class, signature \
                 FROM (SELECT state, class, signature, hour, count AS rolled, 0 AS grouped \
                         FROM @rollup \
                     UNION ALL SELECT state, class, signature, hour, 0, count FROM @groups) r \
                 GROUP BY state, class, signature, hour HAVING sum(rolled) <> sum(grouped) \
                 ORDER BY 2, 6, 7, 5"
                .to_owned(),
            Self::Minutes => format!(
                "SELECT j.name, 2, coalesce(m.succeeded, 0), coalesce(s.count, 0), minute \
                 FROM (SELECT job, minute, CAST(sum(succeeded) AS bigint) AS succeeded \
                     FROM @minutes GROUP BY 1, 2) m \
                 FULL JOIN (SELECT job, {} AS minute, count(*) AS count FROM @states \
                     WHERE state = 2 AND ended IS NOT NULL GROUP BY 1, 2) s USING (job, minute) \
                 JOIN @jobs j USING (job) \
                 WHERE coalesce(m.succeeded, 0) <> coalesce(s.count, 0) ORDER BY 1, 5",
                sql::minute_of("ended")
            ),
        }
    }

    /// Reads a row of the statement.
    ///
    /// # Errors
    /// A column cannot be read.
    pub fn read<R: SqlRow>(
        self,
        columns: &mut Columns<R>,
        check: &mut StoreCheck,
    ) -> Result<(), R::Error> {
        let job = columns.text()?;
        if let Self::Counts = self {
            let mut read = || ItemState::ALL.map(|_| columns.count());
            for ((state, counted), found) in ItemState::ALL.into_iter().zip(read()).zip(read()) {
                check.compare((job.clone(), state), None, (counted?, found?));
            }
            return Ok(());
        }
        let state = columns.state()?;
        let (counted, found, time) = (columns.count()?, columns.count()?, columns.time()?);
        let summary = match self {
            Self::Rollup => {
                Summary::AllJobs { class: columns.text()?, signature: columns.text()?, hour: time }
            }
            Self::Minutes => Summary::Minute(time),
            Self::Groups | Self::Counts => {
                Summary::Group { class: columns.text()?, signature: columns.text()?, hour: time }
            }
        };
        check.compare((job, state), Some(summary), (counted, found));
        Ok(())
    }
}
