//! The breakers that a family holds: a ring that says which one makes room for another, and shards,
//! so that threads that ask for different keys meet less often.

use core::borrow::Borrow;
use core::hash::{Hash, Hasher};
use core::sync::atomic::AtomicBool;

use super::ring::Ring;
use super::shard::Shard;
use crate::base::cache_line::CacheLine;
use crate::base::name::Name;
use crate::base::sync::{Arc, Mutex, Ordering, RwLock, lock, read, write};
use crate::event::Event;
use crate::observe;
use crate::protect::breaker::{CircuitBreaker, Snapshot};
#[cfg(all(feature = "macros", not(retry_loom)))]
use crate::site::families::{Family, Member};

/// At most this many breakers are looked at to make room for one.
const STEPS: usize = 64;

const MOST_SHARDS: usize = 16;

/// How much of the capacity there is for each shard, at least. Loom's models have only a few.
const SMALLEST_SHARD: usize = if cfg!(retry_loom) { 1 } else { 8 };

pub(super) struct Members<K> {
    name: Name,
    capacity: usize,
    /// The keys of all shards. Locked by those who change which these are, before a shard.
    ring: Mutex<Ring<K>>,
    shards: Box<[CacheLine<RwLock<Shard<K>>>]>,
    /// Whether a full family was reported, with no eviction possible since.
    reported_full: AtomicBool,
}

impl<K: Hash + Eq + Clone> Members<K> {
    pub(super) fn new(name: Name, capacity: usize) -> Self {
        let shards = (capacity / SMALLEST_SHARD).clamp(1, MOST_SHARDS);
        Self {
            name,
            capacity,
            ring: Mutex::new(Ring::new()),
            shards: (0..shards).map(|_| CacheLine(RwLock::new(Shard::new()))).collect(),
            reported_full: AtomicBool::new(false),
        }
    }

    pub(super) const fn name(&self) -> &Name {
        &self.name
    }

    pub(super) fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<CircuitBreaker>>
    where
        K: Borrow<Q>,
    {
        read(self.shard_of(key)).find(key)
    }

    /// Adds a breaker, evicting another at the limit, and returns it, or the one that another thread
    /// has added for this key. If none can be evicted, it is returned without being added.
    pub(super) fn insert(&self, key: K, breaker: Arc<CircuitBreaker>) -> Arc<CircuitBreaker> {
        let listed = key.clone();
        let shard = self.shard_of(&key);
        let mut ring = lock(&self.ring);
        if let Some(present) = read(shard).find(&key) {
            return present;
        }
        let evicted = if ring.len() < self.capacity {
            ring.push(listed);
            None
        } else {
            let remove = |key: &K, spares: bool| write(self.shard_of(key)).remove_idle(key, spares);
            let Some((at, removed)) = ring.free(STEPS, remove) else {
                drop(ring);
                if !self.reported_full.swap(true, Ordering::Relaxed) {
                    observe::emit(&Event::BreakersFull { breaker: breaker.own_name() });
                }
                return breaker;
            };
            Some((removed, ring.replace(at, listed)))
        };
        write(shard).insert(key, Arc::clone(&breaker));
        drop(ring);
        self.reported_full.store(false, Ordering::Relaxed);
        // Only now: dropping a key, or what listens to a breaker, runs its author's code.
        drop(evicted);
        breaker
    }

    /// The shard that has this key, if any.
    fn shard_of<Q: Hash + ?Sized>(&self, key: &Q) -> &RwLock<Shard<K>> {
        let at = if self.shards.len() == 1 {
            0
        } else {
            let mut hasher = Spread(0);
            key.hash(&mut hasher);
            #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
            let hash = hasher.finish() as usize;
            hash % self.shards.len()
        };
        &self.shards[at].0
    }

    /// In the order of their keys.
    pub(super) fn snapshots(&self) -> Vec<Snapshot> {
        // Nothing comes or goes meanwhile, so that there are never more than the capacity.
        let ring = lock(&self.ring);
        let mut all = Vec::with_capacity(ring.len());
        for shard in &self.shards {
            all.extend(read(&shard.0).breakers().map(CircuitBreaker::snapshot));
        }
        drop(ring);
        all.sort_by(|one, other| one.name.key().cmp(&other.name.key()));
        all
    }
}

/// A fast hash (of Firefox and rustc), for each call needs one beside that of the map. Whoever
/// chooses keys that meet in one shard makes only their own calls meet.
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let word = <[u8; 8]>::try_from(word).unwrap_or_default();
            self.write_u64(u64::from_ne_bytes(word));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let word = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.write_u64(word);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        // The upper bits depend on all of the key.
        self.0 >> 32
    }
}

/// The report lists the breakers that are not closed, and those with failures.
#[cfg(all(feature = "macros", not(retry_loom)))]
impl<K: Hash + Eq + Clone + Send + Sync> Family for Members<K> {
    fn name(&self) -> Name {
        self.name.clone()
    }

    fn members(&self) -> Vec<Member> {
        self.snapshots().into_iter().map(member).collect()
    }
}

#[cfg(all(feature = "macros", not(retry_loom)))]
fn member(snapshot: Snapshot) -> Member {
    let Snapshot { name, state, opened_by, outcomes, .. } = snapshot;
    Member { name, state, failures: outcomes.failures, rejected: outcomes.rejected, opened_by }
}
