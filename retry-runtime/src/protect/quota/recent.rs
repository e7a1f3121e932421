//! [`Recent`]: how many calls and retries there were in the last seconds, for a quota that bounds
//! retries by a share of the calls.
//!
//! Calls are counted in stripes, without a clock. Only a retry that asks reads the clock, and spreads
//! the calls that came since the retry before it evenly over that time.

use core::array;
use core::cell::Cell;
use core::sync::atomic::AtomicUsize;

use crate::base::cache_line::CacheLine;
use crate::base::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::protect::stamp;

/// The window, in seconds.
const SECONDS: usize = 10;
const NANOS: u64 = 1_000_000_000;
/// So many retries in a window are free, so that a client with few calls can retry at all.
const FREE: u64 = 10;
/// Threads that count at the same time disturb each other little.
const STRIPES: usize = if cfg!(retry_loom) { 2 } else { 16 };

pub(super) struct Recent {
    calls: [CacheLine<AtomicU64>; STRIPES],
    window: Mutex<Window>,
}

/// What there was in each of the last seconds, as far as it is known.
#[derive(Default)]
struct Window {
    /// The second up to which it is known.
    second: u64,
    /// All calls that had been counted then.
    counted: u64,
    calls: [u64; SECONDS],
    retries: [u64; SECONDS],
    /// When a retry was last refused.
    refused: Option<u64>,
}

/// Whether a retry may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Allowed,
    /// Refused for the first time in a while.
    FirstRefused,
    Refused,
}

impl Recent {
    pub(super) fn new() -> Self {
        let window = Window { second: stamp::nanos() / NANOS, ..Window::default() };
        Self { calls: array::from_fn(|_| CacheLine(AtomicU64::new(0))), window: Mutex::new(window) }
    }

    /// A call's first attempt has ended.
    pub(super) fn call(&self) {
        self.calls[stripe()].0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a retry may be made, of which there may be this share of the calls; if so, it counts.
    pub(super) fn retry(&self, share: f64) -> Asked {
        let mut window = lock(&self.window);
        // Under the lock: outside of it, a thread could come with fewer calls than the one before it.
        let counted = self
            .calls
            .iter()
            .fold(0_u64, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)));
        window.advance(stamp::nanos() / NANOS, counted);
        window.retry(share)
    }
}

impl Window {
    /// Spreads the calls that came since it was last known.
    fn advance(&mut self, second: u64, counted: u64) {
        let new = counted.wrapping_sub(self.counted);
        self.counted = counted;
        // A test's paused clock may be behind that of another one.
        let passed = second.saturating_sub(self.second);
        self.second = self.second.max(second);
        for back in (0..passed.min(SECONDS as u64)).rev() {
            let slot = slot(self.second - back);
            (self.calls[slot], self.retries[slot]) = (0, 0);
        }
        // Evenly, from the second in which it was last known to this one, which gets the remainder.
        let each = new / (passed + 1);
        for back in 0..(passed + 1).min(SECONDS as u64) {
            let slot = slot(self.second - back);
            self.calls[slot] = self.calls[slot].saturating_add(each);
        }
        let now = slot(self.second);
        self.calls[now] = self.calls[now].saturating_add(new % (passed + 1));
    }

    fn retry(&mut self, share: f64) -> Asked {
        let (calls, retries) = (sum(&self.calls), sum(&self.retries));
        if retries < FREE.max(share_of(calls, share)) {
            let now = slot(self.second);
            self.retries[now] = self.retries[now].saturating_add(1);
            return Asked::Allowed;
        }
        let since = self.refused.map(|at| self.second.saturating_sub(at));
        self.refused = Some(self.second);
        if since.is_none_or(|since| since >= SECONDS as u64) {
            Asked::FirstRefused
        } else {
            Asked::Refused
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate, and the calls of ten seconds need no 53 bits"
)]
fn share_of(calls: u64, share: f64) -> u64 {
    (calls as f64 * share) as u64
}

fn sum(slots: &[u64; SECONDS]) -> u64 {
    slots.iter().fold(0, |sum, slot| sum.saturating_add(*slot))
}

#[expect(clippy::cast_possible_truncation, reason = "less than ten")]
const fn slot(second: u64) -> usize {
    (second % SECONDS as u64) as usize
}

/// The stripe of this thread.
fn stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    // While the thread ends, any stripe will do.
    let of_thread = STRIPE.try_with(|stripe| {
        if stripe.get() == usize::MAX {
            stripe.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        stripe.get()
    });
    of_thread.unwrap_or(0)
}
