//! [`Hub`]: the meeting point of a fleet's members. It stores their reports and changes them by the
//! rules of this crate; it decides nothing itself.

mod error;
mod memory;

use core::future::{Future, poll_fn};
use core::panic::AssertUnwindSafe;
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;
use std::panic::catch_unwind;

pub use self::error::HubError;
pub use self::memory::MemoryHub;
use crate::rules::fleet_breaker::{Change, FleetBreaker};
use crate::rules::member_id::MemberId;
use crate::rules::quorum::Tally;

/// The result of a method of a hub.
pub type HubResult<T> = Result<T, HubError>;

/// The meeting point of a fleet's members: memory, a database, or any other store of a few rows.
///
/// Each method is one transaction. The hub has its own clock: its times are durations since an
/// arbitrary moment, and members only compare them with each other.
///
/// # A hub of your own
///
/// - Start from [`MemoryHub`], the shortest one: it keeps members and records of breakers.
/// - The rules are in this crate: [`change`](Self::change) applies [`FleetBreaker::apply`], with
///   the row locked.
/// - Members retry after [`HubError::Unavailable`]; [`Fleet::join`](crate::Fleet::join) returns
///   [`HubError::Refused`].
/// - The repository has a test for each promise on this page, in `tests/fixtures/contract`: a crate
///   that is not published, and can be copied.
pub trait Hub: Send + Sync + 'static {
    /// Records what a member reports, and returns what is new. Every member calls this all the
    /// time, so it should be a single query.
    ///
    /// With [`heartbeat`](Beat::heartbeat), the member counts as live from now on and is listed by
    /// [`members`](Self::members), and the view has the number of live members. A report replaces
    /// the member's earlier one about the same breaker, except for the time of its last call.
    fn poll(&self, fleet: &str, beat: &Beat) -> impl Future<Output = HubResult<View>> + Send;

    /// Changes the record of a breaker with [`FleetBreaker::apply`]. Returns the record after
    /// that, and whether it was changed. An unknown breaker has the default record.
    fn change(
        &self,
        fleet: &str,
        breaker: &str,
        member: &MemberId,
        change: Change,
    ) -> impl Future<Output = HubResult<Changed>> + Send;

    /// Forgets a member and its reports. If it is probing, its probe ends with its lease.
    fn leave(&self, fleet: &str, member: &MemberId) -> impl Future<Output = HubResult<()>> + Send;

    /// Returns the members that sent a heartbeat within the last `alive`, sorted by id.
    fn members(
        &self,
        fleet: &str,
        alive: Duration,
    ) -> impl Future<Output = HubResult<Vec<Member>>> + Send;
}

/// A member's poll of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The member that polls.
    pub member: MemberId,
    /// Set if this is a heartbeat.
    pub heartbeat: bool,
    /// Members without a heartbeat for this long do not count.
    pub alive: Duration,
    /// News about its breakers.
    pub reports: Vec<Report>,
    /// The breakers whose tally over the *other* members it requests.
    pub tallies: Vec<String>,
    /// Members that have not called a breaker for this long do not count in its tally.
    pub lately: Duration,
}

/// One member's view of one breaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The breaker's name.
    pub breaker: String,
    /// Set if the member has called it since the last report.
    pub called: bool,
    /// Set if the member itself has opened it.
    pub open: bool,
}

/// The hub's answer to a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The hub's time.
    pub now: Duration,
    /// The number of live members, if the beat was a heartbeat.
    pub members: Option<u32>,
    /// Every breaker that the hub has a record of.
    pub breakers: Vec<(String, FleetBreaker)>,
    /// The requested tallies, in the order of the request.
    pub tallies: Vec<(String, Tally)>,
}

/// A record after an attempt to change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The hub's time.
    pub now: Duration,
    /// Set if the rules allowed it.
    pub done: bool,
    /// The record as it is now.
    pub record: FleetBreaker,
}

/// A live member of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The member's identity.
    pub id: MemberId,
    /// The time since it joined.
    pub joined: Duration,
    /// The time since its last heartbeat.
    pub seen: Duration,
}

impl Member {
    /// Creates a member, for a hub of your own.
    pub const fn new(id: MemberId, joined: Duration, seen: Duration) -> Self {
        Self { id, joined, seen }
    }
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = HubResult<T>> + Send + 'a>>;

/// An object-safe [`Hub`], for the task of a member.
pub(crate) trait AnyHub: Send + Sync {
    fn poll<'a>(&'a self, fleet: &'a str, beat: &'a Beat) -> Answer<'a, View>;
    fn change<'a>(
        &'a self,
        fleet: &'a str,
        breaker: &'a str,
        member: &'a MemberId,
        change: Change,
    ) -> Answer<'a, Changed>;
    fn leave<'a>(&'a self, fleet: &'a str, member: &'a MemberId) -> Answer<'a, ()>;
    fn members<'a>(&'a self, fleet: &'a str, alive: Duration) -> Answer<'a, Vec<Member>>;
}

/// Turns a panic of a hub into an error, because the task of a member must outlive it.
async fn guarded<T>(answer: impl Future<Output = HubResult<T>>) -> HubResult<T> {
    let mut answer = pin!(answer);
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(HubError::unavailable("the hub panicked"))))
    })
    .await
}

impl<H: Hub> AnyHub for H {
    fn poll<'a>(&'a self, fleet: &'a str, beat: &'a Beat) -> Answer<'a, View> {
        Box::pin(guarded(async move { Hub::poll(self, fleet, beat).await }))
    }

    fn change<'a>(
        &'a self,
        fleet: &'a str,
        breaker: &'a str,
        member: &'a MemberId,
        change: Change,
    ) -> Answer<'a, Changed> {
        Box::pin(guarded(async move { Hub::change(self, fleet, breaker, member, change).await }))
    }

    fn leave<'a>(&'a self, fleet: &'a str, member: &'a MemberId) -> Answer<'a, ()> {
        Box::pin(guarded(async move { Hub::leave(self, fleet, member).await }))
    }

    fn members<'a>(&'a self, fleet: &'a str, alive: Duration) -> Answer<'a, Vec<Member>> {
        Box::pin(guarded(async move { Hub::members(self, fleet, alive).await }))
    }
}
