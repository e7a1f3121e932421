//! The values by which the workers of a job share its limits: one for each key, and one with the
//! workers that hold places.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::super::starts::{ahead, free_start};
use super::{
    CLAIM_AT_MOST, JobLimit, Key, LATE, LimitBound, PATIENCE, bound, has_places, is_of_job,
};
use crate::item::clock::{Timestamp, micros};
use crate::job::rate_record::RateRecord;
use crate::store::{Store, StoreError};

/// An item whose start is at most this far away is kept until then.
const SOON: Duration = Duration::from_millis(150);
/// An item that goes back to the store is due so long before its start: time to claim it.
const EARLY: Duration = Duration::from_millis(100);
/// The shortest time that an item is assumed to run, until one has ended.
const TAKES_AT_LEAST: Duration = Duration::from_millis(1);

/// An item whose keys are to be reserved.
#[derive(Clone, Debug)]
pub(super) struct ItemKeys {
    pub(super) item: i64,
    pub(super) keys: Vec<Key>,
}

/// The result for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It can start then, which is soon, and has a place of each key, and these starts.
    Admit { at: Timestamp, keys: Vec<Key>, starts: Vec<(Key, Timestamp)> },
    /// It waits in hand: its start cannot be reserved before then.
    ReserveAt(Timestamp),
    /// This worker will soon free a place for it.
    Queue,
    /// It goes back to the store until it is due.
    Defer { due: Timestamp },
}

/// The value of a job: until when each worker has its places.
type Workers = BTreeMap<String, Timestamp>;

/// The value of a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct KeyState {
    /// The limit that this is for.
    #[serde(default)]
    limit: Option<LimitBound>,
    /// The next free start.
    #[serde(default, skip_serializing_if = "is_default")]
    next: Timestamp,
    /// The last start that was promised to an item.
    #[serde(default, skip_serializing_if = "is_default")]
    promised: Timestamp,
    /// The time at which the next item that finds the key busy should be claimed again.
    #[serde(default, skip_serializing_if = "is_default")]
    turn: Timestamp,
    /// The places of each worker. Those of a worker that is not in [`Workers`] are free.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    held: BTreeMap<String, u32>,
    /// The time at which an item was admitted last.
    #[serde(default, skip_serializing_if = "is_default")]
    admitted: Timestamp,
    /// The time that items run, in microseconds; 0 if none has ended.
    #[serde(default, skip_serializing_if = "is_default")]
    takes: i64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl KeyState {
    /// The state under this limit: another one counts from the last start, and nothing else that
    /// was said about the future holds.
    fn under(mut self, limit: LimitBound, now: Timestamp) -> Self {
        if let LimitBound::Rate(rate) = limit {
            let was = match self.limit {
                Some(LimitBound::Rate(was)) => was,
                _ => rate,
            };
            self.next = free_start(self.next, was.every(), rate.every(), now);
        }
        let is_past = |time: Timestamp| time <= now || self.limit != Some(limit);
        if is_past(self.promised) {
            self.promised = Timestamp::default();
        }
        if is_past(self.turn) {
            self.turn = Timestamp::default();
        }
        self.limit = Some(limit);
        self
    }

    /// Reserves a start for an item whose key is busy until `next`, and returns it: `next` if no
    /// other item has reserved it, otherwise the item's own turn.
    fn take_start(&mut self, every: Duration, next: Timestamp) -> Timestamp {
        if self.promised < next {
            self.promised = next;
            return next;
        }
        // Rather a little too often, because some cannot start when it is their turn.
        self.take_turn(every * 15 / 16, next + every)
    }

    /// Reserves the next turn for an item, from `first` on: items that wait for the same key take
    /// turns.
    fn take_turn(&mut self, every: Duration, first: Timestamp) -> Timestamp {
        let turn = first.max(self.turn);
        self.turn = turn + every;
        turn
    }

    /// The time that an item runs, as far as that is known.
    fn estimate(&self, now: Timestamp) -> Duration {
        match u64::try_from(self.takes) {
            Ok(0) | Err(_) => now.since(self.admitted).max(TAKES_AT_LEAST),
            Ok(takes) => Duration::from_micros(takes),
        }
    }

    fn took(&mut self, took: Duration) {
        let took = micros(took).max(1);
        self.takes =
            if self.takes == 0 { took } else { (self.takes / 4 * 3).saturating_add(took / 4) };
    }
}

/// The starts and places that a worker wants to reserve, and those that it gives back.
pub(in crate::engine) struct Reservation {
    pub(super) limits: Arc<[JobLimit]>,
    pub(super) worker: Arc<str>,
    pub(super) wanted: Vec<ItemKeys>,
    /// The places of this worker.
    pub(super) held: BTreeMap<Key, u32>,
    /// The number of further items that it can keep in hand while they wait for a place.
    pub(super) room: usize,
    /// The number of items with each key that wait in hand: for a place, and for a start that is
    /// near.
    pub(super) queued: BTreeMap<Key, u32>,
    pub(super) near: BTreeMap<Key, u32>,
    pub(super) freed: BTreeSet<Key>,
    pub(super) unused: Vec<(Key, Timestamp)>,
    pub(super) took: BTreeMap<Key, Duration>,
    pub(super) lease: Duration,
}

/// The results, by item.
#[derive(Default)]
pub(in crate::engine) struct Reserved {
    pub(super) verdicts: Vec<(i64, Verdict)>,
    /// Until when this worker has its places.
    pub(super) until: Timestamp,
    /// The next free start of the job's rate, if that was read.
    pub(super) next: Option<Timestamp>,
}

impl Reservation {
    /// Writes down what is taken and what is given back.
    pub(in crate::engine) async fn make(
        self,
        store: &dyn Store,
        job: &str,
    ) -> Result<Reserved, StoreError> {
        let wanted = self.wanted.iter().flat_map(|want| &want.keys);
        let unused = self.unused.iter().map(|(key, _)| key);
        let keys: BTreeSet<Key> =
            wanted.chain(unused).chain(&self.freed).chain(self.took.keys()).copied().collect();
        let prefix = RateRecord::keys_prefix(job);
        let name = |key: &Key| match key {
            key if is_of_job(&self.limits, *key) => RateRecord::key(job),
            Key { limit, digest } => format!("{prefix}{limit}:{digest:016x}"),
        };
        let mut names: Vec<_> = keys.iter().map(name).collect();
        // Without places it is not needed, and workers do not wait for each other.
        if self.limits.iter().any(|limit| matches!(limit.bound, LimitBound::Concurrency(_))) {
            names.push(RateRecord::by_key(job));
        }
        let (now, reserved) = (store.now(), Arc::new(Mutex::new(Reserved::default())));
        let result = Arc::clone(&reserved);
        let change = move |values: &mut [Option<String>]| {
            *result.lock() = self.reserve(&keys, values, now)?;
            Ok(())
        };
        store.update(names, Box::new(change)).await?;
        Ok(std::mem::take(&mut *reserved.lock()))
    }

    /// Judges from the values of these keys, and from the value of the job if there is one more,
    /// and changes them.
    fn reserve(
        &self,
        keys: &BTreeSet<Key>,
        values: &mut [Option<String>],
        now: Timestamp,
    ) -> Result<Reserved, StoreError> {
        fn read<T: Default + for<'a> Deserialize<'a>>(value: Option<&String>) -> T {
            value.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        }
        let mut workers: Workers = read(values.get(keys.len()).and_then(Option::as_ref));
        workers.retain(|_, until| *until > now);
        let mut states = BTreeMap::new();
        for (key, value) in keys.iter().zip(values.iter()) {
            let Some(limit) = bound(&self.limits, *key) else { continue };
            let mut state = read::<KeyState>(value.as_ref()).under(limit, now);
            state.held.retain(|worker, _| workers.contains_key(worker) && **worker != *self.worker);
            if let Some(held) = self.held.get(key) {
                state.held.insert(self.worker.to_string(), *held);
            }
            if let Some(took) = self.took.get(key) {
                state.took(*took);
            }
            states.insert(*key, state);
        }
        self.take_back(&mut states);
        let mut round = Round {
            reservation: self,
            states,
            room: self.room,
            queued: self.queued.clone(),
            near: self.near.clone(),
            now,
        };
        let verdicts = self.wanted.iter().map(|want| (want.item, round.judge(want))).collect();
        let mut states = round.states;
        let of_job = states.iter().find(|(key, _)| is_of_job(&self.limits, **key));
        let next = of_job.map(|(_, state)| state.next);
        let holds = !self.held.is_empty()
            || states.values().any(|state| state.held.contains_key(&*self.worker));
        let until = now + self.lease;
        if holds {
            let worker = self.worker.to_string();
            let registered = workers.entry(worker).or_default();
            if *registered < now + self.lease * 2 / 3 {
                *registered = until;
            }
        } else {
            workers.remove(&*self.worker);
        }
        let until = workers.get(&*self.worker).copied().unwrap_or_default();
        for (key, value) in keys.iter().zip(values.iter_mut()) {
            if let Some(state) = states.remove(key) {
                *value = Some(serde_json::to_string(&state).map_err(StoreError::other)?);
            }
        }
        if let Some(value) = values.get_mut(keys.len())
            && (holds || value.is_some())
        {
            *value = Some(serde_json::to_string(&workers).map_err(StoreError::other)?);
        }
        Ok(Reserved { verdicts, until, next })
    }

    /// Takes starts back that were not used, the last ones first: what comes before the starts of
    /// other workers is lost.
    fn take_back(&self, states: &mut BTreeMap<Key, KeyState>) {
        let mut unused = self.unused.clone();
        unused.sort_unstable_by(|one, other| other.cmp(one));
        for (key, start) in unused {
            if let (Some(LimitBound::Rate(rate)), Some(state)) =
                (bound(&self.limits, key), states.get_mut(&key))
                && state.next == start + rate.every()
            {
                state.next = start;
            }
        }
    }
}

/// The verdicts on the items of a reservation, while they are found.
struct Round<'a> {
    reservation: &'a Reservation,
    states: BTreeMap<Key, KeyState>,
    room: usize,
    queued: BTreeMap<Key, u32>,
    near: BTreeMap<Key, u32>,
    now: Timestamp,
}

impl Round<'_> {
    fn judge(&mut self, want: &ItemKeys) -> Verdict {
        if let Some(verdict) = self.wait_for_start(want) {
            return verdict;
        }
        if let Some(verdict) = self.wait_for_place(want) {
            return verdict;
        }
        let at = self.rates(want).map(|(key, _)| self.next(key)).fold(self.now, Timestamp::max);
        let mut starts = Vec::new();
        for key in &want.keys {
            let Some(state) = self.states.get_mut(key) else { continue };
            match bound(&self.reservation.limits, *key) {
                Some(LimitBound::Rate(rate)) => {
                    // One that is a moment late keeps its time.
                    let start = free_start(state.next, rate.every(), rate.every(), at);
                    state.next = start + rate.every();
                    starts.push((*key, start));
                }
                Some(LimitBound::Concurrency(_)) => {
                    *state.held.entry(self.reservation.worker.to_string()).or_default() += 1;
                    state.admitted = self.now;
                }
                None => {}
            }
        }
        Verdict::Admit { at, keys: want.keys.clone(), starts }
    }

    /// The keys of an item that have a rate.
    fn rates<'a>(&'a self, want: &'a ItemKeys) -> impl Iterator<Item = (Key, Duration)> + use<'a> {
        want.keys.iter().filter_map(|key| match bound(&self.reservation.limits, *key) {
            Some(LimitBound::Rate(rate)) => Some((*key, rate.every())),
            _ => None,
        })
    }

    fn next(&self, key: Key) -> Timestamp {
        self.states.get(&key).map_or(self.now, |state| state.next)
    }

    /// The verdict on an item whose next start cannot be reserved yet.
    fn wait_for_start(&mut self, want: &ItemKeys) -> Option<Verdict> {
        let now = self.now;
        let near = |key: Key| self.near.get(&key).copied().unwrap_or(0);
        let least_ahead = self.rates(want).map(|(_, every)| ahead(every)).min()?;
        let next = self.rates(want).map(|(key, _)| self.next(key)).max()?;
        if next <= now + least_ahead {
            return None;
        }
        let is_of_job = |(key, _): &(Key, Duration)| is_of_job(&self.reservation.limits, *key);
        // Many at once, when half of what can be reserved is free.
        let at_rate =
            |(key, every): (Key, Duration)| self.next(key) - least_ahead.min(ahead(every) / 2);
        let of_job = self.rates(want).find(is_of_job).map(at_rate).unwrap_or_default();
        // After those that wait in hand already.
        let after =
            |(key, every): (Key, Duration)| (self.next(key) + every * near(key), key, every);
        let by_key = self.rates(want).filter(|one| !is_of_job(one)).map(after).max();
        let Some((start, key, every)) = by_key else {
            return Some(Verdict::ReserveAt(of_job));
        };
        if start > now + SOON {
            let due = self.states.get_mut(&key)?.take_start(every, start) - EARLY;
            return Some(Verdict::Defer { due });
        }
        for key in &want.keys {
            *self.near.entry(*key).or_default() += 1;
        }
        if let Some(state) = self.states.get_mut(&key) {
            state.promised = state.promised.max(start);
        }
        Some(Verdict::ReserveAt(of_job.max(start - least_ahead)))
    }

    /// The verdict on an item that has a key without a free place.
    fn wait_for_place(&mut self, want: &ItemKeys) -> Option<Verdict> {
        let Self { reservation, states, room, queued, now, .. } = self;
        let (mut is_busy, mut due) = (false, None);
        for key in want.keys.iter().filter(|key| has_places(&reservation.limits, **key)) {
            let Some(LimitBound::Concurrency(most)) = bound(&reservation.limits, *key) else {
                continue;
            };
            let Some(state) = states.get_mut(key) else { continue };
            if state.held.values().sum::<u32>() < most {
                continue;
            }
            is_busy = true;
            let is_own = state.held.contains_key(&*reservation.worker);
            let (every, ahead) =
                (state.estimate(*now) / most.max(1), queued.get(key).copied().unwrap_or(0));
            // The next one always: its place would be empty for a while otherwise.
            if is_own && *room > 0 && (ahead == 0 || every * (ahead + 1) <= PATIENCE) {
                continue;
            }
            // Rather a little too often: an attempt may end sooner than most.
            let first =
                if is_own && ahead > 0 { (every * ahead / 2).max(CLAIM_AT_MOST) } else { LATE };
            due = due.max(Some(state.take_turn(every * 3 / 4, *now + first)));
        }
        if let Some(due) = due {
            return Some(Verdict::Defer { due });
        }
        is_busy.then(|| {
            *room -= 1;
            for key in &want.keys {
                *queued.entry(*key).or_default() += 1;
            }
            Verdict::Queue
        })
    }
}
