//! The one source of randomness: a small generator for each thread.
//!
//! Jitter needs spread, not secrecy, so a small generator is enough. It is seeded from the entropy
//! that the standard library draws for its hash maps; in a browser, where that draws none, from the
//! page's. A test that sets a seed decides what is drawn.

use core::cell::RefCell;
use core::time::Duration;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The source of seeds set by tests: returns the seed for the next draw, if one was set.
#[cfg(feature = "testing")]
pub(crate) static SEEDS: std::sync::OnceLock<fn() -> Option<u64>> = std::sync::OnceLock::new();

thread_local! {
    static GENERATOR: RefCell<SmallRng> =
        RefCell::new(SmallRng::seed_from_u64(entropy()));
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};

    // The hash of nothing, with a random key.
    RandomState::new().build_hasher().finish()
}

/// The bits of a number from 0 to 1, of which a browser draws 52 or 53 at random.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn entropy() -> u64 {
    js_sys::Math::random().to_bits()
}

/// A duration drawn uniformly from `shortest` to `longest`, both included.
#[inline]
pub fn between(shortest: Duration, longest: Duration) -> Duration {
    // First the cheapest check, which is true without jitter.
    if longest == shortest {
        return shortest;
    }
    longest.checked_sub(shortest).map_or(shortest, |width| drawn(shortest, width))
}

fn drawn(shortest: Duration, width: Duration) -> Duration {
    // Above u64 nanoseconds (584 years), the excess is cut off.
    let nanos = u64::try_from(width.as_nanos()).unwrap_or(u64::MAX);
    let draw = |generator: &mut SmallRng| generator.random_range(0..=nanos);
    #[cfg(feature = "testing")]
    if let Some(seed) = SEEDS.get().and_then(|next| next()) {
        let drawn = draw(&mut SmallRng::seed_from_u64(seed));
        return shortest.saturating_add(Duration::from_nanos(drawn));
    }
    let drawn = GENERATOR.with_borrow_mut(draw);
    shortest.saturating_add(Duration::from_nanos(drawn))
}
