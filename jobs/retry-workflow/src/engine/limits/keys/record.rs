//! The values by which the workers of a job share its limits: one for each key, and one with the
//! workers that hold places.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::super::starts::{AHEAD, ahead, free_start};
use super::{
    CLAIM_AT_MOST, JobLimit, Key, KeyRates, KeysOf, LATE, LastRate, LimitBound, PATIENCE, bound,
    has_places, is_of_job, name_of,
};
use crate::item::clock::{Timestamp, micros};
use crate::item::json::is_default;
use crate::job::rate::Rate;
use crate::job::rate_record::RateRecord;
use crate::job::rate_record::window::Window;
use crate::store::{Store, StoreError};

/// An item whose start is at most this far away is kept until then.
const SOON: Duration = Duration::from_millis(150);
/// An item that waits in hand for a window asks again in this time, and keeps its room for three
/// times as long: if it was removed, or its worker killed, others start.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// An item whose turn has come, and that does not start within this time, loses the turn.
const GRACE: Duration = Duration::from_secs(5);
/// An item that goes back to the store is due so long before its start: time to claim it.
const EARLY: Duration = Duration::from_millis(100);
/// The shortest time that an item is assumed to run, until one has ended.
const TAKES_AT_LEAST: Duration = Duration::from_millis(1);

/// An item whose keys are to be reserved.
#[derive(Clone, Debug)]
pub(super) struct ItemKeys {
    pub(super) item: i64,
    pub(super) of: KeysOf,
}

/// The reservation of a key for an item: a start at its pace, or its cost in a window, with the name
/// of the window, until the end of the slot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct Start {
    pub(super) key: Key,
    pub(super) at: Timestamp,
    pub(super) cost: Option<(String, u64)>,
}

/// The answer of a rate of a key to an item that wants to start.
pub(super) struct Turn {
    pub(super) limit: Rate,
    pub(super) at: Timestamp,
    /// The distance between such items, on average.
    every: Duration,
    /// The time by which the start can be reserved early.
    ahead: Duration,
    window: Option<String>,
    /// Set if another item has to start in the window before.
    is_after_other: bool,
}

/// The result for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It can start then, which is soon, and has a place of each key, and these starts.
    Admit { at: Timestamp, keys: Vec<Key>, starts: Vec<Start> },
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
pub(in crate::engine) struct KeyState {
    /// The limit that this is for.
    bound: String,
    /// The rate at which starts are spread evenly.
    #[serde(default, skip_serializing_if = "is_default")]
    pace: Option<Rate>,
    /// The use of the other rates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) windows: BTreeMap<String, Window>,
    /// The use of rates that the last worker did not have: it is counted, and limits nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    others: BTreeMap<String, Window>,
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

impl KeyState {
    /// The state under this limit: another one counts from the last start, and nothing else that
    /// was said about the future holds.
    fn under(mut self, limit: &LimitBound, now: Timestamp) -> Self {
        let bound = limit.to_string();
        if let LimitBound::Rates(rates) = limit {
            if self.bound != bound || rates.windows.keys().any(|it| !self.windows.contains_key(it))
            {
                self.change_windows(rates);
            }
            self.others.retain(|_, window| {
                window.set(window.limit, now);
                !window.used.is_empty()
            });
            for (name, window) in &mut self.windows {
                let limit = rates.windows.get(name).map(|(rate, _)| *rate).or(rates.pace);
                window.set(limit.unwrap_or(window.limit), now);
            }
            if let Some(rate) = rates.pace {
                let was = self.pace.unwrap_or(rate);
                self.next = free_start(self.next, was.every(), rate.every(), now);
            }
            self.pace = rates.pace;
        }
        let is_past = |time: Timestamp| time <= now || self.bound != bound;
        if is_past(self.promised) {
            self.promised = Timestamp::default();
        }
        if is_past(self.turn) {
            self.turn = Timestamp::default();
        }
        self.bound = bound;
        self
    }

    /// Changes the windows to those of these rates: what was used counts for an edited limit, and
    /// for one that comes back.
    fn change_windows(&mut self, rates: &KeyRates) {
        let mut known = std::mem::take(&mut self.windows);
        known.append(&mut self.others);
        let windows = rates.windows.iter().map(|(name, (rate, _))| (&**name, *rate));
        // A window whose rate now paces is kept.
        let paces = rates.pace.map(|rate| (rate.unit_letter(), rate));
        let paces = paces.filter(|(name, _)| known.contains_key(*name));
        for (name, rate) in paces.into_iter().chain(windows) {
            let window = known.remove(name).or_else(|| self.windows.remove(name));
            let window = window.unwrap_or_else(|| Window::new(rate));
            self.windows.insert(name.to_owned(), Window { first: None, ..window });
        }
        self.others = known;
    }

    /// Returns when each rate of the key lets an item start, which is any one without `item`.
    pub(super) fn turns<'a>(
        &'a self,
        item: Option<(Key, &'a ItemKeys)>,
        now: Timestamp,
    ) -> impl Iterator<Item = Turn> + use<'a> {
        let paced = self.pace.map(|limit| {
            let (at, every) = (self.next, limit.every());
            let (ahead, window) = (ahead(every), None);
            Turn { limit, at, every, ahead, window, is_after_other: false }
        });
        let windows = self.windows.iter().map(move |(name, window)| {
            let (limit, cost) =
                (window.limit, item.map_or(1, |(key, item)| item.of.cost(key, name)));
            let every = limit.every().saturating_mul(u32::try_from(cost).unwrap_or(u32::MAX));
            let item = item.map(|(_, item)| item.item);
            let at = window.free_at(item, cost, now);
            let (ahead, is_after_other) = (AHEAD, window.is_after_other(item, now));
            Turn { limit, at, every, ahead, window: Some(name.clone()), is_after_other }
        });
        paced.into_iter().chain(windows)
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
    pub(super) unused: Vec<Start>,
    pub(super) took: BTreeMap<Key, Duration>,
    pub(super) lease: Duration,
    /// A start in a window can be used for so long.
    pub(super) reach: Duration,
}

/// The results, by item.
#[derive(Default)]
pub(in crate::engine) struct Reserved {
    pub(super) verdicts: Vec<(i64, Verdict, Option<LastRate>)>,
    /// Until when this worker has its places.
    pub(super) until: Timestamp,
    /// The rates of the job itself, if they were read.
    pub(super) of_job: Option<KeyState>,
    /// The time of the reservation.
    pub(super) began: Timestamp,
}

impl Reservation {
    /// Writes down what is taken and what is given back.
    pub(in crate::engine) async fn make(
        self,
        store: &dyn Store,
        job: &str,
    ) -> Result<Reserved, StoreError> {
        let wanted = self.wanted.iter().flat_map(|want| &want.of.keys);
        let unused = self.unused.iter().map(|start| &start.key);
        let keys: BTreeSet<Key> =
            wanted.chain(unused).chain(&self.freed).chain(self.took.keys()).copied().collect();
        let prefix = RateRecord::keys_prefix(job);
        let name = |key: &Key| match key {
            key if is_of_job(&self.limits, *key) => RateRecord::key(job),
            key => format!("{prefix}{}", name_of(&self.limits, *key)),
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
        let judged = self.wanted.iter().map(|want| {
            let (verdict, rate) = round.judge(want);
            (want.item, verdict, rate)
        });
        let verdicts = judged.collect();
        let mut states = round.states;
        let of_job = states.iter().find(|(key, _)| is_of_job(&self.limits, **key));
        let of_job = of_job.map(|(_, state)| state.clone());
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
        Ok(Reserved { verdicts, until, of_job, began: now })
    }

    /// Takes starts back that were not used, the last ones first: what comes before the starts of
    /// other workers is lost.
    fn take_back(&self, states: &mut BTreeMap<Key, KeyState>) {
        let mut unused = self.unused.clone();
        unused.sort_unstable_by(|one, other| other.cmp(one));
        for Start { key, at, cost } in unused {
            let Some(state) = states.get_mut(&key) else { continue };
            if let Some((name, cost)) = cost {
                for windows in [&mut state.windows, &mut state.others] {
                    windows.entry(name.clone()).and_modify(|window| window.give_back(cost, at));
                }
            } else if state.pace.is_some_and(|rate| state.next == at + rate.every()) {
                state.next = at;
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
    /// Returns the verdict on an item, and the rate that lets it start last, and when.
    fn judge(&mut self, want: &ItemKeys) -> (Verdict, Option<LastRate>) {
        let turns: Vec<_> = self.turns(want).collect();
        let last = turns.iter().map(|(_, turn)| turn).max_by_key(|turn| turn.at);
        let rate = last.map(|last| (last.at, last.limit));
        let waits = last.and_then(|last| self.wait_for_start(want, &turns, last.at));
        if let Some(verdict) = waits.or_else(|| self.wait_for_place(want)) {
            return (verdict, rate);
        }
        let at = last.map_or(self.now, |last| last.at.max(self.now));
        let mut starts = Vec::new();
        for key in &want.of.keys {
            let Some(state) = self.states.get_mut(key) else { continue };
            if has_places(&self.reservation.limits, *key) {
                *state.held.entry(self.reservation.worker.to_string()).or_default() += 1;
                state.admitted = self.now;
            }
            if let Some(rate) = state.pace {
                // One that is a moment late keeps its time.
                let start = free_start(state.next, rate.every(), rate.every(), at);
                state.next = start + rate.every();
                starts.push(Start { key: *key, at: start, cost: None });
            }
            for (name, window) in state.windows.iter_mut().chain(&mut state.others) {
                let cost = want.of.cost(*key, name);
                let end = window.start(want.item, cost, at + self.reservation.reach);
                starts.push(Start { key: *key, at: end, cost: Some((name.clone(), cost)) });
            }
        }
        (Verdict::Admit { at, keys: want.of.keys.clone(), starts }, rate)
    }

    /// The answers of the rates of an item's keys.
    fn turns<'a>(&'a self, want: &'a ItemKeys) -> impl Iterator<Item = (Key, Turn)> + use<'a> {
        want.of.keys.iter().flat_map(|key| {
            let state = self.states.get(key).into_iter();
            let turns = state.flat_map(|state| state.turns(Some((*key, want)), self.now));
            turns.map(|turn| (*key, turn))
        })
    }

    /// The verdict on an item whose next start, which is at `next`, cannot be reserved yet.
    fn wait_for_start(
        &mut self,
        want: &ItemKeys,
        turns: &[(Key, Turn)],
        next: Timestamp,
    ) -> Option<Verdict> {
        let now = self.now;
        let least_ahead = turns.iter().map(|(_, turn)| turn.ahead).min()?;
        if next <= now + least_ahead {
            return None;
        }
        let limits = &self.reservation.limits;
        // One that waits for another item keeps no room: else the two could wait for each other.
        let is_after_other = turns.iter().any(|(_, turn)| turn.is_after_other);
        let (mut ask_again, mut has_turn) = (Timestamp::NEVER, false);
        for (key, turn) in turns {
            if let (Some(name), Some(state)) = (&turn.window, self.states.get_mut(key))
                && let Some(window) = state.windows.get_mut(name)
            {
                let mut until = next + GRACE;
                if is_of_job(limits, *key) {
                    until = until.min(now + ASK_AGAIN * 3);
                    ask_again = now + ASK_AGAIN;
                }
                if (window.take_turn(want.item) || turn.at == next) && !is_after_other {
                    window.keep_room(want.item, next, until);
                    has_turn = true;
                }
            }
        }
        let near = |key: Key| self.near.get(&key).copied().unwrap_or(0);
        let is_of_job = |(key, _): &&(Key, Turn)| is_of_job(limits, *key);
        // Many at once, when half of what can be reserved is free.
        let at_rate = |(_, turn): &(Key, Turn)| turn.at - least_ahead.min(turn.ahead / 2);
        let of_job = turns.iter().filter(is_of_job).map(at_rate).max().unwrap_or_default();
        // After those that wait in hand already.
        let after =
            |(key, turn): &(Key, Turn)| (turn.at + turn.every * near(*key), *key, turn.every);
        let by_key = turns.iter().filter(|one| !is_of_job(one)).map(after).max();
        let Some((start, key, every)) = by_key else {
            return Some(Verdict::ReserveAt(of_job.min(ask_again)));
        };
        if start > now + SOON {
            let state = self.states.get_mut(&key)?;
            let due = if has_turn { next } else { state.take_start(every, start) };
            return Some(Verdict::Defer { due: due - EARLY });
        }
        for key in &want.of.keys {
            *self.near.entry(*key).or_default() += 1;
        }
        if let Some(state) = self.states.get_mut(&key) {
            state.promised = state.promised.max(start);
        }
        Some(Verdict::ReserveAt(of_job.max(start - least_ahead).min(ask_again)))
    }

    /// The verdict on an item that has a key without a free place.
    fn wait_for_place(&mut self, want: &ItemKeys) -> Option<Verdict> {
        let Self { reservation, states, room, queued, now, .. } = self;
        let (mut is_busy, mut due) = (false, None);
        for key in want.of.keys.iter().filter(|key| has_places(&reservation.limits, **key)) {
            let Some(LimitBound::Concurrency(most)) = bound(&reservation.limits, *key) else {
                continue;
            };
            let Some(state) = states.get_mut(key) else { continue };
            if state.held.values().sum::<u32>() < *most {
                continue;
            }
            is_busy = true;
            let is_own = state.held.contains_key(&*reservation.worker);
            let (every, ahead) =
                (state.estimate(*now) / (*most).max(1), queued.get(key).copied().unwrap_or(0));
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
            for key in &want.of.keys {
                *queued.entry(*key).or_default() += 1;
            }
            Verdict::Queue
        })
    }
}
