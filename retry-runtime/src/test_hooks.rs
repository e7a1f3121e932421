//! The hooks of a test, as the calls that it makes see them: the lower half of
//! [`testing`](crate::testing), which tests use.
//!
//! The hooks of a test belong to one thread for a while and are not global, so tests that run in
//! parallel do not affect each other. Of breakers and quotas, the hooks have only the test's own
//! instances.

pub mod inject;
mod recorded;

use core::any::{Any, TypeId};
use core::sync::atomic::{AtomicBool, Ordering};
use std::cell::RefCell;
use std::collections::HashMap;

use crate::base::name::Name;
use crate::base::random;
use crate::base::sync::{Arc, Mutex, lock};
use crate::event::Event;

pub use self::recorded::{AttemptOutcome, AttemptRecord};

thread_local! {
    // The last one is in force; those below it are suspended.
    static ENTERED: RefCell<Vec<Arc<TestHooks>>> = const { RefCell::new(Vec::new()) };
}

/// The hooks and the records of one test.
#[derive(Default)]
pub(crate) struct TestHooks {
    skips_waits: AtomicBool,
    seeds: Mutex<Option<Seeds>>,
    seen: Mutex<Vec<(Name, AttemptRecord)>>,
    own: Mutex<HashMap<(TypeId, usize), &'static (dyn Any + Send + Sync)>>,
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

    /// The recorded attempts of `name`, in order.
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

    /// The test's own instance of `shared`, created on first use.
    ///
    /// Instances are found by address, and an address may be reused after a value is gone: if the
    /// value is no longer `like` the instance, a new one is created. Instances are never dropped,
    /// because calls may outlive the hooks: a test leaks a few hundred bytes.
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

retry_rules::partial_debug!(TestHooks, |self| { skips_waits: &self.skips_waits });

/// A sequence of seeds, one for each draw, all derived from one seed alone.
struct Seeds(u64);

impl Seeds {
    fn next(&mut self) -> u64 {
        // Each draw mixes its seed itself, so seeds only have to differ. The step comes from
        // SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0
    }
}

/// Puts the hooks of a test in force on this thread, until it is dropped.
///
/// If dropped out of order, it removes its own hooks and no others.
#[derive(Debug)]
pub(crate) struct EnteredHooks {
    hooks: Arc<TestHooks>,
    // Not `Send`: it has changed the state of this thread.
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
        // An error means that the thread is ending and all hooks are gone.
        let _gone = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(at) = entered.iter().rposition(|hooks| Arc::ptr_eq(hooks, &self.hooks)) {
                entered.remove(at);
            }
        });
    }
}

/// The hooks in force on this thread.
pub(crate) fn current() -> Option<Arc<TestHooks>> {
    ENTERED.try_with(|entered| entered.borrow().last().cloned()).ok().flatten()
}

/// Returns whether waits end at once.
pub(crate) fn skips_waits() -> bool {
    current().is_some_and(|hooks| hooks.skips_waits.load(Ordering::Relaxed))
}

/// The seed of the next draw, if a test has set one.
fn next_seed() -> Option<u64> {
    lock(&current()?.seeds).as_mut().map(Seeds::next)
}

/// Records that an attempt succeeded. No event reports the success of a first attempt.
pub(crate) fn succeeded(name: &Name, attempt: u32) {
    if let Some(hooks) = current() {
        hooks.record_attempt(
            name.clone(),
            AttemptRecord { attempt, became: AttemptOutcome::Succeeded },
        );
    }
}

/// Records a failed attempt, if the event reports one.
pub(crate) fn record_event(event: &Event<'_>) {
    if let Some(hooks) = current() {
        if let Some(recorded) = AttemptRecord::from_event(event) {
            hooks.record_attempt(event.subject().clone(), recorded);
        }
    }
}
