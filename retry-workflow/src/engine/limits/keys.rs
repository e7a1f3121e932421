//! [`KeyLimits`]: limits for items that share a key, such as a host: how many start per unit of
//! time, and how many run at the same time, across all workers of a job.
//!
//! The store does not know the keys. A worker claims an item, finds out its keys, and asks the
//! job's [`KeyRecord`] whether they are free. If not, the item goes back to the store until they
//! are likely to be, so that it keeps nobody waiting: neither a place nor the items of other keys.
//! A start is reserved only for an item that can begin soon: reserved further ahead, for an item
//! whose other key is busy, it would keep everything waiting that shares the first one.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pace::LATE;
use crate::item::clock::Timestamp;
use crate::item::signature::fnv;
use crate::job::rate::Rate;
use crate::job::rate_record::RateRecord;
use crate::store::{Store, StoreError};

/// An item whose start is no further away is kept until then.
const SOON: Duration = Duration::from_millis(150);
/// An item that goes back to the store is due so long before its start: time to claim it.
const EARLY: Duration = Duration::from_millis(100);
/// More keys than this are not kept in mind at a time: a further one counts as busy.
const MOST_BUSY: usize = 10_000;

/// What an item's key is taken from: its payload.
pub(crate) type KeyOf = Arc<dyn Fn(&Value) -> Option<String> + Send + Sync>;

/// A limit for items that share a key.
#[derive(Clone)]
pub(crate) struct KeyLimit {
    pub(crate) of: KeyOf,
    pub(crate) bound: Bound,
}

/// What is limited for each key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// How many start per unit of time.
    Rate(Rate),
    /// How many run at the same time.
    Concurrency(u32),
}

/// A key under one of the job's limits, by its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    limit: usize,
    digest: u64,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:016x}", self.limit, self.digest)
    }
}

/// What a worker knows of the keys of the items that it holds.
pub(in crate::engine) struct KeyLimits {
    limits: Arc<[KeyLimit]>,
    worker: Arc<str>,
    /// By item; one without a key is not in here.
    items: HashMap<i64, Keyed>,
    /// Whether places have become free that the store does not know of.
    has_freed: bool,
    /// Until when the store grants this worker its places.
    until: Timestamp,
    lease: Duration,
    /// How long an item runs, on average.
    takes: Duration,
}

/// An item that has keys.
struct Keyed {
    keys: Vec<Key>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its keys are not known to be free.
    Waits,
    /// It can start then.
    Admitted(Timestamp),
    /// It has started then.
    Runs(Timestamp),
}

/// An item that asks whether its keys are free.
#[derive(Clone, Debug)]
struct Want {
    item: i64,
    keys: Vec<Key>,
}

/// The answer to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Verdict {
    /// It can start then, which is soon.
    Admit(Timestamp),
    /// It goes back to the store until it is due.
    Defer { due: Timestamp },
}

impl KeyLimits {
    pub(in crate::engine) fn new(
        limits: Vec<KeyLimit>,
        worker: &Arc<str>,
        lease: Duration,
    ) -> Self {
        Self {
            limits: limits.into(),
            worker: Arc::clone(worker),
            items: HashMap::new(),
            has_freed: false,
            until: Timestamp::default(),
            lease,
            takes: EARLY,
        }
    }

    /// Takes in an item that was claimed.
    pub(in crate::engine) fn add(&mut self, item: i64, payload: &str) {
        self.items.remove(&item);
        let Ok(payload) = serde_json::from_str::<Value>(payload) else { return };
        let key = |(limit, KeyLimit { of, .. }): (usize, &KeyLimit)| {
            Some(Key { limit, digest: fnv(&of(&payload)?) })
        };
        let keys: Vec<_> = self.limits.iter().enumerate().filter_map(key).collect();
        if !keys.is_empty() {
            self.items.insert(item, Keyed { keys, stage: Stage::Waits });
        }
    }

    /// When an item can start; `None` if that is not known, or past.
    pub(in crate::engine) fn start_of(&self, item: i64, now: Timestamp) -> Option<Timestamp> {
        match self.items.get(&item).map(|keyed| keyed.stage) {
            None => Some(now),
            Some(Stage::Admitted(at)) => Some(at).filter(|at| *at + LATE >= now),
            Some(Stage::Waits | Stage::Runs(_)) => None,
        }
    }

    /// Notes that an item starts now.
    pub(in crate::engine) fn started(&mut self, item: i64, now: Timestamp) {
        if let Some(keyed) = self.items.get_mut(&item) {
            keyed.stage = Stage::Runs(now);
        }
    }

    /// Notes that an item is no longer in hand.
    pub(in crate::engine) fn ended(&mut self, item: i64, now: Timestamp) {
        let Some(keyed) = self.items.remove(&item) else { return };
        if let Stage::Runs(since) = keyed.stage {
            // A moving average of the last eight or so.
            self.takes = (self.takes * 7 + now.since(since)) / 8;
        }
        self.has_freed |= keyed.stage != Stage::Waits;
    }

    /// Forgets what is no longer held, and takes starts back that are late: others may have come
    /// meanwhile.
    pub(in crate::engine) fn tidy(&mut self, is_held: impl Fn(i64) -> bool, now: Timestamp) {
        let before = self.items.len();
        self.items.retain(|&item, _| is_held(item));
        self.has_freed |= self.items.len() < before;
        for keyed in self.items.values_mut() {
            if let Stage::Admitted(at) = keyed.stage
                && at + LATE < now
            {
                keyed.stage = Stage::Waits;
                self.has_freed = true;
            }
        }
    }

    /// What to ask the store, if there is anything to ask: for up to `most` of the items that are
    /// ready, in their order.
    pub(in crate::engine) fn question(
        &mut self,
        ready: impl Iterator<Item = i64>,
        most: usize,
        now: Timestamp,
    ) -> Option<Question> {
        let want = |item: i64| {
            let keyed = self.items.get(&item).filter(|keyed| keyed.stage == Stage::Waits)?;
            Some(Want { item, keys: keyed.keys.clone() })
        };
        let wants: Vec<_> = ready.filter_map(want).take(most).collect();
        let held = self.held();
        let is_late = !held.is_empty() && self.until < now + self.lease * 2 / 3;
        let is_needed = !wants.is_empty() || (self.has_places() && (self.has_freed || is_late));
        is_needed.then(|| {
            self.has_freed = false;
            self.asking(wants, held)
        })
    }

    /// What gives all places of this worker back, because it leaves.
    pub(in crate::engine) fn leaving(&self) -> Option<Question> {
        self.has_places().then(|| self.asking(Vec::new(), BTreeMap::new()))
    }

    fn asking(&self, wants: Vec<Want>, held: BTreeMap<Key, u32>) -> Question {
        Question {
            limits: Arc::clone(&self.limits),
            worker: Arc::clone(&self.worker),
            wants,
            held,
            lease: self.lease,
            takes: self.takes,
        }
    }

    /// Whether any of the limits is about how many run at the same time.
    fn has_places(&self) -> bool {
        self.limits.iter().any(|limit| matches!(limit.bound, Bound::Concurrency(_)))
    }

    /// Notes that an item can start then.
    pub(in crate::engine) fn admitted(&mut self, item: i64, at: Timestamp) {
        match self.items.get_mut(&item) {
            Some(keyed) => keyed.stage = Stage::Admitted(at),
            // It has been lost meanwhile, and the store does not know that.
            None => self.has_freed = true,
        }
    }

    /// Notes until when the store grants this worker its places.
    pub(in crate::engine) fn granted(&mut self, until: Timestamp) {
        self.until = until;
    }

    /// How many places this worker holds for each key.
    fn held(&self) -> BTreeMap<Key, u32> {
        let mut held = BTreeMap::new();
        for keyed in self.items.values().filter(|keyed| keyed.stage != Stage::Waits) {
            for key in &keyed.keys {
                if let Some(Bound::Concurrency(_)) = bound(&self.limits, *key) {
                    *held.entry(*key).or_default() += 1;
                }
            }
        }
        held
    }
}

fn bound(limits: &[KeyLimit], key: Key) -> Option<Bound> {
    limits.get(key.limit).map(|limit| limit.bound)
}

/// Which keys are busy, as the workers of a job share it in the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct KeyRecord {
    /// The next free start of each key that has a rate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    starts: BTreeMap<String, Timestamp>,
    /// When the next item that found its key busy should ask again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    turns: BTreeMap<String, Timestamp>,
    /// The last start of each key that an item was told to come back for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    promised: BTreeMap<String, Timestamp>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    workers: BTreeMap<String, Places>,
}

impl KeyRecord {
    /// The start that an item should come back for which found this key busy until `next`: that one,
    /// if it is promised to nobody else, or else its turn.
    fn take_start(&mut self, key: String, every: Duration, next: Timestamp) -> Timestamp {
        let is_free = self.promised.get(&key).is_none_or(|promised| *promised < next);
        if !is_free {
            // Rather a little too often, because some cannot start when it is their turn.
            return self.take_turn(key, every * 15 / 16, next + every);
        }
        if self.promised.len() < MOST_BUSY {
            self.promised.insert(key, next);
        }
        next
    }

    /// When it is an item's turn, from `first` on: those that wait for the same key take turns.
    fn take_turn(&mut self, key: String, every: Duration, first: Timestamp) -> Timestamp {
        let turn = self.turns.get(&key).map_or(first, |turn| first.max(*turn));
        if self.turns.len() < MOST_BUSY {
            self.turns.insert(key, turn + every);
        }
        turn
    }
}

/// The places of a worker, which it has until then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Places {
    until: Timestamp,
    held: BTreeMap<String, u32>,
}

/// What a worker asks the store.
pub(in crate::engine) struct Question {
    limits: Arc<[KeyLimit]>,
    worker: Arc<str>,
    wants: Vec<Want>,
    /// The places of this worker.
    held: BTreeMap<Key, u32>,
    lease: Duration,
    takes: Duration,
}

/// The answers, by item, and until when this worker has its places.
pub(in crate::engine) struct Answer {
    pub(in crate::engine) verdicts: Vec<(i64, Verdict)>,
    pub(in crate::engine) until: Timestamp,
}

impl Question {
    /// Asks the store, and writes down what is taken.
    pub(in crate::engine) async fn ask(
        self,
        store: &dyn Store,
        job: &str,
    ) -> Result<Answer, StoreError> {
        let key = RateRecord::by_key(job);
        loop {
            let (revision, text) = store.get(&key).await?.unwrap_or_default();
            let before: KeyRecord = serde_json::from_str(&text).unwrap_or_default();
            let mut record = before.clone();
            let answer = self.answer(&mut record, store.now());
            if record == before {
                return Ok(answer);
            }
            let text = serde_json::to_string(&record).map_err(StoreError::other)?;
            // Another worker may have been quicker, which is not for ever.
            if store.cas(&key, revision, &text).await? {
                return Ok(answer);
            }
        }
    }

    fn answer(&self, record: &mut KeyRecord, now: Timestamp) -> Answer {
        record.starts.retain(|_, next| *next > now);
        record.turns.retain(|_, next| *next > now);
        record.promised.retain(|_, start| *start > now);
        record.workers.retain(|worker, places| places.until > now && **worker != *self.worker);
        let mut held = self.held.clone();
        let verdicts =
            self.wants.iter().map(|want| (want.item, self.judge(record, &mut held, want, now)));
        let verdicts = verdicts.collect();
        let until = now + self.lease;
        if !held.is_empty() {
            let held = held.into_iter().map(|(key, count)| (key.to_string(), count)).collect();
            record.workers.insert(self.worker.to_string(), Places { until, held });
        }
        Answer { verdicts, until }
    }

    fn judge(
        &self,
        record: &mut KeyRecord,
        held: &mut BTreeMap<Key, u32>,
        want: &Want,
        now: Timestamp,
    ) -> Verdict {
        let rates = || {
            let rate = |key: &Key| match bound(&self.limits, *key) {
                Some(Bound::Rate(rate)) => Some((key.to_string(), rate.every())),
                _ => None,
            };
            want.keys.iter().filter_map(rate)
        };
        // The key that is free last says when the item can start.
        let (mut start, mut last) = (now, None);
        for (key, every) in rates() {
            let next = match record.starts.get(&key) {
                Some(next) => *next,
                None if record.starts.len() >= MOST_BUSY => now + every.max(SOON * 2),
                None => continue,
            };
            if next > start {
                (start, last) = (next, Some((key, every)));
            }
        }
        if let Some((key, every)) = last.filter(|_| start > now + SOON) {
            return Verdict::Defer { due: record.take_start(key, every, start) - EARLY };
        }
        if let Some(due) = self.turn(record, held, want, now) {
            return Verdict::Defer { due };
        }
        for (key, every) in rates() {
            record.starts.insert(key, start + every);
        }
        for key in &want.keys {
            if let Some(Bound::Concurrency(_)) = bound(&self.limits, *key) {
                *held.entry(*key).or_default() += 1;
            }
        }
        Verdict::Admit(start)
    }

    /// When to ask again, if a key of the item has no free place.
    fn turn(
        &self,
        record: &mut KeyRecord,
        held: &BTreeMap<Key, u32>,
        want: &Want,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut due = None;
        for key in &want.keys {
            let Some(Bound::Concurrency(most)) = bound(&self.limits, *key) else { continue };
            let name = key.to_string();
            let others = record.workers.values().filter_map(|places| places.held.get(&name));
            let taken = others.sum::<u32>() + held.get(key).copied().unwrap_or(0);
            if taken < most {
                continue;
            }
            let every = self.takes / most.max(1);
            // Rather a little too often: an attempt may end sooner than most.
            let next = record.take_turn(name, every * 3 / 4, now + LATE);
            due = due.max(Some(next));
        }
        due
    }
}
