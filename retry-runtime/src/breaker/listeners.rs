//! Those who hear of transitions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sync::{Arc, Mutex, const_fn, lock};
use crate::transition::Transition;

type Listener = dyn Fn(&Transition) + Send + Sync;

pub(super) struct Listeners(Mutex<Vec<Arc<Listener>>>);

impl Listeners {
    const_fn! {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }
    }

    pub(super) fn add(&self, listener: Arc<Listener>) {
        lock(&self.0).push(listener);
    }

    /// Called without any lock: a listener may use the breaker, or add another.
    pub(super) fn tell(&self, transition: &Transition) {
        let listeners = lock(&self.0).clone();
        for listener in listeners {
            undisturbed(|| listener(transition));
        }
    }
}

/// Runs what others wrote: its panic is reported by the panic hook, and goes no
/// further.
pub(super) fn undisturbed(f: impl FnOnce()) {
    let _panicked = catch_unwind(AssertUnwindSafe(f));
}
