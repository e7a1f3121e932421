//! A hub in memory, for tests and for sharing within one process.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::{Beat, Changed, Hub, HubResult, Member, Report, View};
use crate::rules::fleet_breaker::{Change, FleetBreaker};
use crate::rules::member_id::MemberId;
use crate::rules::quorum::Tally;
use crate::sync::lock;

/// Keeps fleets in memory. A clone is another handle on the same hub.
///
/// It uses tokio's clock, so that with paused time a test skips minutes in an instant.
///
/// ```
/// use retry_fleet::{Fleet, MemoryHub};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), retry_fleet::HubError> {
/// let hub = MemoryHub::new();
/// let one = Fleet::join(hub.clone(), "billing").await?;
/// let other = Fleet::join(hub, "billing").await?;
/// assert_eq!(one.members().await?.len(), 2);
/// # let _ = other;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MemoryHub {
    begin: Instant,
    fleets: Arc<Mutex<BTreeMap<String, FleetData>>>,
}

/// Dead members are kept for this many times the time they count as live.
const KEPT: u32 = 10;

/// The data of one fleet.
#[derive(Debug, Default)]
struct FleetData {
    members: BTreeMap<MemberId, Known>,
    breakers: BTreeMap<String, FleetBreaker>,
}

/// The data of a member.
#[derive(Debug)]
struct Known {
    joined: Duration,
    /// The time of the last heartbeat; `None` if it has only sent reports.
    seen: Option<Duration>,
    /// Its reports on breakers, by name.
    breakers: BTreeMap<String, Seen>,
}

impl Known {
    fn is_alive(&self, now: Duration, alive: Duration) -> bool {
        self.seen.is_some_and(|seen| now.saturating_sub(seen) < alive)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    open: bool,
    called: Option<Duration>,
}

impl MemoryHub {
    /// Creates a hub without members.
    pub fn new() -> Self {
        Self { begin: Instant::now(), fleets: Arc::default() }
    }

    fn now(&self) -> Duration {
        self.begin.elapsed()
    }
}

impl Default for MemoryHub {
    fn default() -> Self {
        Self::new()
    }
}

impl FleetData {
    fn member(&mut self, id: &MemberId, now: Duration) -> &mut Known {
        let new = || Known { joined: now, seen: None, breakers: BTreeMap::new() };
        self.members.entry(id.clone()).or_insert_with(new)
    }

    /// Counts the live members, and forgets those that have been dead for long.
    fn count(&mut self, now: Duration, alive: Duration) -> u32 {
        let kept = alive.saturating_mul(KEPT);
        let mut count = 0;
        self.members.retain(|_, known| {
            let is_live = known.is_alive(now, alive);
            count += u32::from(is_live);
            is_live || known.is_alive(now, kept) || known.seen.is_none()
        });
        count
    }

    /// Tallies a breaker over all members except the polling one.
    fn tally(&self, breaker: &str, now: Duration, beat: &Beat) -> Tally {
        let mut tally = Tally::default();
        for (id, known) in &self.members {
            let Some(seen) = known.breakers.get(breaker) else { continue };
            let is_lately = seen.called.is_some_and(|at| now.saturating_sub(at) < beat.lately);
            if is_lately && known.is_alive(now, beat.alive) && *id != beat.member {
                tally.callers += 1;
                tally.openers += u32::from(seen.open);
            }
        }
        tally
    }
}

impl Hub for MemoryHub {
    async fn poll(&self, fleet: &str, beat: &Beat) -> HubResult<View> {
        let now = self.now();
        let mut fleets = lock(&self.fleets);
        let kept = fleets.entry(fleet.to_owned()).or_default();
        let known = kept.member(&beat.member, now);
        if beat.heartbeat {
            known.seen = Some(now);
        }
        for Report { breaker, called, open } in &beat.reports {
            let seen = known.breakers.entry(breaker.clone()).or_default();
            seen.open = *open;
            if *called {
                seen.called = Some(now);
            }
        }
        let members = beat.heartbeat.then(|| kept.count(now, beat.alive));
        let breakers = kept.breakers.iter();
        let tally = |breaker: &String| (breaker.clone(), kept.tally(breaker, now, beat));
        Ok(View {
            now,
            members,
            breakers: breakers.map(|(name, record)| (name.clone(), record.clone())).collect(),
            tallies: beat.tallies.iter().map(tally).collect(),
        })
    }

    async fn change(
        &self,
        fleet: &str,
        breaker: &str,
        member: &MemberId,
        change: Change,
    ) -> HubResult<Changed> {
        let now = self.now();
        let mut fleets = lock(&self.fleets);
        let kept = fleets.entry(fleet.to_owned()).or_default();
        let record = kept.breakers.entry(breaker.to_owned()).or_default();
        let done = record.apply(member, change, now);
        Ok(Changed { now, done, record: record.clone() })
    }

    async fn leave(&self, fleet: &str, member: &MemberId) -> HubResult<()> {
        let mut fleets = lock(&self.fleets);
        if let Some(kept) = fleets.get_mut(fleet) {
            kept.members.remove(member);
        }
        Ok(())
    }

    async fn members(&self, fleet: &str, alive: Duration) -> HubResult<Vec<Member>> {
        let now = self.now();
        let fleets = lock(&self.fleets);
        let Some(kept) = fleets.get(fleet) else { return Ok(Vec::new()) };
        let ago = |then| now.saturating_sub(then);
        let live = kept.members.iter().filter(|(_, known)| known.is_alive(now, alive));
        let member = |(id, known): (&MemberId, &Known)| {
            Member::new(id.clone(), ago(known.joined), known.seen.map_or(Duration::ZERO, ago))
        };
        Ok(live.map(member).collect())
    }
}
