//! The intervals and durations of a fleet, in one place.

use core::time::Duration;

/// The longest time between two polls of the hub; the shortest is a quarter less.
pub(crate) const POLL: Duration = Duration::from_millis(400);

/// The window over which members spread what all of them do at once and is not urgent.
pub(crate) const SPREAD: Duration = Duration::from_millis(400);

/// The interval between heartbeats.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(3);

/// A member without a heartbeat for this long does not count: about three heartbeats.
pub(crate) const ALIVE: Duration = Duration::from_secs(10);

/// How recent a call has to be for its member to count as a caller.
pub(crate) const CALLER_WINDOW: Duration = Duration::from_secs(10);

/// The time limit of a request to the hub.
pub(crate) const REQUEST: Duration = Duration::from_secs(1);

/// The longest time between two attempts to reach the hub.
pub(crate) const RETRY: Duration = Duration::from_secs(3);

/// A member probes only if it has rejected a call within this time.
pub(crate) const REJECTED: Duration = Duration::from_secs(1);

/// A member shares its hold only if that ends later than the fleet's by more than this.
pub(crate) const HOLD_STEP: Duration = Duration::from_secs(1);

/// How long a permission to probe lasts, for the hub. It is renewed while it is used.
pub(crate) const PROBE: Duration = Duration::from_secs(2);

/// How long members wait for a verdict, from the first moment at which a probe is possible, before
/// they decide alone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a part of a bucket is lent, for the hub. It is renewed about every heartbeat.
pub(crate) const QUOTA_LEASE: Duration = Duration::from_secs(10);

/// How much earlier a lease ends for the member than for the hub.
const MARGIN: Duration = Duration::from_secs(1);

/// How long a part of a bucket is lent, for the member, from the moment it asked.
pub(crate) const QUOTA_LEASE_LOCAL: Duration = QUOTA_LEASE.saturating_sub(MARGIN);

/// How long a permission to probe lasts, for the member.
pub(crate) const PROBE_HELD: Duration = PROBE.saturating_sub(Duration::from_millis(300));

/// How long after the hub's last answer a member has its whole floor: by then, everything that was
/// lent before the hub missed it has ended.
pub(crate) const FLOOR_AFTER: Duration = QUOTA_LEASE.saturating_mul(2).saturating_add(MARGIN);

/// How long the hub holds back the floor of a silent member.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(60);
