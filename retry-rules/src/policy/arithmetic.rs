//! Saturating arithmetic on durations, in `const`.
//!
//! `core` has most of it, but not in `const`, not for factors beyond `u32`, and with panics where a
//! policy must simply reach its cap.

use core::time::Duration;

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// `nanos` as a duration, or `Duration::MAX` if that is too long.
pub(crate) const fn from_nanos(nanos: u128) -> Duration {
    // Nearly always, and much cheaper.
    if nanos <= u64::MAX as u128 {
        #[expect(clippy::cast_possible_truncation, reason = "it fits")]
        return Duration::from_nanos(nanos as u64);
    }
    let secs = nanos / NANOS_PER_SEC;
    if secs > u64::MAX as u128 {
        return Duration::MAX;
    }
    #[expect(clippy::cast_possible_truncation, reason = "both fit: checked above, and a remainder")]
    Duration::new(secs as u64, (nanos % NANOS_PER_SEC) as u32)
}

#[inline]
pub(crate) const fn less(a: Duration, b: Duration) -> bool {
    a.as_secs() < b.as_secs() || a.as_secs() == b.as_secs() && a.subsec_nanos() < b.subsec_nanos()
}

#[inline]
pub(crate) const fn min(a: Duration, b: Duration) -> Duration {
    if less(b, a) { b } else { a }
}

#[inline]
pub(crate) const fn max(a: Duration, b: Duration) -> Duration {
    if less(a, b) { b } else { a }
}

/// `d · factor`, saturating.
pub(crate) const fn times(d: Duration, factor: u64) -> Duration {
    from_nanos(d.as_nanos().saturating_mul(factor as u128))
}

/// `d · factor`, rounded to the nanosecond, saturating. A factor that is
/// negative or not a number counts as 0.
pub(crate) const fn scale(d: Duration, factor: f64) -> Duration {
    if d.is_zero() || factor.is_nan() {
        return Duration::ZERO;
    }
    #[expect(clippy::cast_precision_loss, reason = "beyond 104 days a nanosecond does not matter")]
    let nanos = d.as_nanos() as f64 * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::float_cmp,
        reason = "a float to integer cast saturates, which is what is wanted; \
                  f64 holds whole nanoseconds only up to 104 days, so a factor of 1 is passed by"
    )]
    if factor == 1.0 { d } else { from_nanos((nanos + 0.5) as u128) }
}

/// `base` to the power of `exponent`, by squaring; infinity on overflow.
pub(crate) const fn power(base: f64, mut exponent: u32) -> f64 {
    let mut square = base;
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    product
}

/// The `n`-th Fibonacci number (1, 1, 2, 3, 5, …), saturating.
pub(crate) const fn fibonacci(n: u32) -> u64 {
    // The 94th is the first beyond u64, so the loop need not run up to n = u32::MAX.
    if n > 93 {
        return u64::MAX;
    }
    let (mut a, mut b) = (0_u64, 1_u64);
    let mut i = 1;
    while i < n {
        let next = a.saturating_add(b);
        a = b;
        b = next;
        i += 1;
    }
    b
}
