//! The types allowed for `breaker = …` and `quota = …`: the objects that stand for one. In a test,
//! what the whole program shares is replaced with the test's own instance.

#[cfg(feature = "testing")]
use core::any::Any;
use std::sync::{Arc, LazyLock};

use crate::protect::breaker::CircuitBreaker;
use crate::protect::quota::RetryQuota;
use crate::protect::shared::Shared;
#[cfg(feature = "testing")]
use crate::test_hooks::{self, TestHooks};

/// An object that stands for a breaker.
#[diagnostic::on_unimplemented(
    message = "`breaker = …` takes a `CircuitBreaker`, or a reference, an `Arc`, a `Box` or a `LazyLock` of one, not a `{Self}`",
    label = "this is not one circuit breaker",
    note = "declare `static DB: CircuitBreaker = CircuitBreaker::new(\"db\", BreakerConfig::new());`, for `breaker = DB`, or a field `breaker: Arc<CircuitBreaker>`, for `breaker = self.breaker`",
    note = "a breaker needs no `Mutex`; in place of an `Option`, `BreakerConfig::new().observe_only()` makes one that rejects nothing; a second breaker belongs to a function that this one calls",
    note = "`breaker(failure_threshold = 5)` is a breaker of this function alone, `HOSTS.of(host)` the one of a key in a `Breakers<K>`; a `RetryQuota` belongs to `quota`"
)]
pub trait AsBreaker {
    /// Returns the breaker.
    fn breaker(&self) -> &CircuitBreaker;

    /// Returns the breaker of a call: in a test, the test's own instance of a shared one.
    #[inline(always)]
    fn of_call(&self) -> &CircuitBreaker {
        #[cfg(feature = "testing")]
        {
            let shared = self.breaker();
            // A member of a family: the family has already returned one of the test's own.
            let is_member = shared.name.key().is_some();
            if let Some(own) = shared.of_current_test(self.is_owned() || is_member) {
                return own;
            }
        }
        self.breaker()
    }

    /// Returns whether it belongs to its owners rather than to the whole program.
    fn is_owned(&self) -> bool {
        false
    }
}

/// An object that stands for a quota.
#[diagnostic::on_unimplemented(
    message = "`quota = …` takes a `RetryQuota`, or a reference, an `Arc`, a `Box` or a `LazyLock` of one, not a `{Self}`",
    label = "this is not a retry quota",
    note = "a `CircuitBreaker` belongs to `breaker`; otherwise, write `static OUTBOUND: RetryQuota = RetryQuota::new(\"outbound\", QuotaConfig::new());` and `quota = OUTBOUND`"
)]
pub trait AsQuota {
    /// Returns the quota.
    fn quota(&self) -> &RetryQuota;

    /// Returns the quota of a call: in a test, the test's own instance of a shared one.
    #[inline(always)]
    fn of_call(&self) -> &RetryQuota {
        #[cfg(feature = "testing")]
        if let Some(own) = self.quota().of_current_test(self.is_owned()) {
            return own;
        }
        self.quota()
    }

    /// Returns whether it belongs to its owners rather than to the whole program.
    fn is_owned(&self) -> bool {
        false
    }
}

macro_rules! stands_for {
    ($As:ident $Target:ident $method:ident: $($Pointer:ty)|+) => {
        #[diagnostic::do_not_recommend]
        impl $As for $Target {
            #[inline(always)]
            fn $method(&self) -> &$Target {
                self
            }
        }

        $(
            #[diagnostic::do_not_recommend]
            impl<T: $As + ?Sized> $As for $Pointer {
                #[inline(always)]
                fn $method(&self) -> &$Target {
                    (**self).$method()
                }
            }
        )+

        #[diagnostic::do_not_recommend]
        impl<T: $As, F: FnOnce() -> T> $As for LazyLock<T, F> {
            fn $method(&self) -> &$Target {
                (**self).$method()
            }
        }

        #[diagnostic::do_not_recommend]
        impl $As for Shared<$Target> {
            fn $method(&self) -> &$Target {
                self.as_ref()
            }

            fn is_owned(&self) -> bool {
                matches!(self, Shared::Counted(_))
            }
        }
    };
}

stands_for!(AsBreaker CircuitBreaker breaker: &T | Box<T> | Arc<T>);
stands_for!(AsQuota RetryQuota quota: &T | Box<T> | Arc<T>);

/// A constant, a variable, or the value of a call, that refers to what calls share.
#[diagnostic::on_unimplemented(
    message = "this `{Self}` belongs to one call: no two calls share it, so that it never acts",
    label = "this is not a `static`",
    note = "write `static DB: CircuitBreaker = CircuitBreaker::new(\"db\", BreakerConfig::new());` or `static OUTBOUND: \
            RetryQuota = RetryQuota::new(\"outbound\", QuotaConfig::new());`, outside of any `impl` or function, for \
            `breaker = DB` or `quota = OUTBOUND`",
    note = "a function returns a reference to a `static`, or an `Arc` from a field; a variable outside of the loop or \
            function that calls is lent by a reference"
)]
pub trait Kept {
    /// A reference to it.
    #[inline(always)]
    fn kept(&self) -> &Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> Kept for &T {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Kept for Arc<T> {}
#[diagnostic::do_not_recommend]
impl<T> Kept for Shared<T> {}

/// The breaker or the quota of a `static`. The compiler quotes the bound, with its comment, in its
/// message about a `const`.
#[inline(always)]
pub fn declared<'a, T: ?Sized>(named: &'a T) -> &'a T
where
    'a: 'static, // a `static`, not a `const`: each use of a `const` is a breaker or quota of its own
{
    named
}

/// A breaker or a quota, of which a test has its own instance.
#[cfg(feature = "testing")]
pub(crate) trait PerTest: Any + Send + Sync + Sized {
    /// Returns whether this stands for the same instance as `other`.
    fn is_like(&self, other: &Self) -> bool;

    /// Creates an instance with the same name and settings.
    fn like(&self) -> Self;

    /// Returns the instance of the test of these `hooks`.
    fn of_test(&self, hooks: &TestHooks) -> &'static Self {
        hooks.test_instance(self, |own| self.is_like(own), || self.like())
    }

    /// Returns the instance of the current test, unless this belongs to its owners.
    fn of_current_test(&self, is_owned: bool) -> Option<&'static Self> {
        test_hooks::current().filter(|_| !is_owned).map(|hooks| self.of_test(&hooks))
    }
}

/// Implements [`PerTest`] for a type with a name and settings.
#[cfg(feature = "testing")]
macro_rules! per_test {
    ($Target:ident) => {
        impl PerTest for $Target {
            fn is_like(&self, other: &Self) -> bool {
                self.name == other.name && self.config() == other.config()
            }

            fn like(&self) -> Self {
                Self::named(self.name.clone(), *self.config())
            }
        }
    };
}

#[cfg(feature = "testing")]
per_test!(CircuitBreaker);
#[cfg(feature = "testing")]
per_test!(RetryQuota);
