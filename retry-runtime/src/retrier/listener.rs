//! The listeners of one call. A type of its own instead of a closure: a listener that is not as it has
//! to be is then reported once, and not again where the call is awaited.

use core::fmt;
use core::marker::PhantomData;

use crate::base::sealed::Seal;
use crate::event::retry_event::RetryEvent;

/// The functions called with each failure that will be retried.
///
/// Sealed: `()` and [`Listeners`] implement it.
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

impl<L, F, R> fmt::Debug for Listeners<L, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}
