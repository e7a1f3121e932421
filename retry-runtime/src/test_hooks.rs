//! What a test has set up for the calls that it makes, as these find it: the low
//! half of [`testing`](crate::testing), which is what the test itself sees.
//!
//! The hooks of a test belong to a thread for a while, and are nowhere else: tests that run in
//! parallel do not hear of each other. They know nothing of breakers and quotas but
//! that each test has its own.

#[cfg(feature = "macros")]
pub mod inject;
mod recorded;

use core::any::{Any, TypeId};
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::cell::RefCell;
use std::collections::HashMap;

use crate::base::name::Name;
use crate::base::random;
use crate::base::sync::{Arc, Mutex, lock};
use crate::event::Event;

pub use self::recorded::{AttemptOutcome, AttemptRecord};

thread_local! {
    // The last one is obeyed; those below it have been interrupted.
    static ENTERED: RefCell<Vec<Arc<TestHooks>>> = const { RefCell::new(Vec::new()) };
}

/// What one test has set up, and what it has seen.
#[derive(Default)]
pub(crate) struct TestHooks {
    skips_waits: AtomicBool,
    seeds: Mutex<Option<Seeds>>,
    seen: Mutex<Vec<(Name, AttemptRecord)>>,
    own: Mutex<HashMap<(TypeId, usize), &'static (dyn Any + Send + Sync)>>,
    #[cfg(feature = "macros")]
    planned: Mutex<HashMap<&'static str, inject::Planned>>,
}

impl TestHooks {
    pub(crate) fn seed(&self, seed: u64) {
        random::SEEDS.get_or_init(|| next_seed);
        *lock(&self.seeds) = Some(Seeds(seed));
    }

    pub(crate) fn skip_waits(&self) {
        self.skips_waits.store(true, Ordering::Relaxed);
    }

    /// What has become of the attempts of `name`, in their order.
    pub(crate) fn attempts(&self, name: &str) -> Vec<AttemptRecord> {
        let seen = lock(&self.seen);
        seen.iter()
            .filter(|(whose, _)| *whose == name)
            .map(|(_, recorded)| recorded.clone())
            .collect()
    }

    fn record_attempt(&self, name: Name, recorded: AttemptRecord) {
        lock(&self.seen).push((name, recorded));
    }

    /// The test's own instance in the place of `shared`, made when it is first asked for.
    ///
    /// It is found by its address, where after the end of something else may live:
    /// what is not `like` it any more is another one. Nothing that is lent is ever
    /// dropped, for calls may outlive the hooks: a test leaks a few hundred bytes.
    pub(crate) fn test_instance<T: Any + Send + Sync>(
        &self,
        shared: &T,
        like: impl FnOnce(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> &'static T {
        let key = (TypeId::of::<T>(), core::ptr::from_ref(shared).addr());
        let mut all = lock(&self.own);
        let known: Option<&'static T> = all.get(&key).and_then(|own| own.downcast_ref());
        match known.filter(|own| like(own)) {
            Some(own) => own,
            None => {
                let own: &'static T = Box::leak(Box::new(make()));
                all.insert(key, own);
                own
            }
        }
    }
}

impl fmt::Debug for TestHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestHooks").field("skips_waits", &self.skips_waits).finish_non_exhaustive()
    }
}

/// A seed for each draw, all from one: what was drawn before it decides it, and nothing else.
struct Seeds(u64);

impl Seeds {
    fn next(&mut self) -> u64 {
        // Each draw mixes its seed by itself; these only have to differ. The step is that of
        // SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0
    }
}

/// On this thread the hooks of a test are obeyed, until this is dropped.
///
/// Dropped out of order, it takes away its own hooks and no others.
#[derive(Debug)]
pub(crate) struct EnteredHooks {
    hooks: Arc<TestHooks>,
    // What it has changed is this thread's.
    _here: core::marker::PhantomData<*const ()>,
}

impl EnteredHooks {
    pub(crate) fn new(hooks: Arc<TestHooks>) -> Self {
        ENTERED.with_borrow_mut(|entered| entered.push(Arc::clone(&hooks)));
        Self { hooks, _here: core::marker::PhantomData }
    }

    pub(crate) fn hooks(&self) -> &Arc<TestHooks> {
        &self.hooks
    }
}

impl Drop for EnteredHooks {
    fn drop(&mut self) {
        // Gone while the thread ends, and all hooks with it.
        let _gone = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(at) = entered.iter().rposition(|hooks| Arc::ptr_eq(hooks, &self.hooks)) {
                entered.remove(at);
            }
        });
    }
}

/// The hooks that are obeyed on this thread.
pub(crate) fn current() -> Option<Arc<TestHooks>> {
    ENTERED.try_with(|entered| entered.borrow().last().cloned()).ok().flatten()
}

/// Whether waits end at once.
pub(crate) fn skips_waits() -> bool {
    current().is_some_and(|hooks| hooks.skips_waits.load(Ordering::Relaxed))
}

/// The seed of the next draw, where a test has set one.
fn next_seed() -> Option<u64> {
    lock(&current()?.seeds).as_mut().map(Seeds::next)
}

/// An attempt succeeded. No event says so of a first one.
pub(crate) fn succeeded(name: &Name, attempt: u32) {
    if let Some(hooks) = current() {
        hooks.record_attempt(
            name.clone(),
            AttemptRecord { attempt, became: AttemptOutcome::Succeeded },
        );
    }
}

/// An attempt failed, if that is what happened.
pub(crate) fn record_event(event: &Event<'_>) {
    if let Some(hooks) = current() {
        if let Some(recorded) = AttemptRecord::from_event(event) {
            hooks.record_attempt(event.subject().clone(), recorded);
        }
    }
}
