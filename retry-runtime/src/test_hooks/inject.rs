//! Failures that a test has planned, in place of the body of a function.
//!
//! An expansion asks for one at the start of each attempt. Whether a function's return type can
//! represent one is determined by method resolution (see `probe.rs`): it can if it is an `Option`,
//! or a `Result` whose error type is not generic and does not borrow.

use core::any::{Any, type_name};
use core::fmt;
use core::panic::Location;
use std::collections::VecDeque;

use super::{AttemptRecord, TestHooks, current};
use crate::base::name::Name;
use crate::base::sync::{Arc, lock};
use crate::outcome::Missing;
use crate::outcome::error::RetryError;
pub use crate::outcome::interruption::Returns;
use crate::site::Site;

type Make = dyn Fn() -> Box<dyn Any> + Send + Sync;

/// The failure of an attempt.
#[derive(Clone)]
pub(crate) struct PlannedFailure {
    make: Arc<Make>,
    type_name: &'static str,
}

impl PlannedFailure {
    pub(crate) fn from_fn<E: Any>(error: impl Fn() -> E + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(move || Box::new(error())), type_name: type_name::<E>() }
    }
}

/// The remaining planned failures of one function.
pub(crate) type Planned = VecDeque<FailurePlan>;

/// One planned failure, and for how many attempts; `None` for all that follow.
pub(crate) struct FailurePlan {
    pub(crate) failure: PlannedFailure,
    pub(crate) times: Option<u32>,
    /// The place in the test.
    pub(crate) planned_at: &'static Location<'static>,
}

/// The failure of the attempt that begins now, and the place where a test has planned it.
type NextFailure = (PlannedFailure, &'static Location<'static>);

/// The planned failures that no attempt has used.
pub(crate) struct Unused {
    /// Function, number and place in the test.
    plans: Vec<(&'static str, u32, &'static Location<'static>)>,
    /// The last attempt of the test, if its call failed: the test may have returned its error.
    last_failed: Option<(Name, AttemptRecord)>,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, left, at) in &self.plans {
            writeln!(f, "`{name}`: {left} of the failures planned at {at} are left")?;
        }
        if let Some((name, attempt)) = &self.last_failed {
            writeln!(f, "the last call failed: `{name}`, {attempt}")?;
        }
        f.write_str(
            "the test ended before these functions made enough attempts: plan fewer failures, or \
             all that follow, with `fail_always`",
        )
    }
}

impl TestHooks {
    /// Adds a plan for the attempts after those that are planned already.
    ///
    /// # Errors
    /// The place of the plan for all further attempts, which leaves none to this one.
    pub(crate) fn plan(
        &self,
        name: &'static str,
        plan: FailurePlan,
    ) -> Result<(), &'static Location<'static>> {
        let mut planned = lock(&self.planned);
        let plans = planned.entry(name).or_default();
        match plans.back() {
            Some(FailurePlan { times: None, planned_at, .. }) => Err(planned_at),
            _ => {
                plans.push_back(plan);
                Ok(())
            }
        }
    }

    /// Takes the failure of the attempt that begins now.
    fn next_failure(&self, name: &str) -> Option<NextFailure> {
        let mut planned = lock(&self.planned);
        let plans = planned.get_mut(name)?;
        while plans.front().is_some_and(|plan| plan.times == Some(0)) {
            plans.pop_front();
        }
        let plan = plans.front_mut()?;
        plan.times = plan.times.map(|times| times.saturating_sub(1));
        Some((plan.failure.clone(), plan.planned_at))
    }

    /// Returns the planned failures that no attempt has used, if there are any.
    pub(crate) fn unused(&self) -> Option<Unused> {
        let planned = lock(&self.planned);
        let plans = planned.iter().flat_map(|(name, plans)| plans.iter().map(|plan| (*name, plan)));
        let mut plans: Vec<_> = plans
            .filter_map(|(name, plan)| Some((name, plan.times?, plan.planned_at)))
            .filter(|(_, left, _)| *left > 0)
            .collect();
        plans.sort();
        let last = lock(&self.seen).last().cloned();
        let last_failed = last.filter(|(_, last)| last.is_last() && last.error().is_some());
        (!plans.is_empty()).then_some(Unused { plans, last_failed })
    }
}

fn next_failure(site: &Site) -> Option<NextFailure> {
    // The closure is the test's own code, so it is not called with the lock held.
    current()?.next_failure(site.name())
}

#[cold]
fn panic_at(site: &Site, planned_at: &Location<'_>, why: fmt::Arguments<'_>) -> ! {
    let (name, file, line) = (site.name(), site.file(), site.line());
    panic!("the function `{name}` at {file}:{line} {why} (planned at {planned_at})")
}

/// Found first, for types that can.
///
/// A generic parameter is excluded: whether it is `'static` is unknown here, and method resolution
/// ignores lifetime bounds anyway. But it is not known to be `Unpin` either, while nearly every
/// error type is, and method resolution does see that.
pub trait CanFail<T, E> {
    #[doc(hidden)]
    fn __injected(&self, site: &Site) -> Option<Result<T, E>>;
}

impl<T, E: Unpin + 'static> CanFail<T, E> for Returns<Result<T, E>> {
    #[inline]
    fn __injected(&self, site: &Site) -> Option<Result<T, E>> {
        planned(site).map(Err)
    }
}

/// Like [`CanFail`], for an `Option`.
pub trait CanMiss<T> {
    #[doc(hidden)]
    fn __injected(&self, site: &Site) -> Option<Option<T>>;
}

impl<T> CanMiss<T> for Returns<Option<T>> {
    #[inline]
    fn __injected(&self, site: &Site) -> Option<Option<T>> {
        planned(site).map(|Missing| None)
    }
}

/// Returns the planned error of the attempt that begins now.
fn planned<E: Any>(site: &Site) -> Option<E> {
    let (PlannedFailure { make, type_name: planned }, planned_at) = next_failure(site)?;
    let last = match make().downcast::<E>() {
        Ok(error) => Some(*error),
        // The error that the function itself returns.
        Err(other) => other.downcast::<RetryError<E>>().ok().and_then(|it| it.into_last()),
    };
    let fails_with = type_name::<E>();
    Some(last.unwrap_or_else(|| {
        panic_at(
            site,
            planned_at,
            format_args!("has a body that fails with `{fails_with}`, but `{planned}` is planned"),
        )
    }))
}

/// Found otherwise, because it needs one more reference.
pub trait CannotFail<R> {
    #[doc(hidden)]
    fn __injected(&self, site: &Site) -> Option<R>;
}

impl<R> CannotFail<R> for &Returns<R> {
    #[inline]
    fn __injected(&self, site: &Site) -> Option<R> {
        reject_injection(site);
        None
    }
}

/// Called when an attempt begins for which no failure can be planned.
#[inline]
pub fn reject_injection(site: &Site) {
    if let Some((_, planned_at)) = next_failure(site) {
        panic_at(
            site,
            planned_at,
            format_args!(
                "cannot be made to fail: its error type is generic, or borrows, or it has none; \
                 plan a failure of something that its body calls"
            ),
        );
    }
}
