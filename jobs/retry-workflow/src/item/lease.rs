//! Leases of items: what a worker claims, what it holds, and how it settles it.

use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::{AttemptRecord, ItemState};

/// A worker's hold on an item. The token is a fencing token: a later lease of the item has a higher
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseKey {
    /// The item, by the store's own number.
    pub item: i64,
    /// The number of times that it was leased.
    pub token: u64,
}

/// The items that [`Store::claim`](crate::Store::claim) leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Items that are no suspects: those that have begun and new ones, as
    /// [`begun_first`](Self::begun_first) divides the claim between them.
    Items {
        /// The largest number of items.
        max: usize,
        /// The number of them, the first ones, that start at once; the others wait for a free slot.
        starts: usize,
    },
    /// One [suspect](Lease::is_suspect), which starts at once: the caller works on nothing else
    /// while it holds it.
    Suspect,
}

impl Selection {
    /// Returns whether suspects are meant, how many items at most, and how many of them start at
    /// once.
    ///
    /// For your own stores, in [`Store::claim`](crate::Store::claim).
    ///
    /// ```
    /// use retry_workflow::store::Selection;
    ///
    /// assert_eq!(Selection::Items { max: 10, starts: 4 }.bounds(), (false, 10, 4));
    /// assert_eq!(Selection::Suspect.bounds(), (true, 1, 1));
    /// ```
    pub const fn bounds(self) -> (bool, usize, usize) {
        match self {
            Self::Items { max, starts } => (false, max, starts),
            Self::Suspect => (true, 1, 1),
        }
    }

    /// Returns how many items, at most, come first in a claim at `now` because their present run
    /// has begun: half of `max`. Of an odd number, the one in the middle is among them if `now` is
    /// odd in microseconds, so that claims of one item take turns.
    ///
    /// For your own stores, in [`Store::claim`](crate::Store::claim).
    ///
    /// ```
    /// use retry_workflow::Timestamp;
    /// use retry_workflow::store::Selection;
    ///
    /// let ten = Selection::Items { max: 10, starts: 4 };
    /// assert_eq!(ten.begun_first(Timestamp::from_micros(7)), 5);
    /// let one = Selection::Items { max: 1, starts: 1 };
    /// assert_eq!(one.begun_first(Timestamp::from_micros(7)), 1);
    /// assert_eq!(one.begun_first(Timestamp::from_micros(8)), 0);
    /// ```
    pub const fn begun_first(self, now: Timestamp) -> usize {
        match self {
            Self::Items { max, .. } if now.as_micros() % 2 != 0 => max.div_ceil(2),
            Self::Items { max, .. } => max / 2,
            Self::Suspect => 0,
        }
    }
}

/// An item that a worker holds until the lease expires.
///
/// Your own store creates one with [`new`](Self::new), and sets the fields that differ:
///
/// ```
/// use retry_workflow::store::{Lease, LeaseKey};
///
/// let mut lease = Lease::new(LeaseKey { item: 7, token: 4 }, "A-17", r#"{"quantity": 3}"#);
/// lease.attempt = 4;
/// (lease.lost, lease.dropped) = (2, 1);
/// assert!(lease.is_suspect());
/// assert_eq!(lease.strikes(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The key that settles it.
    pub key: LeaseKey,
    /// Its id within the job.
    pub id: String,
    /// The payload: JSON.
    pub payload: String,
    /// The id that follows it through logs, if it has its own.
    pub correlation: Option<String>,
    /// 0, plus one for each re-drive.
    pub run: u32,
    /// The number of this attempt within the run; the first is 1.
    pub attempt: u32,
    /// The number of leases that have expired unsettled after the item was started, since one was
    /// last settled: each was an attempt, and has a row in the history.
    pub lost: u32,
    /// The number of leases that have expired unsettled before the item was started, since one was
    /// last settled: their worker died before it came to this item.
    pub dropped: u32,
    /// The checkpoint that the last attempt left.
    pub checkpoint: Option<String>,
}

impl Lease {
    /// Creates the lease of a first attempt: run 0, attempt 1, nothing lost or dropped, no
    /// checkpoint.
    pub fn new(key: LeaseKey, id: impl Into<String>, payload: impl Into<String>) -> Self {
        Self {
            key,
            id: id.into(),
            payload: payload.into(),
            correlation: None,
            run: 0,
            attempt: 1,
            lost: 0,
            dropped: 0,
            checkpoint: None,
        }
    }

    /// Returns `true` if the item may have killed its workers: so many of its leases expired
    /// unsettled that only [`Selection::Suspect`] leases it.
    pub const fn is_suspect(&self) -> bool {
        self.lost.saturating_add(self.dropped) >= SUSPECT_AFTER
    }

    /// Returns how many workers died while this item ran alone. Any other loss may be the fault of
    /// another item.
    pub const fn strikes(&self) -> u32 {
        self.lost.saturating_add(self.dropped).saturating_sub(SUSPECT_AFTER)
    }
}

/// An item is a [suspect](Lease::is_suspect) once this many of its leases have expired unsettled.
pub const SUSPECT_AFTER: u32 = 2;

/// The start of work on a leased item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Start {
    /// The lease.
    pub lease: LeaseKey,
    /// The time at which it began.
    pub at: Timestamp,
}

impl Start {
    /// Creates the start of a leased item.
    pub const fn new(lease: LeaseKey, at: Timestamp) -> Self {
        Self { lease, at }
    }
}

/// The new state of a leased item.
///
/// Every store supports all of them, so no variant will be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Done, with an output that can be read later (JSON or text).
    Succeeded(Option<String>),
    /// Another attempt, not before `due`.
    RetryAt {
        /// The time at which it is due.
        due: Timestamp,
        /// The checkpoint for that attempt.
        checkpoint: Option<String>,
    },
    /// A dead letter.
    Dead {
        /// The failure with which it ended.
        failure: Failure,
        /// The checkpoint for a re-drive [from the failed step](crate::Redrive::from_failed).
        checkpoint: Option<String>,
    },
    /// Skipped.
    Skipped {
        /// The reason, if there is one.
        failure: Option<Failure>,
        /// The checkpoint for a re-drive [from the failed step](crate::Redrive::from_failed).
        checkpoint: Option<String>,
    },
    /// Put back as if it had not been claimed: pending and due, the attempt neither started nor
    /// counted.
    Released,
    /// The same, but not due before then: something else that it needs is busy. It then comes
    /// before what is new, like an item that has begun.
    Deferred {
        /// The time at which it is due.
        due: Timestamp,
        /// The checkpoint for its attempt.
        checkpoint: Option<String>,
        /// Set if it waits for a limit of the job: see [`Waiting::ForLimit`](crate::store::Waiting::ForLimit).
        for_limit: bool,
    },
}

impl Settled {
    /// Creates the end of an item as a dead letter without a checkpoint.
    pub const fn dead(failure: Failure) -> Self {
        Self::Dead { failure, checkpoint: None }
    }

    /// Creates the end of an item that is skipped, for this reason if there is one, without a
    /// checkpoint.
    pub const fn skipped(failure: Option<Failure>) -> Self {
        Self::Skipped { failure, checkpoint: None }
    }

    /// Returns the state that the item gets.
    pub const fn state(&self) -> ItemState {
        match self {
            Self::Succeeded(_) => ItemState::Succeeded,
            Self::RetryAt { .. } | Self::Released | Self::Deferred { .. } => ItemState::Pending,
            Self::Dead { .. } => ItemState::Dead,
            Self::Skipped { .. } => ItemState::Skipped,
        }
    }

    /// Returns when the item is due again if it is settled at `now`; `None` if it has ended.
    pub const fn due(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::RetryAt { due, .. } | Self::Deferred { due, .. } => Some(*due),
            Self::Released => Some(now),
            Self::Succeeded(_) | Self::Dead { .. } | Self::Skipped { .. } => None,
        }
    }

    /// Returns `true` if the attempt is taken back, as if the item had not been claimed: it is
    /// released or deferred.
    pub const fn takes_back(&self) -> bool {
        matches!(self, Self::Released | Self::Deferred { .. })
    }

    /// Returns the checkpoint for the next attempt. A release keeps the one that the item has.
    pub fn checkpoint(&self) -> Option<&str> {
        match self {
            Self::RetryAt { checkpoint, .. }
            | Self::Deferred { checkpoint, .. }
            | Self::Dead { checkpoint, .. }
            | Self::Skipped { checkpoint, .. } => checkpoint.as_deref(),
            _ => None,
        }
    }

    /// Returns the output of a success.
    pub fn output(&self) -> Option<&str> {
        match self {
            Self::Succeeded(output) => output.as_deref(),
            _ => None,
        }
    }

    /// Returns the failure with which the item ends.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Dead { failure, .. } => Some(failure),
            Self::Skipped { failure, .. } => failure.as_ref(),
            _ => None,
        }
    }
}

/// The end of a lease, and what to write about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settlement {
    /// The lease.
    pub lease: LeaseKey,
    /// The new state of the item.
    pub end: Settled,
    /// Rows of its history, in order.
    pub history: Vec<AttemptRecord>,
    /// The durations of successful steps, which have no row there.
    pub step_times: Vec<StepTime>,
}

impl Settlement {
    /// Creates the settlement of a lease, without step times.
    pub fn new(lease: LeaseKey, end: Settled, history: Vec<AttemptRecord>) -> Self {
        Self { lease, end, history, step_times: Vec::new() }
    }

    /// Creates the release of a lease whose item was not started.
    pub const fn released(lease: LeaseKey) -> Self {
        Self { lease, end: Settled::Released, history: Vec::new(), step_times: Vec::new() }
    }

    /// Returns how long each attempt took, with its step if it has one: from the rows of the
    /// history, except lost and postponed attempts, and from the step times.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_workflow::store::{LeaseKey, Settled, Settlement, StepTime};
    ///
    /// let key = LeaseKey { item: 7, token: 1 };
    /// let mut settlement = Settlement::new(key, Settled::Succeeded(None), Vec::new());
    /// settlement.step_times = vec![StepTime::new("download", Duration::from_secs(2))];
    /// let took: Vec<_> = settlement.took().collect();
    /// assert_eq!(took, [(Some("download"), Duration::from_secs(2))]);
    /// ```
    pub fn took(&self) -> impl Iterator<Item = (Option<&str>, Duration)> {
        let rows = self.history.iter().filter_map(AttemptRecord::took);
        rows.chain(self.step_times.iter().map(|one| (Some(&*one.step), one.took)))
    }
}

/// The duration of a successful step. It has no row in the history, where an attempt that succeeds
/// has one row for all of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepTime {
    /// The step's name.
    pub step: String,
    /// The time that it took.
    pub took: Duration,
}

impl StepTime {
    /// Creates the time that a step took.
    pub fn new(step: impl Into<String>, took: Duration) -> Self {
        Self { step: step.into(), took }
    }
}
