//! Saturating arithmetic on durations, in `const`.
//!
//! `core` has most of it, but not in `const`, not for factors beyond `u32`, and with panics where a
//! policy must simply reach its cap.

use core::time::Duration;

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// `nanos` as a duration, or `Duration::MAX` if that is too long.
pub(crate) const fn from_nanos(nanos: u128) -> Duration {
    // The usual case, and much cheaper.
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
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "a float to integer cast saturates, which is what is wanted; \
              f64 holds whole nanoseconds only up to 104 days, so a factor of 1 is passed by"
)]
pub(crate) const fn scale(d: Duration, factor: f64) -> Duration {
    if d.is_zero() || factor.is_nan() {
        return Duration::ZERO;
    }
    if factor == 1.0 {
        return d;
    }
    // Usually 64 bits suffice, and their conversion to and from floats is much faster.
    let nanos = if d.as_secs() < u32::MAX as u64 {
        (d.as_secs() * NANOS_PER_SEC as u64 + d.subsec_nanos() as u64) as f64
    } else {
        d.as_nanos() as f64
    };
    let rounded = nanos * factor + 0.5;
    if rounded < u64::MAX as f64 {
        Duration::from_nanos(rounded as u64)
    } else {
        from_nanos(rounded as u128)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "the rule that `scale` follows, in 128 bits"
    )]
    fn a_scaled_duration_does_not_depend_on_the_width_of_the_computation() {
        let widest = Duration::from_secs(u64::from(u32::MAX));
        let durations = [
            Duration::from_nanos(1),
            Duration::from_nanos(999_999_999),
            Duration::from_secs(104 * 86_400),
            Duration::new(u64::from(u32::MAX) - 1, 999_999_999),
            widest,
            Duration::from_nanos(u64::MAX),
            Duration::from_nanos(u64::MAX) + Duration::from_nanos(1),
            Duration::MAX,
        ];
        for d in durations {
            for factor in [-1.0, 0.0, 1e-9, 0.3, 1.5, 2.0, 4.3, 1e9, 1e30, f64::INFINITY] {
                let nanos = d.as_nanos() as f64 * factor + 0.5;
                assert_eq!(scale(d, factor), from_nanos(nanos as u128), "{d:?} · {factor}");
            }
        }
    }
}
