//! What a call is bound to: its place, its policy, what protects it, and what
//! it knows of the time.

use core::time::Duration;

use retry_policy::Policy;

use crate::breaker::CircuitBreaker;
use crate::clock::{self, Instant};
use crate::quota::RetryQuota;
use crate::site::Site;

/// What a call is bound to. Made where it is needed, on the failure path.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The place.
    pub site: Site,
    /// The policy.
    pub policy: &'a Policy,
    /// The breaker that admits the attempts, if there is one.
    pub breaker: Option<&'a CircuitBreaker>,
    /// The quota that pays for the retries, if there is one.
    pub quota: Option<&'a RetryQuota>,
    /// When the call began, and what has cut its last attempt off.
    pub timing: Timing,
}

/// What a policy with bounds in time knows of it; nothing for one without.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    pub(crate) started: Option<Instant>,
    pub(crate) cut: Option<CutBy>,
}

/// What has cut an attempt off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutBy {
    /// The bound of the attempt.
    Timeout,
    /// The bound of the call.
    Deadline,
}

impl Timing {
    /// Of a policy without a deadline: nothing, and no clock is read.
    pub const NONE: Self = Self { started: None, cut: None };

    /// Of a call that begins now. Reads the clock only for a policy with a deadline.
    pub fn start(policy: &Policy) -> Self {
        Self { started: policy.get_deadline().map(|_| clock::now()), cut: None }
    }

    /// Whether the deadline has cut the last attempt off.
    pub const fn is_cut(&self) -> bool {
        matches!(self.cut, Some(CutBy::Deadline))
    }

    /// Whether the last attempt was cut off, by what bound ever: a timeout,
    /// whatever the function's own error makes of it.
    pub(crate) const fn is_timeout(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether the deadline falls inside a wait of `delay` that begins now.
    pub(crate) fn falls_inside(&self, delay: Duration, policy: &Policy) -> bool {
        match (self.started, policy.get_deadline()) {
            (Some(started), Some(deadline)) => {
                let elapsed = clock::now().saturating_duration_since(started);
                elapsed.saturating_add(delay) >= deadline
            }
            _ => false,
        }
    }
}
