//! [`Hub`]: where the members of a fleet meet. It keeps what they say and changes it by the
//! rules of this crate; it decides nothing.

#[cfg(any(test, feature = "testing"))]
pub mod contract;
mod error;
mod memory;

use core::future::Future;
use core::pin::Pin;
use core::time::Duration;

pub use self::error::HubError;
pub use self::memory::MemoryHub;
use crate::rules::breaker_record::{BreakerRecord, Change};
use crate::rules::lending::{Ask, Grant};
use crate::rules::member_id::MemberId;
use crate::rules::quorum::Tally;

/// What each method of a hub gives.
pub type HubResult<T> = Result<T, HubError>;

/// Where the members of a fleet meet: memory, a database, whatever keeps a few rows.
///
/// Each method is one transaction. The hub has the clock: its times are durations since a
/// moment of its own, and members only compare them with each other.
///
/// # A hub of your own
///
/// - Start from [`MemoryHub`], the shortest one: it keeps members, records of breakers, and one
///   [`Book`](crate::Book) for each quota.
/// - The rules are in this crate: [`change`](Self::change) applies [`BreakerRecord::apply`] and
///   [`lend`](Self::lend) applies [`Book::lend`](crate::Book::lend), each with the row locked.
/// - [`HubError::Unavailable`] is what members retry by themselves; [`HubError::Refused`] is what
///   [`Fleet::join`](crate::Fleet::join) returns.
/// - The feature `testing` has a test for each promise on this page:
///
#[cfg_attr(feature = "testing", doc = "```no_run")]
#[cfg_attr(not(feature = "testing"), doc = "```ignore")]
/// # use retry_fleet::MemoryHub as MyHub;
/// // In `tests/my_hub.rs`; the second value lives as long as the test.
/// retry_fleet::hub_contract!(async || Some((MyHub::new(), ())));
/// # fn main() {}
/// ```
pub trait Hub: Send + Sync + 'static {
    /// Writes down what a member says, and tells it what is new: the one question that every
    /// member asks all the time, so it should be one query.
    ///
    /// With [`heartbeat`](Beat::heartbeat) the member is a live one from now on, known to
    /// [`members`](Self::members); and the view tells how many there are. A report replaces
    /// the member's earlier one of that breaker, but for the moment of its last call.
    fn poll(&self, fleet: &str, beat: &Beat) -> impl Future<Output = HubResult<View>> + Send;

    /// Changes the record of a breaker by [`BreakerRecord::apply`], and returns it as it is then,
    /// with whether that did anything. An unknown breaker has the default record.
    fn change(
        &self,
        fleet: &str,
        breaker: &str,
        member: &MemberId,
        change: Change,
    ) -> impl Future<Output = HubResult<Changed>> + Send;

    /// Lends a part of a bucket by [`Book::lend`](crate::Book::lend).
    ///
    /// An unknown bucket is full. A lease runs for [`lasts`](Ask::lasts) from its
    /// renewal on. A member is silent when its lease has ended, and forgotten, with its floor,
    /// once it has not asked for [`forgotten`](Ask::forgotten); time in which no member asked
    /// for as long as a lease lasts does not count, for then the hub was away.
    ///
    /// `None` for an ask whose `seq` is not larger than that of an earlier one.
    fn lend(&self, fleet: &str, ask: &Ask)
    -> impl Future<Output = HubResult<Option<Grant>>> + Send;

    /// Forgets a member, its reports and what it holds. A probe of it ends by its lease.
    fn leave(&self, fleet: &str, member: &MemberId) -> impl Future<Output = HubResult<()>> + Send;

    /// Returns those who have said within the last `alive` that they live, by their names.
    fn members(
        &self,
        fleet: &str,
        alive: Duration,
    ) -> impl Future<Output = HubResult<Vec<Member>>> + Send;
}

/// What a member says when it asks for what is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Who speaks.
    pub member: MemberId,
    /// Whether it says that it lives.
    pub heartbeat: bool,
    /// Who was silent for so long does not count.
    pub alive: Duration,
    /// What there is to say of its breakers.
    pub reports: Vec<Report>,
    /// The breakers of which it asks how the *other* members see them.
    pub tallies: Vec<String>,
    /// Who has not called one for so long does not count there.
    pub lately: Duration,
}

/// How one member sees one breaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The breaker's name.
    pub breaker: String,
    /// Whether it was called since the last report.
    pub called: bool,
    /// Whether the member itself has opened it.
    pub open: bool,
}

/// The hub's answer to a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The hub's time.
    pub now: Duration,
    /// How many live members there are, if the beat was a heartbeat.
    pub members: Option<u32>,
    /// Every breaker of which the hub has a record.
    pub breakers: Vec<(String, BreakerRecord)>,
    /// What was asked for, in that order.
    pub tallies: Vec<(String, Tally)>,
}

/// A record after somebody wanted to change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The hub's time.
    pub now: Duration,
    /// Whether the rules allowed it.
    pub done: bool,
    /// The record as it is now.
    pub record: BreakerRecord,
}

/// A live member of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Who it is.
    pub id: MemberId,
    /// How long ago it has joined.
    pub joined: Duration,
    /// How long ago it was heard of.
    pub seen: Duration,
}

impl Member {
    /// Creates a member, for a hub of your own.
    pub const fn new(id: MemberId, joined: Duration, seen: Duration) -> Self {
        Self { id, joined, seen }
    }
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = HubResult<T>> + Send + 'a>>;

/// A hub of any kind, for the one task of a member.
pub(crate) trait AnyHub: Send + Sync {
    fn poll<'a>(&'a self, fleet: &'a str, beat: &'a Beat) -> Answer<'a, View>;
    fn change<'a>(
        &'a self,
        fleet: &'a str,
        breaker: &'a str,
        member: &'a MemberId,
        change: Change,
    ) -> Answer<'a, Changed>;
    fn lend<'a>(&'a self, fleet: &'a str, ask: &'a Ask) -> Answer<'a, Option<Grant>>;
    fn leave<'a>(&'a self, fleet: &'a str, member: &'a MemberId) -> Answer<'a, ()>;
    fn members<'a>(&'a self, fleet: &'a str, alive: Duration) -> Answer<'a, Vec<Member>>;
}

impl<H: Hub> AnyHub for H {
    fn poll<'a>(&'a self, fleet: &'a str, beat: &'a Beat) -> Answer<'a, View> {
        Box::pin(Hub::poll(self, fleet, beat))
    }

    fn change<'a>(
        &'a self,
        fleet: &'a str,
        breaker: &'a str,
        member: &'a MemberId,
        change: Change,
    ) -> Answer<'a, Changed> {
        Box::pin(Hub::change(self, fleet, breaker, member, change))
    }

    fn lend<'a>(&'a self, fleet: &'a str, ask: &'a Ask) -> Answer<'a, Option<Grant>> {
        Box::pin(Hub::lend(self, fleet, ask))
    }

    fn leave<'a>(&'a self, fleet: &'a str, member: &'a MemberId) -> Answer<'a, ()> {
        Box::pin(Hub::leave(self, fleet, member))
    }

    fn members<'a>(&'a self, fleet: &'a str, alive: Duration) -> Answer<'a, Vec<Member>> {
        Box::pin(Hub::members(self, fleet, alive))
    }
}
