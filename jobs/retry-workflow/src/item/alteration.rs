//! [`Alteration`]: a change of items that no worker makes.

use std::time::Duration;

use super::failure::Failure;
use super::record::{Filter, ItemState};

/// A change of items that no worker makes: [`Store::alter`](crate::Store::alter).
///
/// Every store supports all of them, so no variant will be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alteration {
    /// Begins a new run of items that are dead or skipped, and not purged: run + 1, attempt 0;
    /// history and correlation id stay. If it is done `by` a user, each history gets a row of the
    /// outcome [`Redriven`](crate::store::AttemptOutcome::Redriven).
    Redrive {
        /// The time between the due times of two items. The first one is due at once.
        every: Duration,
        /// The user.
        by: Option<String>,
        /// Keeps the checkpoint, which is removed otherwise.
        from_failed: bool,
    },
    /// Empties items that are dead or skipped: payload, history, checkpoint and failure are gone for
    /// good, and the item counts as skipped, so that it is not added again.
    Purge,
    /// Replaces the payload of items that are dead or skipped, and not purged. The checkpoint, which
    /// is due to the payload as it was, is removed.
    Edit(String),
    /// Makes pending items due at once that would be due later.
    MakeDue(Waiting),
    /// Skips pending items, due or not. A filter of the state `leased` also selects leased items:
    /// their leases end unsettled, and an attempt that has started is written as lost.
    Skip(Failure),
    /// Ends the leases that these workers hold, because they are known to be dead.
    Expire(Vec<String>),
}

impl Alteration {
    /// Creates the re-drive of items that are due this long after each other.
    pub const fn redrive(every: Duration) -> Self {
        Self::Redrive { every, by: None, from_failed: false }
    }

    /// Returns the filter of the items that are altered: the states of a filter apply to items that
    /// are dead or skipped, and the other alterations have a state of their own.
    ///
    /// For your own stores, in [`Store::alter`](crate::Store::alter).
    pub fn among(&self, filter: &Filter) -> Filter {
        match self {
            Self::Redrive { .. } | Self::Purge | Self::Edit(_) => filter.clone(),
            Self::Skip(_) if filter.wants_state(ItemState::Leased) => {
                filter.clone().states([ItemState::Pending, ItemState::Leased])
            }
            Self::MakeDue(_) | Self::Skip(_) => filter.clone().states(ItemState::Pending),
            Self::Expire(_) => filter.clone().states(ItemState::Leased),
        }
    }

    /// Returns `true` if items can be claimed because of it.
    pub const fn makes_due(&self) -> bool {
        matches!(self, Self::Redrive { .. } | Self::MakeDue(_) | Self::Expire(_))
    }
}

/// The items that [`MakeDue`](crate::store::Alteration::MakeDue) makes due.
///
/// Every store supports all of them, so no variant will be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// All that are pending.
    All,
    /// Those that were [deferred](crate::store::Settled::Deferred) for a limit of the job. Items that wait for
    /// their next attempt, or were deferred for another reason, stay as they are.
    ForLimit,
}
