//! [`Recent`]: how many calls and retries there were in the last seconds, for a quota that bounds
//! retries by a share of the calls.
//!
//! Calls are counted in stripes, without a clock. Only a retry that asks reads the clock, and
//! spreads the calls that came since the retry before it evenly over that time.

use core::array;
use core::cell::Cell;
use core::sync::atomic::AtomicUsize;

use crate::base::cache_line::CacheLine;
use crate::base::sync::{AtomicU64, Mutex, MutexGuard, Ordering, lock};
use crate::protect::clock_nanos;

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

/// The counts of each of the last seconds, as far as they are known.
#[derive(Default)]
struct Window {
    /// The second up to which it is known.
    second: u64,
    /// All calls that had been counted then.
    counted: u64,
    calls: [u64; SECONDS],
    retries: [u64; SECONDS],
    /// The second in which a retry was last refused.
    refused: Option<u64>,
}

/// The answer to a request for a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Allowed,
    /// Refused for the first time in a while.
    FirstRefused,
    Refused,
}

impl Recent {
    pub(super) fn new() -> Self {
        let window = Window { second: clock_nanos::now() / NANOS, ..Window::default() };
        Self { calls: array::from_fn(|_| CacheLine(AtomicU64::new(0))), window: Mutex::new(window) }
    }

    /// A call's first attempt has ended.
    pub(super) fn call(&self) {
        self.calls[stripe()].0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether a retry may be made, of which there may be this share of the calls; if so,
    /// it counts.
    pub(super) fn retry(&self, share: f64) -> Asked {
        self.window_now().retry(share)
    }

    /// A retry that was counted is not made.
    pub(super) fn cancel(&self) {
        self.window_now().cancel();
    }

    /// The window, with all calls until now.
    fn window_now(&self) -> MutexGuard<'_, Window> {
        let mut window = lock(&self.window);
        // Under the lock: outside of it, a thread could come with fewer calls than the one before
        // it.
        let counted = self
            .calls
            .iter()
            .fold(0_u64, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)));
        window.advance(clock_nanos::now() / NANOS, counted);
        window
    }
}

impl Window {
    /// Spreads the calls that came since it was last known.
    fn advance(&mut self, second: u64, counted: u64) {
        let new = counted.wrapping_sub(self.counted);
        self.counted = counted;
        // A test's paused clock may be behind another test's clock.
        let passed = second.saturating_sub(self.second);
        self.second = self.second.max(second);
        for back in (0..passed.min(SECONDS as u64)).rev() {
            let slot = slot(self.second - back);
            (self.calls[slot], self.retries[slot]) = (0, 0);
        }
        // From the second in which it was last known to this one.
        let seconds = passed + 1;
        for back in 0..seconds.min(SECONDS as u64) {
            let slot = slot(self.second - back);
            let part = part_of(new, seconds - back - 1, seconds);
            self.calls[slot] = self.calls[slot].saturating_add(part);
        }
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

    /// Forgets one retry: the latest, because it is not known which one was not made. While some of
    /// the retries are not made, the others then get the whole share.
    fn cancel(&mut self) {
        let mut slots = (0..SECONDS as u64).map(|back| slot(self.second + SECONDS as u64 - back));
        if let Some(latest) = slots.find(|slot| self.retries[*slot] > 0) {
            self.retries[latest] -= 1;
        }
    }
}

/// The part of `calls` that falls into second `nth` of `seconds`, counted from 0. The parts differ
/// by at most one and add up to `calls`.
#[expect(clippy::cast_possible_truncation, reason = "a part is no larger than the whole")]
fn part_of(calls: u64, nth: u64, seconds: u64) -> u64 {
    let before = |nth: u64| u128::from(calls) * u128::from(nth) / u128::from(seconds);
    (before(nth + 1) - before(nth)) as u64
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

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    /// Random numbers below `limit`, the same ones in each run.
    fn numbers(limit: u64) -> impl Iterator<Item = u64> {
        let mut seed = 7_u64;
        core::iter::repeat_with(move || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 20) % limit
        })
    }

    #[test]
    fn calls_are_spread_evenly_and_none_is_lost() {
        let calls = numbers(100_000).step_by(2);
        let seconds = numbers(5_000).skip(1).step_by(2);
        for (calls, seconds) in calls.zip(seconds).take(500) {
            let seconds = seconds + 1;
            let parts: Vec<u64> = (0..seconds).map(|nth| part_of(calls, nth, seconds)).collect();
            assert_eq!(parts.iter().sum::<u64>(), calls);
            // Any ten of them together are as large as any other ten, give or take one.
            for window in parts.windows(SECONDS) {
                let exact = calls * SECONDS as u64 / seconds;
                assert!(window.iter().sum::<u64>().abs_diff(exact) <= 1, "{calls} in {seconds}");
            }
        }
        assert_eq!((0..3).map(|nth| part_of(u64::MAX, nth, 3)).sum::<u64>(), u64::MAX);
    }

    #[test]
    fn the_window_holds_the_parts_of_its_seconds() {
        for passed in 0..100 {
            let mut window = Window::default();
            window.advance(1_000, 0);
            window.advance(1_000 + passed, 7_919);
            let seconds = passed + 1;
            let covered = seconds.min(SECONDS as u64);
            let exact = 7_919 * covered / seconds;
            assert!(sum(&window.calls).abs_diff(exact) <= 1, "{passed}: {:?}", window.calls);
            let (most, least) =
                (window.calls.iter().max(), window.calls.iter().filter(|n| **n > 0).min());
            assert!(most.unwrap() - least.unwrap() <= 1, "{passed}: {:?}", window.calls);
        }
    }

    #[test]
    fn steady_calls_are_known_as_such_whenever_they_are_read() {
        let (mut window, mut second) = (Window::default(), 0);
        for gap in numbers(30).take(1_000) {
            second += gap;
            window.advance(second, second * 10);
            if second > 60 {
                let calls = sum(&window.calls);
                assert!(calls.abs_diff(100) <= 10, "{gap}: {:?}", window.calls);
            }
        }
    }

    #[test]
    fn a_retry_that_is_not_made_leaves_its_place_to_another() {
        let mut window = Window::default();
        window.advance(5, 0);
        assert_eq!((0..20).filter(|_| window.retry(0.2) == Asked::Allowed).count(), 10);
        window.advance(8, 0);
        window.cancel();
        assert_eq!(window.retry(0.2), Asked::Allowed);
        assert_eq!(window.retry(0.2), Asked::Refused);
        for _ in 0..3 {
            window.cancel();
        }
        window.advance(15, 0);
        // The calls of the fifth second are no longer in the window.
        assert_eq!(sum(&window.retries), 0);
        window.cancel();
        assert_eq!(sum(&window.retries), 0, "there is nothing to cancel");
    }
}
