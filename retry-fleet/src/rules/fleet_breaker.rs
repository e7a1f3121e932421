//! The state of a breaker in a fleet: whether it is open everywhere, until when, and who may probe.

use core::time::Duration;

use crate::rules::member_id::MemberId;

/// A breaker as stored by the hub. All times are the hub's.
///
/// ```
/// use core::time::Duration;
/// use retry_fleet::{FleetBreaker, Change, MemberId};
///
/// let (now, s) = (Duration::from_secs(100), Duration::from_secs);
/// let mut record = FleetBreaker::default();
/// let change = Change::Open { open_time: s(5), patience: s(10) };
/// assert!(record.apply(&MemberId::new(), change, now));
/// assert!(record.is_open(now + s(14)) && !record.is_open(now + s(15)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetBreaker {
    /// Increases with each change that all members have to follow.
    pub epoch: u64,
    /// The lease while it is open everywhere; `None` once it was closed.
    pub open: Option<OpenLease>,
    /// The end of the hold of all calls, which a server has requested; in the past if it has ended
    /// or a member was reset, `None` if there was none.
    pub held_until: Option<Duration>,
}

/// The lease of a breaker that is open everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenLease {
    /// The end of the lease; after that, each member decides alone.
    pub until: Duration,
    /// The time at which probing starts.
    pub probe_from: Duration,
    /// The number of times it has opened again after a probe.
    pub reopenings: u32,
    /// The member that may probe, and until when.
    pub probe: Option<(MemberId, Duration)>,
}

/// A change that a member requests of a [`FleetBreaker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Enough members have opened it: it opens everywhere for `open_time`, and then for at most
    /// `patience` until a probe decides.
    Open {
        /// The time during which no member probes.
        open_time: Duration,
        /// The time that members then wait for a verdict.
        patience: Duration,
    },
    /// Asks for permission to probe, or renews it.
    Probe {
        /// The duration of the permission.
        lasts: Duration,
        /// The time that members then wait for a verdict.
        patience: Duration,
    },
    /// Gives up the permission to probe.
    Release,
    /// The probes have succeeded: it closes everywhere.
    Recovered,
    /// A probe has failed: it opens everywhere again.
    Failed {
        /// The time during which no member probes.
        open_time: Duration,
        /// The time that members then wait for a verdict.
        patience: Duration,
    },
    /// A server has asked a member to wait: all members hold their calls. A longer hold remains.
    Hold {
        /// The length of the hold, from now on.
        wait: Duration,
    },
    /// A member was reset: the hold ends for all members.
    EndHold,
}

impl FleetBreaker {
    /// Returns `true` if the breaker is open everywhere.
    pub fn is_open(&self, now: Duration) -> bool {
        self.open.as_ref().is_some_and(|open| open.until > now)
    }

    /// Returns `true` if it is time to probe and no other member does.
    pub fn may_probe(&self, member: &MemberId, now: Duration) -> bool {
        self.open.as_ref().is_some_and(|open| {
            let is_free = match &open.probe {
                Some((holder, until)) => holder == member || *until <= now,
                None => true,
            };
            open.until > now && open.probe_from <= now && is_free
        })
    }

    fn is_probed_by(&self, member: &MemberId) -> bool {
        let probe = self.open.as_ref().and_then(|open| open.probe.as_ref());
        probe.is_some_and(|(holder, _)| holder == member)
    }

    /// Changes the record as `member` asks, if the rules allow it, and returns whether they did.
    ///
    /// A hub calls this while it holds the lock on the record.
    pub fn apply(&mut self, member: &MemberId, change: Change, now: Duration) -> bool {
        let opened = |open_time: Duration, patience: Duration, reopenings| OpenLease {
            until: now.saturating_add(open_time).saturating_add(patience),
            probe_from: now.saturating_add(open_time),
            reopenings,
            probe: None,
        };
        match change {
            Change::Open { open_time, patience } => {
                let may = !self.is_open(now);
                if may {
                    self.open = Some(opened(open_time, patience, 0));
                    self.epoch += 1;
                }
                may
            }
            Change::Probe { lasts, patience } => {
                let may = self.may_probe(member, now);
                if let Some(open) = self.open.as_mut().filter(|_| may) {
                    let until = now.saturating_add(lasts);
                    open.probe = Some((member.clone(), until));
                    open.until = open.until.max(until.saturating_add(patience));
                }
                may
            }
            Change::Release => {
                let may = self.is_probed_by(member);
                if let Some(open) = self.open.as_mut().filter(|_| may) {
                    open.probe = None;
                }
                may
            }
            Change::Recovered => {
                let may = self.is_probed_by(member);
                if may {
                    self.open = None;
                    self.epoch += 1;
                }
                may
            }
            Change::Failed { open_time, patience } => {
                let may = self.is_probed_by(member);
                if let Some(open) = self.open.as_mut().filter(|_| may) {
                    *open = opened(open_time, patience, open.reopenings.saturating_add(1));
                    self.epoch += 1;
                }
                may
            }
            Change::Hold { wait } => {
                let until = now.saturating_add(wait);
                let may = self.held_until.is_none_or(|held| held < until);
                if may {
                    self.held_until = Some(until);
                }
                may
            }
            Change::EndHold => {
                let may = self.held_until.is_some_and(|held| held > now);
                if may {
                    self.held_until = Some(now);
                }
                may
            }
        }
    }
}
