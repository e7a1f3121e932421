//! The closures of one call. A type of its own instead of a closure, so that the compiler reports a
//! wrong closure once, and not again where the call is awaited.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::marker::PhantomData;
use core::ops::ControlFlow;
use core::time::Duration;

use crate::base::sealed::Seal;
use crate::call::call_state::CallState;
use crate::call::verdict::OwnWait;
use crate::event::retry_event::RetryEvent;

/// The functions called with each failure of one call: those that listen, and those that set the
/// wait.
///
/// Implemented by `()`, [`Listeners`], [`WaitsBy`] and [`Resumed`]; its argument of a private type prevents other
/// implementations.
pub trait Listener<E> {
    /// Returns the closures before this one.
    fn first(&mut self, _: Seal) -> Option<&mut dyn Listener<E>>;

    /// Returns whether there is a closure.
    fn is_some(&self, _: Seal) -> bool {
        true
    }

    /// Returns the state that the call continues, and the time since its first failure, if it was
    /// resumed.
    fn resumed<'a>(&'a mut self, _: Seal) -> Option<(&'a mut CallState, Duration)>
    where
        E: 'a,
    {
        self.first(Seal)?.resumed(Seal)
    }

    /// Calls the listeners.
    fn call(&mut self, event: &RetryEvent<'_, E>, _: Seal) {
        if let Some(first) = self.first(Seal) {
            first.call(event, Seal);
        }
    }

    /// Returns the wait after the failure of attempt `attempt` in place of `due`, if one is set.
    fn wait_by(&mut self, attempt: u32, error: &E, due: Duration) -> OwnWait {
        self.first(Seal)?.wait_by(attempt, error, due)
    }
}

impl<E> Listener<E> for () {
    #[inline(always)]
    fn first(&mut self, _: Seal) -> Option<&mut dyn Listener<E>> {
        None
    }

    fn is_some(&self, _: Seal) -> bool {
        false
    }
}

/// The closures before the last listener, and that one.
pub struct Listeners<L, F, R> {
    pub(super) first: L,
    pub(super) last: F,
    pub(super) returned: PhantomData<fn() -> R>,
}

impl<E, L: Listener<E>, F: FnMut(&RetryEvent<'_, E>) -> R, R> Listener<E> for Listeners<L, F, R> {
    fn first(&mut self, _: Seal) -> Option<&mut dyn Listener<E>> {
        Some(&mut self.first)
    }

    fn call(&mut self, event: &RetryEvent<'_, E>, _: Seal) {
        self.first.call(event, Seal);
        (self.last)(event);
    }
}

/// The closures before the last one that sets the wait, and that one.
pub struct WaitsBy<L, F> {
    pub(super) first: L,
    pub(super) last: F,
}

impl<E, L: Listener<E>, F> Listener<E> for WaitsBy<L, F>
where
    F: FnMut(u32, &E, Duration) -> ControlFlow<(), Duration>,
{
    fn first(&mut self, _: Seal) -> Option<&mut dyn Listener<E>> {
        Some(&mut self.first)
    }

    fn wait_by(&mut self, attempt: u32, error: &E, due: Duration) -> OwnWait {
        let first = self.first.wait_by(attempt, error, due);
        let due = match first {
            Some(ControlFlow::Break(())) => return first,
            Some(ControlFlow::Continue(wait)) => wait,
            None => due,
        };
        Some((self.last)(attempt, error, due))
    }
}

/// The closures of a call that continues a stored one, and the state of that.
pub struct Resumed<'s, L> {
    pub(super) first: L,
    pub(super) state: &'s mut CallState,
    pub(super) since_first: Duration,
}

impl<E, L: Listener<E>> Listener<E> for Resumed<'_, L> {
    fn first(&mut self, _: Seal) -> Option<&mut dyn Listener<E>> {
        Some(&mut self.first)
    }

    fn resumed<'a>(&'a mut self, _: Seal) -> Option<(&'a mut CallState, Duration)>
    where
        E: 'a,
    {
        Some((self.state, self.since_first))
    }
}
