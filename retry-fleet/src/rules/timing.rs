//! How often, and for how long: the times of a fleet, in one place.

use core::time::Duration;

/// The hub is asked for what is new at least this often, and by a quarter more often at most.
pub(crate) const POLL: Duration = Duration::from_millis(400);

/// What all members hear at the same time, and is not urgent, they do within so long.
pub(crate) const SPREAD: Duration = Duration::from_millis(400);

/// A member that has nothing to say says that it lives.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(3);

/// Who was silent for so long does not count: three heartbeats.
pub(crate) const ALIVE: Duration = Duration::from_secs(10);

/// A breaker was called *lately* if it was within so long.
pub(crate) const LATELY: Duration = Duration::from_secs(10);

/// A request to the hub that takes longer has failed.
pub(crate) const REQUEST: Duration = Duration::from_secs(1);

/// While the hub cannot be reached it is asked at least this often.
pub(crate) const RETRY: Duration = Duration::from_secs(3);

/// Who rejected no call for so long does not ask for a probe.
pub(crate) const REJECTED: Duration = Duration::from_secs(1);

/// The lease of a probe, by the hub. It is renewed while it is used.
pub(crate) const PROBE: Duration = Duration::from_secs(2);

/// After the first moment at which a probe may be made the members wait at least so long for
/// a verdict before they decide alone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A lent part of a bucket, by the hub. It is renewed with each heartbeat.
pub(crate) const CHUNK: Duration = Duration::from_secs(10);

/// By so much a member ends earlier what the hub has lent to it.
const MARGIN: Duration = Duration::from_secs(1);

/// The lease of a part of a bucket, by the member, from the moment on at which it asked.
pub(crate) const CHUNK_HELD: Duration = CHUNK.saturating_sub(MARGIN);

/// The lease of a probe, by the member.
pub(crate) const PROBE_HELD: Duration = PROBE.saturating_sub(Duration::from_millis(300));

/// So long after the hub's last answer a member has its floor, if it had less: all that was
/// lent before the hub missed it has ended by then.
pub(crate) const FLOOR_AFTER: Duration = CHUNK.saturating_mul(2).saturating_add(MARGIN);

/// The hub holds the floor of a silent member back for so long.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(60);
