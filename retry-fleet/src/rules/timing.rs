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

/// The age up to which a call makes its member count as a caller.
pub(crate) const CALLER_WINDOW: Duration = Duration::from_secs(10);

/// The time limit of a request to the hub.
pub(crate) const REQUEST: Duration = Duration::from_secs(1);

/// The longest time between two attempts to reach the hub.
pub(crate) const RETRY: Duration = Duration::from_secs(3);

/// A member probes only if it has rejected a call within this time.
pub(crate) const REJECTED: Duration = Duration::from_secs(1);

/// A member shares its hold only if that ends later than the fleet's by more than this.
pub(crate) const HOLD_STEP: Duration = Duration::from_secs(1);

/// The duration of a permission to probe, for the hub. It is renewed while it is used.
pub(crate) const PROBE: Duration = Duration::from_secs(2);

/// The time that members wait for a verdict before they decide alone. It starts at the first moment
/// at which a probe is possible.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The duration of a permission to probe, for the member.
pub(crate) const PROBE_HELD: Duration = PROBE.saturating_sub(Duration::from_millis(300));
