//! A family of circuit breakers by key: one for each host, tenant or shard.

use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use std::collections::{HashMap, VecDeque};

use retry_rules::{BreakerConfig, Invalid};

use crate::base::const_panic::const_panic;
use crate::base::name::Name;
use crate::base::sync::{Arc, Mutex, MutexGuard, OnceLock, const_fn, lock};
use crate::event::Event;
use crate::observe;
use crate::protect::breaker::{CircuitBreaker, Snapshot};
#[cfg(all(feature = "macros", not(retry_loom)))]
use crate::site::families::{self, Family, Member};

/// One circuit breaker for each host, tenant or shard, created on first use.
///
/// It holds a limited number of breakers. A new one evicts the least recently used one that is
/// closed and not held; its counts are lost. An open, half-open, forced or held breaker is never
/// evicted. If none can be evicted, the caller gets a closed breaker of its own, which is not
/// shared, and an [`Event`] reports this once.
///
/// With the feature `testing`, each test gets its own family in place of one created with
/// [`new`](Self::new), as with a `static` breaker.
///
/// ```
/// use std::io;
/// use retry_runtime::{BreakerConfig, Breakers, State, retry};
///
/// static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 1_000);
///
/// #[retry(breaker = HOSTS.of(host))]
/// async fn get(host: &str, path: &str) -> io::Result<usize> {
///     Ok(host.len() + path.len())
/// }
///
/// HOSTS.of("down.example.org").force_open();
/// assert_eq!(HOSTS.of("down.example.org").state(), State::Open);
/// assert_eq!(HOSTS.of("up.example.org").state(), State::Closed);
/// ```
pub struct Breakers<K> {
    name: Name,
    config: BreakerConfig,
    capacity: usize,
    /// Whether it belongs to the whole program, so that each test gets its own.
    #[cfg(feature = "testing")]
    is_shared: bool,
    members: OnceLock<Arc<Mutex<Members<K>>>>,
}

struct Members<K> {
    name: Name,
    by_key: HashMap<K, usize>,
    slots: Vec<Slot<K>>,
    /// Which slot was used at which moment, earliest first. An entry whose slot has been used again
    /// since is stale.
    uses: VecDeque<(usize, u64)>,
    moment: u64,
    /// Whether a full family was reported, with no eviction possible since.
    reported_full: bool,
}

struct Slot<K> {
    key: K,
    breaker: Arc<CircuitBreaker>,
    last_used: u64,
}

impl<K> Breakers<K> {
    const_fn! {
    /// Creates a family of at most `capacity` breakers (at least 1), all with these settings.
    /// The name appears in events, followed by the key: `hosts[example.org]`.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, Breakers};
    ///
    /// static TENANTS: Breakers<u64> = Breakers::new("tenants", BreakerConfig::new(), 500);
    /// assert_eq!(TENANTS.of(&7).name(), "tenants[7]");
    /// ```
    ///
    /// # Panics
    /// If the settings break a rule; while compiling, for a `static`.
    #[track_caller]
    pub const fn new(name: &'static str, config: BreakerConfig, capacity: usize) -> Self {
        if let Err(invalid) = config.validate() {
            const_panic(invalid)
        }
        Self {
            name: Name::from_static(name),
            config,
            capacity,
            #[cfg(feature = "testing")]
            is_shared: true,
            members: OnceLock::new(),
        }
    }
    }

    /// Creates a family with a name and settings made at run time.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, Breakers};
    ///
    /// let shards = Breakers::<u32>::try_new(format!("shards {}", 1), BreakerConfig::new(), 64);
    /// assert_eq!(shards.unwrap().name(), "shards 1");
    /// ```
    ///
    /// # Errors
    /// The rules that the settings break.
    pub fn try_new(
        name: impl Into<Name>,
        config: BreakerConfig,
        capacity: usize,
    ) -> Result<Self, Invalid> {
        config.validate()?;
        Ok(Self {
            name: name.into(),
            config,
            capacity,
            #[cfg(feature = "testing")]
            is_shared: false,
            members: OnceLock::new(),
        })
    }

    /// Returns the name of the family.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, Breakers};
    /// assert_eq!(Breakers::<u8>::new("hosts", BreakerConfig::new(), 9).name(), "hosts");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the settings of each breaker.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, Breakers};
    /// let hosts = Breakers::<u8>::new("hosts", BreakerConfig::new(), 9);
    /// assert_eq!(hosts.config().get_failure_threshold(), 5);
    /// ```
    pub const fn config(&self) -> &BreakerConfig {
        &self.config
    }
}

impl<K: Hash + Eq + fmt::Display + Clone + Send + 'static> Breakers<K> {
    /// Returns the breaker for this key, creating it if needed.
    ///
    /// It is shared by everyone who asks for the key while the family holds it; a breaker in use is
    /// never evicted.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use retry_runtime::{BreakerConfig, Breakers};
    ///
    /// let hosts = Breakers::<String>::new("hosts", BreakerConfig::new(), 1_000);
    /// let breaker = hosts.of("example.org");
    /// breaker.try_acquire().unwrap().success();
    /// assert!(Arc::ptr_eq(&breaker, &hosts.of("example.org")));
    /// ```
    pub fn of<Q>(&self, key: &Q) -> Arc<CircuitBreaker>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let family = self.current();
        let mut members = family.lock();
        if let Some(breaker) = members.find(key) {
            return breaker;
        }
        let key = key.to_owned();
        let name = Name::of_member(&members.name, &key);
        let breaker = Arc::new(CircuitBreaker::valid(name, family.config));
        let was_full = members.reported_full;
        members.insert(key, &breaker, family.capacity.max(1));
        let is_full = members.reported_full;
        drop(members);
        if is_full && !was_full {
            observe::emit(&Event::BreakersFull { breaker: breaker.own_name() });
        }
        breaker
    }

    /// Returns a snapshot of each breaker of the family, in the order of their keys.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, Breakers, State};
    ///
    /// let hosts = Breakers::<String>::new("hosts", BreakerConfig::new(), 1_000);
    /// hosts.of("a.example").force_open();
    /// let snapshots = hosts.snapshots();
    /// assert_eq!(snapshots[0].name.key(), Some("a.example"));
    /// assert_eq!(snapshots[0].state, State::Open);
    /// ```
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.current().lock().snapshots()
    }

    /// The family that calls use: in a test, the test's own.
    fn current(&self) -> &Self {
        #[cfg(feature = "testing")]
        if let Some(hooks) = crate::test_hooks::current().filter(|_| self.is_shared) {
            let like = |own: &Self| own.name == self.name && own.config == self.config;
            return hooks.test_instance(self, like, || Self {
                name: self.name.clone(),
                config: self.config,
                capacity: self.capacity,
                is_shared: false,
                members: OnceLock::new(),
            });
        }
        self
    }

    fn lock(&self) -> MutexGuard<'_, Members<K>> {
        lock(self.members.get_or_init(|| {
            let members = Arc::new(Mutex::new(Members::new(self.name.clone())));
            #[cfg(all(feature = "macros", not(retry_loom)))]
            families::register(&members);
            members
        }))
    }
}

impl<K: Hash + Eq + Clone> Members<K> {
    fn new(name: Name) -> Self {
        Self {
            name,
            by_key: HashMap::new(),
            slots: Vec::new(),
            uses: VecDeque::new(),
            moment: 0,
            reported_full: false,
        }
    }

    fn find<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<Arc<CircuitBreaker>>
    where
        K: Borrow<Q>,
    {
        let at = *self.by_key.get(key)?;
        self.mark_used(at);
        Some(Arc::clone(&self.slots[at].breaker))
    }

    /// Marks a slot as just used, so that it is the last to be evicted.
    fn mark_used(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        if self.uses.back() == Some(&(at, slot.last_used)) {
            return;
        }
        self.moment += 1;
        slot.last_used = self.moment;
        self.uses.push_back((at, self.moment));
        // Only runs after as many entries were added as are removed, so the amortised cost is
        // constant.
        if self.uses.len() > 2 * self.slots.len() + 16 {
            let slots = &self.slots;
            self.uses.retain(|(at, moment)| slots[*at].last_used == *moment);
        }
    }

    /// Adds a breaker, evicting another at the limit; does nothing if none can be evicted.
    fn insert(&mut self, key: K, breaker: &Arc<CircuitBreaker>, capacity: usize) {
        let slot = Slot { key: key.clone(), breaker: Arc::clone(breaker), last_used: 0 };
        let at = if self.slots.len() < capacity {
            self.slots.push(slot);
            self.slots.len() - 1
        } else {
            let Some(at) = self.eviction_candidate() else {
                self.reported_full = true;
                return;
            };
            self.by_key.remove(&self.slots[at].key);
            self.slots[at] = slot;
            at
        };
        self.reported_full = false;
        self.by_key.insert(key, at);
        self.mark_used(at);
    }

    /// The least recently used slot among those that can be evicted.
    fn eviction_candidate(&mut self) -> Option<usize> {
        let slots = &mut self.slots;
        while self.uses.front().is_some_and(|(at, moment)| slots[*at].last_used != *moment) {
            self.uses.pop_front();
        }
        let found = self.uses.iter().position(|(at, moment)| {
            let slot = &mut slots[*at];
            // `get_mut` synchronises with the drop of all other handles, so their changes of state
            // are visible.
            slot.last_used == *moment
                && Arc::get_mut(&mut slot.breaker).is_some_and(|breaker| breaker.is_idle())
        })?;
        self.uses.remove(found).map(|(at, _)| at)
    }

    fn snapshots(&self) -> Vec<Snapshot> {
        let mut all: Vec<_> = self.slots.iter().map(|slot| slot.breaker.snapshot()).collect();
        all.sort_by(|one, other| one.name.key().cmp(&other.name.key()));
        all
    }
}

/// The report lists the breakers that are not closed, and those with failures.
#[cfg(all(feature = "macros", not(retry_loom)))]
impl<K: Hash + Eq + Clone + Send> Family for Mutex<Members<K>> {
    fn name(&self) -> Name {
        lock(self).name.clone()
    }

    fn members(&self) -> Vec<Member> {
        let snapshots = lock(self).snapshots();
        snapshots.into_iter().map(member).collect()
    }
}

#[cfg(all(feature = "macros", not(retry_loom)))]
fn member(snapshot: Snapshot) -> Member {
    let Snapshot { name, state, opened_by, outcomes, .. } = snapshot;
    Member { name, state, failures: outcomes.failures, rejected: outcomes.rejected, opened_by }
}

impl<K> fmt::Debug for Breakers<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breakers")
            .field("name", &self.name)
            .field("most", &self.capacity)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
