//! [`Redrive`]: how many dead letters are re-driven at once, how fast and from where; [`Preview`]:
//! what that comes to.

use std::fmt;
use std::time::Duration;

use crate::job::rate::Rate;
use crate::words::{count, duration};

/// The number of items that are re-driven at once, the interval at which they become due, and where
/// they start.
///
/// ```
/// use retry_workflow::Redrive;
///
/// let gently = Redrive::new().max(1_000).rate("10/s".parse().unwrap());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options do nothing until dead letters are re-driven with them"]
pub struct Redrive {
    pub(super) max: Option<u64>,
    pub(super) rate: Option<Rate>,
    pub(super) from_failed: bool,
}

impl Redrive {
    /// Creates options that re-drive everything that the filter selects, all due at once.
    ///
    /// ```
    /// # use retry_workflow::Redrive;
    /// assert_eq!(Redrive::new(), Redrive::default());
    /// ```
    pub const fn new() -> Self {
        Self::within(None, None)
    }

    /// Creates options from limits that may be absent, as forms and command lines have them.
    ///
    /// ```
    /// # use retry_workflow::Redrive;
    /// assert_eq!(Redrive::within(None, None), Redrive::new());
    /// assert_eq!(Redrive::within(Some(100), None), Redrive::new().max(100));
    /// ```
    pub const fn within(max: Option<u64>, rate: Option<Rate>) -> Self {
        Self { max, rate, from_failed: false }
    }

    retry_rules::accessors! {
        /// Limits how many items are re-driven. Default: no limit.
        ///
        /// ```
        /// # use retry_workflow::Redrive;
        /// let a_few = Redrive::new().max(100);
        /// # let _ = a_few;
        /// ```
        pub const fn max(self, items: u64) -> Self { max: Some(items) }

        /// Limits how fast they become due. Default: all are due at once.
        ///
        /// ```
        /// # use retry_workflow::Redrive;
        /// # fn main() -> Result<(), retry_workflow::job::InvalidRate> {
        /// let gently = Redrive::new().rate("600/m".parse()?);
        /// # let _ = gently;
        /// # Ok(())
        /// # }
        /// ```
        pub const fn rate(self, rate: Rate) -> Self { rate: Some(rate) }

        /// Sets whether items continue where they failed, with the checkpoint that
        /// [`AttemptReport::resume_from`](crate::work::AttemptReport::resume_from) set: in a workflow
        /// file, at the step that failed, with all its attempts. Items without such a checkpoint start
        /// at the beginning, as they do by default.
        ///
        /// ```
        /// # use retry_workflow::Redrive;
        /// let without_paying_again = Redrive::new().from_failed(true);
        /// # let _ = without_paying_again;
        /// ```
        pub const fn from_failed(self, from_failed: bool) -> Self { from_failed: from_failed }
    }

    /// Returns the interval at which the items become due.
    pub(super) fn every(self) -> Duration {
        self.rate.map_or(Duration::ZERO, Rate::every)
    }

    /// Returns when the item after so many others becomes due.
    pub(super) fn due_after(self, others: u64) -> Duration {
        self.every().saturating_mul(u32::try_from(others).unwrap_or(u32::MAX))
    }

    pub(super) fn preview(self, selected: u64) -> Preview {
        let items = self.max.map_or(selected, |max| selected.min(max));
        let paced = self.rate.filter(|_| items > 1);
        let last = paced.map(|rate| (rate, self.due_after(items - 1)));
        Preview { items, last }
    }
}

/// The effect that a re-drive would have: [`DeadLetters::preview`](super::DeadLetters::preview).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preview {
    items: u64,
    last: Option<(Rate, Duration)>,
}

impl Preview {
    /// Returns how many items would be re-driven.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Redrive};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), retry_workflow::StoreError> {
    /// # let letters = DeadLetters::new(SqliteStore::in_memory());
    /// let preview = letters.preview(&[Filter::all()], Redrive::new()).await?;
    /// assert_eq!(preview.items(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn items(self) -> u64 {
        self.items
    }
}

/// A sentence: `3 items would be re-driven; at 10/s, the last one is due after 200ms`.
impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} would be re-driven", count(self.items, "item"))?;
        let Some((rate, after)) = self.last else { return Ok(()) };
        write!(f, "; at {rate}, the last one is due after {}", duration(after))
    }
}
