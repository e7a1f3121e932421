//! Options known only at runtime, as an expansion evaluates them: turns the types found in
//! configurations into the parts of a policy.

pub(crate) mod policy_source;

use core::borrow::Borrow;
use core::time::Duration;

use retry_rules::{Backoff, Bound, Fields, Policy};

use crate::observe;
use crate::site::Site;

/// The policy to obey in place of this one, which may break rules. `written` are the fields set in
/// the attribute.
#[cold]
pub fn nearest_valid(site: &'static Site, policy: Policy, written: Fields) -> Policy {
    let (nearest, invalid) = policy.nearest_valid_written(written);
    observe::warn_invalid(site.into(), invalid);
    nearest
}

/// Returns whether an override sets a time limit, although the policy of the call may have none.
#[inline(always)]
#[cfg_attr(not(feature = "overrides"), expect(unused_variables, reason = "only overrides set one"))]
pub fn is_limited(site: &'static Site) -> bool {
    #[cfg(feature = "overrides")]
    return crate::overrides::set_limit(site);
    #[cfg(not(feature = "overrides"))]
    false
}

/// A backoff from a configuration.
#[inline(always)]
pub fn backoff<B: Borrow<Backoff> + ?Sized>(backoff: &B) -> Backoff {
    *backoff.borrow()
}

/// A backoff with a list of delays that are not all constants.
#[cold]
pub fn custom(delays: &[Duration]) -> Backoff {
    Backoff::custom(delays.to_vec())
}

/// A whole number, saturated to the range of `attempts`.
#[inline(always)]
pub fn attempts<N: WholeNumber + ?Sized>(number: &N) -> u32 {
    number.saturating()
}

/// A floating-point number.
#[inline(always)]
pub fn number<N: Number + ?Sized>(number: &N) -> f64 {
    number.number()
}

/// A delay.
#[inline(always)]
pub fn delay<D: Delay + ?Sized>(delay: &D) -> Duration {
    delay.delay()
}

/// A limit, which may be absent.
#[inline(always)]
pub fn bound<B: MaybeBound + ?Sized>(bound: &B) -> Bound {
    bound.bound().into()
}

/// A number that can be used for `attempts`.
#[diagnostic::on_unimplemented(
    message = "`attempts` must be a whole number, not a `{Self}`",
    label = "this is not a whole number",
    note = "write an expression of an integer type, such as `self.max_retries.saturating_add(1)`; \
            give an `Option` a default: `self.attempts.unwrap_or(3)`"
)]
pub trait WholeNumber {
    /// The nearest valid value of `attempts`.
    fn saturating(&self) -> u32;
}

macro_rules! whole_numbers {
    ($($N:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl WholeNumber for $N {
            fn saturating(&self) -> u32 {
                u32::try_from(*self).unwrap_or(if *self < 1 { 0 } else { u32::MAX })
            }
        }
    )*};
}

whole_numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

#[diagnostic::do_not_recommend]
impl WholeNumber for core::num::NonZeroU32 {
    fn saturating(&self) -> u32 {
        self.get()
    }
}

#[diagnostic::do_not_recommend]
impl WholeNumber for core::num::NonZeroUsize {
    fn saturating(&self) -> u32 {
        self.get().saturating()
    }
}

#[diagnostic::do_not_recommend]
impl<N: WholeNumber + ?Sized> WholeNumber for &N {
    fn saturating(&self) -> u32 {
        (**self).saturating()
    }
}

/// A number that can be used for a base or a factor.
#[diagnostic::on_unimplemented(
    message = "a base or a factor must be a number, not a `{Self}`",
    label = "this is neither `f64` nor `f32`",
    note = "write an expression of type `f64` or `f32`; for a jitter that can be turned off, 0.3 \
            or 0.0"
)]
pub trait Number {
    /// The number.
    fn number(&self) -> f64;
}

#[diagnostic::do_not_recommend]
impl Number for f64 {
    fn number(&self) -> f64 {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl Number for f32 {
    fn number(&self) -> f64 {
        f64::from(*self)
    }
}

#[diagnostic::do_not_recommend]
impl<N: Number + ?Sized> Number for &N {
    fn number(&self) -> f64 {
        (**self).number()
    }
}

/// A type that can be used for a delay.
#[diagnostic::on_unimplemented(
    message = "a delay must be a `Duration`, not a `{Self}`",
    label = "this is not a `Duration`",
    note = "`Duration::from_millis` makes one of a number; give an `Option` a default: \
            `self.delay.unwrap_or(…)`"
)]
pub trait Delay {
    /// The delay.
    fn delay(&self) -> Duration;
}

#[diagnostic::do_not_recommend]
impl Delay for Duration {
    fn delay(&self) -> Duration {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl<D: Delay + ?Sized> Delay for &D {
    fn delay(&self) -> Duration {
        (**self).delay()
    }
}

/// A time limit, or none.
#[diagnostic::on_unimplemented(
    message = "a bound must be a `Duration` or an `Option<Duration>`, not a `{Self}`",
    label = "this is neither",
    note = "`Duration::from_millis` makes one of a number"
)]
pub trait MaybeBound {
    /// The limit.
    fn bound(&self) -> Option<Duration>;
}

#[diagnostic::do_not_recommend]
impl MaybeBound for Duration {
    #[inline(always)]
    fn bound(&self) -> Option<Duration> {
        Some(*self)
    }
}

#[diagnostic::do_not_recommend]
impl MaybeBound for Option<Duration> {
    #[inline(always)]
    fn bound(&self) -> Option<Duration> {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl<B: MaybeBound + ?Sized> MaybeBound for &B {
    #[inline(always)]
    fn bound(&self) -> Option<Duration> {
        (**self).bound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_of_any_integer_type_saturate() {
        assert_eq!(attempts(&7_u8), 7);
        assert_eq!(attempts(&-1_i64), 0);
        assert_eq!(attempts(&u64::MAX), u32::MAX);
        assert_eq!(attempts(&i128::MIN), 0);
        assert_eq!(attempts(&&usize::MAX), u32::MAX);
    }
}
