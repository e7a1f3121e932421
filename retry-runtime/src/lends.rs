//! What `breaker = …` and `quota = …` may name: whatever lends one.

use std::sync::Arc;

use crate::breaker::CircuitBreaker;
use crate::quota::RetryQuota;
use crate::retrier::Shared;

/// Something that lends a breaker.
#[diagnostic::on_unimplemented(
    message = "`breaker = …` names a circuit breaker that calls share, and not a `{Self}`",
    label = "this is no circuit breaker",
    note = "write `static DB: CircuitBreaker = CircuitBreaker::new(\"db\", BreakerConfig::new());` and `breaker = DB`",
    note = "or one of this function's own, in place: `breaker(failure_threshold = 5)`"
)]
pub trait LendsBreaker {
    /// The breaker.
    fn lend(&self) -> &CircuitBreaker;
}

/// Something that lends a quota.
#[diagnostic::on_unimplemented(
    message = "`quota = …` names a retry quota that calls share, and not a `{Self}`",
    label = "this is no retry quota",
    note = "write `static OUTBOUND: RetryQuota = RetryQuota::new(\"outbound\", QuotaConfig::new());` and `quota = OUTBOUND`"
)]
pub trait LendsQuota {
    /// The quota.
    fn lend(&self) -> &RetryQuota;
}

macro_rules! lends {
    ($lends:ident $lent:ident) => {
        impl $lends for $lent {
            #[inline(always)]
            fn lend(&self) -> &$lent {
                self
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: $lends + ?Sized> $lends for &T {
            #[inline(always)]
            fn lend(&self) -> &$lent {
                (**self).lend()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: $lends + ?Sized> $lends for Box<T> {
            fn lend(&self) -> &$lent {
                (**self).lend()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: $lends + ?Sized> $lends for Arc<T> {
            fn lend(&self) -> &$lent {
                (**self).lend()
            }
        }

        #[diagnostic::do_not_recommend]
        impl $lends for Shared<$lent> {
            fn lend(&self) -> &$lent {
                self.as_ref()
            }
        }
    };
}

lends!(LendsBreaker CircuitBreaker);
lends!(LendsQuota RetryQuota);
