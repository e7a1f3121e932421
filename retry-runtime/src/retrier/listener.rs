//! The listeners of one call. A type of its own instead of a closure, so that the compiler reports a
//! wrong listener once, and not again where the call is awaited.

use core::marker::PhantomData;

use crate::base::sealed::Seal;
use crate::event::retry_event::RetryEvent;

/// The functions called with each failure that will be retried.
///
/// Implemented by `()` and [`Listeners`]; its argument of a private type prevents other
/// implementations.
pub trait Listener<E> {
    /// Calls the listeners.
    #[doc(hidden)]
    fn call(&mut self, event: &RetryEvent<'_, E>, _: Seal);
}

impl<E> Listener<E> for () {
    fn call(&mut self, _: &RetryEvent<'_, E>, _: Seal) {}
}

/// The listeners before the last one, and the last one.
pub struct Listeners<L, F, R> {
    pub(super) first: Option<L>,
    pub(super) last: F,
    pub(super) returned: PhantomData<fn() -> R>,
}

impl<E, L: Listener<E>, F: FnMut(&RetryEvent<'_, E>) -> R, R> Listener<E> for Listeners<L, F, R> {
    fn call(&mut self, event: &RetryEvent<'_, E>, _: Seal) {
        if let Some(first) = &mut self.first {
            first.call(event, Seal);
        }
        (self.last)(event);
    }
}

retry_rules::partial_debug!([L, F, R] Listeners<L, F, R>);
