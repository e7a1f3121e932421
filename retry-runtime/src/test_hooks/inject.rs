//! Failures that a test has planned, in the place of the body of a function.
//!
//! An expansion asks for one where an attempt begins. Whether a function's return
//! type can take one is found by method resolution (see `probe.rs`): a
//! `Result` whose error is a type by itself, or an `Option`.

use core::any::{Any, type_name};
use core::fmt;
use std::collections::VecDeque;

use super::{TestHooks, current};
use crate::base::sync::{Arc, lock};
pub use crate::outcome::interruption::Returns;
use crate::site::Site;

type Make = dyn Fn() -> Box<dyn Any> + Send + Sync;

/// How an attempt is to fail.
#[derive(Clone)]
pub(crate) enum Failure {
    /// By an error.
    Error { make: Arc<Make>, type_name: &'static str },
    /// By no value.
    Missing,
}

impl Failure {
    pub(crate) fn from_fn<E: Any>(error: impl Fn() -> E + Send + Sync + 'static) -> Self {
        Self::Error { make: Arc::new(move || Box::new(error())), type_name: type_name::<E>() }
    }
}

/// The failures of one function that are still to come.
pub(crate) type Planned = VecDeque<Plan>;

/// One of them, and for how many attempts; `None`: for all that come.
pub(crate) struct Plan {
    pub(crate) failure: Failure,
    pub(crate) times: Option<u32>,
}

impl TestHooks {
    pub(crate) fn plan(&self, name: &'static str, plan: Plan) {
        lock(&self.planned).entry(name).or_default().push_back(plan);
    }

    /// The failure of the attempt that begins now.
    fn next_failure(&self, name: &str) -> Option<Failure> {
        let mut planned = lock(&self.planned);
        let plans = planned.get_mut(name)?;
        while plans.front().is_some_and(|plan| plan.times == Some(0)) {
            plans.pop_front();
        }
        let plan = plans.front_mut()?;
        plan.times = plan.times.map(|times| times.saturating_sub(1));
        Some(plan.failure.clone())
    }
}

fn next_failure(site: &Site) -> Option<Failure> {
    // Its closure is the test's own code: called by nobody while the lock is held.
    current()?.next_failure(site.name())
}

#[cold]
fn const_panic(site: &Site, why: fmt::Arguments<'_>) -> ! {
    panic!("the function `{}` at {}:{} {why}", site.name(), site.file(), site.line())
}

/// Found first, where it holds.
///
/// A generic parameter is no type by itself: whether it lives for `'static` is not
/// known here, and a bound could not ask. But it is not known to be `Unpin` either,
/// where nearly every error is, and method resolution does see that.
pub trait CanFail<T, E> {
    #[doc(hidden)]
    fn __injected(&self, site: &Site) -> Option<Result<T, E>>;
}

impl<T, E: Unpin + 'static> CanFail<T, E> for Returns<Result<T, E>> {
    #[inline]
    fn __injected(&self, site: &Site) -> Option<Result<T, E>> {
        let Failure::Error { make, type_name: planned } = next_failure(site)? else {
            const_panic(
                site,
                format_args!("returns a `Result`: plan its failures with `fail`, not `miss`"),
            )
        };
        match make().downcast::<E>() {
            Ok(error) => Some(Err(*error)),
            Err(_) => const_panic(
                site,
                format_args!("fails with `{}`, but `{planned}` is planned", type_name::<E>()),
            ),
        }
    }
}

/// The same for an `Option`.
pub trait CanMiss<T> {
    #[doc(hidden)]
    fn __injected(&self, site: &Site) -> Option<Option<T>>;
}

impl<T> CanMiss<T> for Returns<Option<T>> {
    #[inline]
    fn __injected(&self, site: &Site) -> Option<Option<T>> {
        match next_failure(site)? {
            Failure::Missing => Some(None),
            Failure::Error { .. } => const_panic(
                site,
                format_args!("returns an `Option`: plan its failures with `miss`, not `fail`"),
            ),
        }
    }
}

/// Found else: it is one reference further away.
pub trait CannotFail<R> {
    #[doc(hidden)]
    fn __injected(&self, site: &Site) -> Option<R>;
}

impl<R> CannotFail<R> for &Returns<R> {
    #[inline]
    fn __injected(&self, site: &Site) -> Option<R> {
        never(site);
        None
    }
}

/// An attempt begins that no failure can be planned for.
#[inline]
pub fn never(site: &Site) {
    if next_failure(site).is_some() {
        const_panic(
            site,
            format_args!(
                "cannot be made to fail: its error type is generic, or borrows, or it has none; \
                 plan a failure of something that its body calls"
            ),
        );
    }
}
