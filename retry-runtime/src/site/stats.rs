//! The outcomes of a function's calls, counted on the failure path.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use crate::base::clock::nanos_of;
use crate::event::Event;
use crate::outcome::ended::Reason;

/// The outcomes of the calls of one function since the program started.
///
/// Only calls that fail at least once, and hedges, are counted: a call that succeeds on its first
/// attempt costs nothing.
///
/// ```
/// use retry_runtime::{Reason, retry, sites};
///
/// #[retry(attempts = 2, initial_delay = "1ms", name = "stats.example")]
/// fn fail() -> Result<(), String> {
///     Err("no".to_owned())
/// }
///
/// let _ = fail();
/// let site = sites().into_iter().find(|site| site.name() == "stats.example").unwrap();
/// let stats = site.stats();
/// assert_eq!((stats.attempts, stats.retries), (2, 1));
/// assert_eq!(stats.gave_up_by(Reason::Attempts), 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Attempts of the calls that failed at least once.
    pub attempts: u64,
    /// Failed attempts that were followed by a wait.
    pub retries: u64,
    /// Calls that succeeded after having failed.
    pub recovered: u64,
    /// Attempts that joined one that had not answered: hedges, also of calls that never failed.
    pub hedges: u64,
    /// Hedges that were the first to succeed.
    pub hedge_wins: u64,
    /// The sum of the waits.
    pub waited: Duration,
    gave_up: [u64; Reason::COUNT],
}

impl Stats {
    /// Returns how many calls were given up.
    ///
    /// ```
    /// use retry_runtime::{retry, sites};
    ///
    /// #[retry(attempts = 1, name = "doc.gave_up")]
    /// fn fail() -> Result<(), String> {
    ///     Err("no".to_owned())
    /// }
    ///
    /// let _ = fail();
    /// let site = sites().into_iter().find(|site| site.name() == "doc.gave_up").unwrap();
    /// assert_eq!(site.stats().gave_up(), 1);
    /// ```
    pub fn gave_up(&self) -> u64 {
        self.gave_up.iter().sum()
    }

    /// Returns how many calls were given up for this reason.
    ///
    /// ```
    /// use retry_runtime::{Reason, retry, sites};
    ///
    /// #[retry(attempts = 1, name = "doc.gave_up_by")]
    /// fn fail() -> Result<(), String> {
    ///     Err("no".to_owned())
    /// }
    ///
    /// let _ = fail();
    /// let site = sites().into_iter().find(|site| site.name() == "doc.gave_up_by").unwrap();
    /// assert_eq!(site.stats().gave_up_by(Reason::Attempts), 1);
    /// assert_eq!(site.stats().gave_up_by(Reason::Budget), 0);
    /// ```
    pub fn gave_up_by(&self, reason: Reason) -> u64 {
        self.gave_up[reason.index()]
    }
}

/// The counters. Relaxed throughout: a number guards no other data.
pub(crate) struct Counters {
    retries: AtomicU64,
    recovered: AtomicU64,
    hedges: AtomicU64,
    hedge_wins: AtomicU64,
    waited_nanos: AtomicU64,
    gave_up: [AtomicU64; Reason::COUNT],
    /// Those of the given-up calls whose next attempt was not admitted.
    rejected: AtomicU64,
}

impl Counters {
    pub(crate) const fn new() -> Self {
        Self {
            retries: AtomicU64::new(0),
            recovered: AtomicU64::new(0),
            hedges: AtomicU64::new(0),
            hedge_wins: AtomicU64::new(0),
            waited_nanos: AtomicU64::new(0),
            gave_up: [const { AtomicU64::new(0) }; Reason::COUNT],
            rejected: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn count(&self, event: &Event<'_>) {
        match *event {
            Event::Retry { wait, .. } => {
                add(&self.retries, 1);
                add(&self.waited_nanos, nanos_of(wait));
            }
            Event::Recovered { .. } => add(&self.recovered, 1),
            Event::GaveUp { reason, rejected, .. } => {
                add(&self.rejected, u64::from(rejected));
                add(&self.gave_up[reason.index()], 1);
            }
            Event::Hedged { .. } => add(&self.hedges, 1),
            Event::HedgeWon { .. } => add(&self.hedge_wins, 1),
            _ => {}
        }
    }

    pub(crate) fn read(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let rejected = read(&self.rejected);
        let (retries, recovered) = (read(&self.retries), read(&self.recovered));
        let gave_up = core::array::from_fn(|reason| read(&self.gave_up[reason]));
        // Each attempt of a call that has failed is followed by a wait or by the end of the call.
        let ends = gave_up.iter().fold(recovered, |sum, more| sum.saturating_add(*more));
        Stats {
            attempts: retries.saturating_add(ends.saturating_sub(rejected)),
            retries,
            recovered,
            hedges: read(&self.hedges),
            hedge_wins: read(&self.hedge_wins),
            waited: Duration::from_nanos(read(&self.waited_nanos)),
            gave_up,
        }
    }
}

/// Saturates: after 584 years of waiting, or as many calls, it does not wrap to zero.
fn add(counter: &AtomicU64, more: u64) {
    if counter.fetch_add(more, Ordering::Relaxed).checked_add(more).is_none() {
        counter.store(u64::MAX, Ordering::Relaxed);
    }
}
