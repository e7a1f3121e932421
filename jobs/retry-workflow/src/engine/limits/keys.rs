//! [`JobLimits`]: limits for items that share a key, such as a host: how many start per unit of
//! time, and how many run at the same time, across all workers of a job. The rates of a job are a
//! limit whose key all items share.
//!
//! Of several rates for a key, the one with the shortest interval paces the starts (`starts`), and
//! the others are windows (`window`), of starts or of costs.
//!
//! The store does not know the keys. A worker claims an item, finds out its keys, and reserves
//! their starts and places: it reads and changes the state of these keys in one step (`record`). If
//! one of them is busy, the item goes back to the store until the key is likely to be free. It then
//! holds up neither a place nor the items of other keys. Two kinds of items stay in hand: one whose
//! start is near, and one that waits for a place that this worker is going to free soon. The latter
//! takes the place over without the store.
//!
//! An item never goes back for the rates of its job. They bound the claim instead: a worker holds no
//! more items than it can start soon.

mod record;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub(in crate::engine) use self::record::Reserved;
use self::record::{ItemKeys, KeyState, Reservation, Start, Verdict};
use super::starts::{AHEAD, LATE, at_once, usable_until};
use crate::item::clock::Timestamp;
use crate::item::signature::fnv;
use crate::job::rate::{CostOf, DAY, Rate, Rates};
use crate::job::rate_record::window::Window;
use crate::words::thousands;

/// The time between two claims of items that waited for their keys, while other items are in hand.
const CLAIM_EVERY: Duration = Duration::from_millis(50);
/// The shortest time between two such claims.
const CLAIM_AT_MOST: Duration = Duration::from_millis(2);
/// An item that waits in hand for a place is reserved again after this time, and goes back to the
/// store unless it is the next one.
const PATIENCE: Duration = Duration::from_secs(1);
/// No more items wait in hand for a place.
const MOST_QUEUED: usize = 256;

/// The function that takes an item's key from its payload.
pub(crate) type KeyOf = Arc<dyn Fn(&Value) -> Option<String> + Send + Sync>;

/// A limit for items that share a key.
#[derive(Clone)]
pub(crate) struct JobLimit {
    /// `None`: all items of the job share the limit.
    pub(crate) of: Option<KeyOf>,
    pub(crate) bound: LimitBound,
    /// The text of the key, by which a limit keeps its state after an edit. Without one, it is
    /// numbered among those of its kind.
    pub(crate) name: Option<String>,
}

impl JobLimit {
    /// The limit of these rates.
    pub(crate) fn rates(of: Option<KeyOf>, rates: &Rates) -> Self {
        Self { of, bound: LimitBound::Rates(Arc::new(KeyRates::new(rates))), name: None }
    }

    /// Returns whether the payload of an item decides how much it uses of the limit.
    pub(in crate::engine) fn has_costs(&self) -> bool {
        let has_cost = |rates: &KeyRates| rates.windows.values().any(|(_, cost)| cost.is_some());
        matches!(&self.bound, LimitBound::Rates(rates) if has_cost(rates))
    }
}

/// The limit for each key.
#[derive(Clone)]
pub(crate) enum LimitBound {
    /// The number of starts per unit of time.
    Rates(Arc<KeyRates>),
    /// The number of items that run at the same time.
    Concurrency(u32),
}

/// The rates that hold for a key together.
pub(crate) struct KeyRates {
    text: String,
    /// The rate at which starts are spread evenly.
    pace: Option<Rate>,
    /// Each by its name in the store: its unit, and for costs a `$` and their name, and one more `$`
    /// for each that is the same so far.
    windows: BTreeMap<String, (Rate, Option<CostOf>)>,
}

impl KeyRates {
    fn new(rates: &Rates) -> Self {
        let plain = rates.0.iter().filter(|(rate, cost)| cost.is_none() && rate.unit() < DAY);
        let pace = plain.map(|(rate, _)| *rate).min_by_key(|rate| rate.every());
        let is_window =
            |(rate, cost): &&(Rate, Option<CostOf>)| cost.is_some() || Some(*rate) != pace;
        let mut windows = BTreeMap::<String, (Rate, Option<CostOf>)>::new();
        for (rate, cost) in rates.0.iter().filter(is_window) {
            let mut name = rate.unit_letter().to_owned();
            if let Some((of, _)) = cost {
                name = format!("{name}${of}");
                while windows.contains_key(&name) {
                    name.push('$');
                }
            }
            let (lowest, _) = windows.entry(name).or_insert_with(|| (*rate, cost.clone()));
            if rate.limit() < lowest.limit() {
                *lowest = *rate;
            }
        }
        let text = windows.keys().fold(rates.to_string(), |text, name| format!("{text} {name}"));
        Self { text, pace, windows }
    }
}

/// As the stored state of a key has it: `2`, or rates and the names of their windows.
impl fmt::Display for LimitBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rates(rates) => rates.text.fmt(f),
            Self::Concurrency(most) => most.fmt(f),
        }
    }
}

/// The keys of an item, and what it costs in the windows that have costs.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct KeysOf {
    keys: Vec<Key>,
    /// The number of the limit, the name of the window, and the cost.
    costs: Vec<(usize, String, u64)>,
}

impl KeysOf {
    fn cost(&self, key: Key, window: &str) -> u64 {
        let of =
            self.costs.iter().find(|(limit, name, _)| (*limit, &**name) == (key.limit, window));
        of.map_or(1, |(_, _, cost)| *cost)
    }
}

/// Returns the keys of an item.
///
/// # Errors
/// The item can never start, because of its cost; this is the message.
pub(in crate::engine) fn keys_of(limits: &[JobLimit], payload: &str) -> Result<KeysOf, String> {
    let is_read = limits.iter().any(|limit| limit.of.is_some() || limit.has_costs());
    let payload: Option<Value> = if is_read { serde_json::from_str(payload).ok() } else { None };
    let mut of_item = KeysOf::default();
    for (limit, JobLimit { of, bound, .. }) in limits.iter().enumerate() {
        let digest = match of {
            Some(of) => payload.as_ref().and_then(|payload| of(payload)).map(|key| fnv(&key)),
            None => Some(0),
        };
        let Some(digest) = digest else { continue };
        of_item.keys.push(Key { limit, digest });
        let LimitBound::Rates(rates) = bound else { continue };
        for (name, (rate, cost_of)) in &rates.windows {
            let Some((_, cost_of)) = cost_of else { continue };
            let message = match payload.as_ref().and_then(|payload| cost_of(payload)) {
                Some(cost) if (1..=rate.limit()).contains(&cost) => {
                    of_item.costs.push((limit, name.clone(), cost));
                    continue;
                }
                Some(cost @ 1..) => {
                    let cost = thousands(cost);
                    format!("it can never start: its cost of {cost} is above the limit of {rate}")
                }
                _ => format!("its cost for the limit of {rate} is not a whole number from 1"),
            };
            return Err(message);
        }
    }
    Ok(of_item)
}

/// The rate that lets an item start last, and when it does.
pub(in crate::engine) type LastRate = (Timestamp, Rate);

/// A key under one of the job's limits, by its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct Key {
    limit: usize,
    digest: u64,
}

/// A worker's state of the keys of the items that it holds.
pub(in crate::engine) struct JobLimits {
    limits: Arc<[JobLimit]>,
    worker: Arc<str>,
    /// By item; one without a key is not in here.
    items: HashMap<i64, KeyedItem>,
    /// Items that wait in hand for a place, in order; some no longer do.
    queue: VecDeque<i64>,
    /// Keys with places that have become free, which the store does not know yet.
    freed: BTreeSet<Key>,
    /// Starts that were not used, which the store does not know yet.
    unused: Vec<Start>,
    /// The time that the last item of a key took, if the store does not have it yet.
    took: BTreeMap<Key, Duration>,
    /// Until when the store grants this worker its places.
    until: Timestamp,
    /// The rates of the job itself, when the store was last read.
    of_job: Option<KeyState>,
    /// The time that the store took to reserve.
    delay: Duration,
    lease: Duration,
    /// The average running time of an item.
    takes: Duration,
}

/// An item that has keys.
struct KeyedItem {
    of: KeysOf,
    stage: Stage,
    /// The starts that its keys have reserved for it.
    starts: Vec<Start>,
    waits_for: Option<LastRate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its keys have to be reserved, but not before then.
    Unreserved(Timestamp),
    /// It waits in hand for a place that this worker is going to free, since then.
    Queued(Timestamp),
    /// It can start then, and no later than `until`.
    Admitted { at: Timestamp, until: Timestamp },
    /// It has started then.
    Runs(Timestamp),
}

impl Stage {
    /// Returns whether the item holds the places and the starts of its keys.
    fn has_places(self) -> bool {
        matches!(self, Self::Admitted { .. } | Self::Runs(_))
    }
}

impl JobLimits {
    pub(in crate::engine) fn new(
        limits: &Arc<[JobLimit]>,
        worker: &Arc<str>,
        lease: Duration,
    ) -> Self {
        Self {
            limits: Arc::clone(limits),
            worker: Arc::clone(worker),
            items: HashMap::new(),
            queue: VecDeque::new(),
            freed: BTreeSet::new(),
            unused: Vec::new(),
            took: BTreeMap::new(),
            until: Timestamp::default(),
            of_job: None,
            delay: Duration::ZERO,
            lease,
            takes: CLAIM_EVERY,
        }
    }

    /// The rates of the job itself.
    fn rates(&self) -> Option<&KeyRates> {
        self.limits.iter().find_map(|limit| match &limit.bound {
            LimitBound::Rates(rates) if limit.of.is_none() => Some(&**rates),
            _ => None,
        })
    }

    /// Returns whether there are other limits than the rates of the job.
    pub(in crate::engine) fn has_keys(&self) -> bool {
        self.limits.iter().any(|limit| limit.of.is_some())
    }

    /// The next free start of the job's rates, if it lies ahead, and the rate that has it.
    pub(in crate::engine) fn next_start(&self, now: Timestamp) -> Option<LastRate> {
        let turns = self.of_job.as_ref()?.turns(None, now);
        let last = turns.max_by_key(|turn| turn.at).filter(|turn| turn.at > now)?;
        Some((last.at, last.limit))
    }

    /// Returns how many items make sense to hold beside those that run.
    pub(in crate::engine) fn most_ready(&self, now: Timestamp) -> usize {
        let Some(KeyRates { pace, windows, .. }) = self.rates() else { return usize::MAX };
        let at_pace = pace.map_or(usize::MAX, |rate| at_once(rate.every()));
        let is_far = self.next_start(now).is_some_and(|(next, _)| next > now + AHEAD);
        let free = |window: &Window| window.limit.limit().saturating_sub(window.used(now));
        let state = self.of_job.as_ref().filter(|_| !is_far);
        let free = state.and_then(|state| state.windows.values().map(free).min()).unwrap_or(1);
        let free = usize::try_from(free).unwrap_or(usize::MAX).max(1);
        if windows.is_empty() { at_pace } else { at_pace.min(free) }
    }

    /// Returns how much of each window of the job's rates is used up: of equal rates, such as of
    /// two costs, the one that is used up most.
    #[cfg(feature = "metrics")]
    pub(in crate::engine) fn used(&self, now: Timestamp) -> impl Iterator<Item = (Rate, u64)> {
        let windows = self.of_job.iter().flat_map(|state| state.windows.values());
        windows.clone().map(move |window| {
            let equal = windows.clone().filter(|one| one.limit == window.limit);
            (window.limit, equal.map(|one| one.used(now)).max().unwrap_or_default())
        })
    }

    /// Returns for how many of the ready items keys can be reserved while this many places are
    /// free. Of the rate of a job, a worker reserves no starts that others could use sooner.
    pub(in crate::engine) fn most_to_reserve(
        &self,
        ready: impl Iterator<Item = i64>,
        free: usize,
        now: Timestamp,
    ) -> usize {
        let has_rate = self.rates().is_some();
        let starts = ready.filter_map(|item| self.start_of(item, now));
        free.saturating_sub(starts.filter(|at| has_rate || *at <= now).count())
    }

    /// Takes in an item that was claimed.
    pub(in crate::engine) fn add(&mut self, item: i64, payload: &str, now: Timestamp) {
        self.drop_item(item, now);
        // One that can never start waits for nothing.
        let of = keys_of(&self.limits, payload).unwrap_or_default();
        if !of.keys.is_empty() {
            let (stage, starts) = (Stage::Unreserved(now), Vec::new());
            self.items.insert(item, KeyedItem { of, stage, starts, waits_for: None });
        }
    }

    /// Returns when an item can start; `None` if that is not known, or past.
    pub(in crate::engine) fn start_of(&self, item: i64, now: Timestamp) -> Option<Timestamp> {
        match self.items.get(&item).map(|keyed| keyed.stage) {
            None => Some(now),
            Some(Stage::Admitted { at, until }) => Some(at).filter(|_| until >= now),
            Some(_) => None,
        }
    }

    /// The next time at which something can be done with an item: start it, or reserve its keys.
    /// Also returns the rate that it waits for, and until when.
    pub(in crate::engine) fn turn_of(
        &self,
        item: i64,
        now: Timestamp,
    ) -> Option<(Timestamp, Option<LastRate>)> {
        let keyed = self.items.get(&item);
        let at = match keyed.map(|keyed| keyed.stage) {
            Some(Stage::Unreserved(at)) => Some(at).filter(|at| *at > now),
            _ => self.start_of(item, now),
        };
        Some((at?, keyed.and_then(|keyed| keyed.waits_for)))
    }

    /// Notes that an item starts now.
    pub(in crate::engine) fn started(&mut self, item: i64, now: Timestamp) {
        if let Some(keyed) = self.items.get_mut(&item) {
            keyed.stage = Stage::Runs(now);
            keyed.starts.clear();
        }
    }

    /// Notes that an item is no longer in hand.
    pub(in crate::engine) fn ended(&mut self, item: i64, now: Timestamp) {
        let Some(keyed) = self.items.get(&item) else { return };
        if let Stage::Runs(since) = keyed.stage {
            let took = now.since(since);
            // A moving average of the last eight or so.
            self.takes = (self.takes * 7 + took) / 8;
            let with_places = keyed.of.keys.iter().filter(|key| has_places(&self.limits, **key));
            self.took.extend(with_places.map(|key| (*key, took)));
        }
        self.drop_item(item, now);
    }

    fn drop_item(&mut self, item: i64, now: Timestamp) {
        if let Some(keyed) = self.items.remove(&item) {
            self.unused.extend(keyed.starts);
            if keyed.stage.has_places() {
                self.pass_on(&keyed.of.keys, now);
            }
        }
    }

    /// Gives the places of these keys to the next item that waits for them. If it needs something
    /// else as well, the keys of all that wait for them have to be reserved.
    fn pass_on(&mut self, keys: &[Key], now: Timestamp) {
        let Self { limits, items, queue, freed, .. } = self;
        let mut places: Vec<_> =
            keys.iter().copied().filter(|key| has_places(limits, *key)).collect();
        let waits = |item: &i64| {
            items.get(item).is_some_and(|keyed| {
                matches!(keyed.stage, Stage::Queued(_))
                    && keyed.of.keys.iter().any(|key| places.contains(key))
            })
        };
        let waiting: Vec<_> = queue.iter().copied().filter(waits).collect();
        let next = waiting.first().and_then(|next| items.get_mut(next));
        if let Some(next) = next.filter(|next| next.of.keys.iter().all(|key| places.contains(key)))
        {
            next.stage = Stage::Admitted { at: now, until: usable_until(now, now) };
            places.retain(|key| !next.of.keys.contains(key));
            freed.extend(places);
            return;
        }
        freed.extend(places);
        for item in waiting {
            if let Some(keyed) = items.get_mut(&item) {
                keyed.stage = Stage::Unreserved(now);
            }
        }
    }

    /// Forgets items that are no longer held, and takes back starts that are late, because other
    /// workers may have reserved starts meanwhile. Items that have waited for long are reserved
    /// again.
    pub(in crate::engine) fn tidy(&mut self, is_held: impl Fn(i64) -> bool, now: Timestamp) {
        let lost: Vec<_> = self.items.keys().copied().filter(|item| !is_held(*item)).collect();
        for item in lost {
            self.drop_item(item, now);
        }
        let mut late = Vec::new();
        for keyed in self.items.values_mut() {
            match keyed.stage {
                Stage::Admitted { until, .. } if until < now => {
                    keyed.stage = Stage::Unreserved(now);
                    self.unused.append(&mut keyed.starts);
                    late.extend_from_slice(&keyed.of.keys);
                }
                Stage::Queued(since) if since + PATIENCE < now => {
                    keyed.stage = Stage::Unreserved(now);
                }
                _ => {}
            }
        }
        if !late.is_empty() {
            self.pass_on(&late, now);
        }
        let items = &self.items;
        self.queue.retain(|item| {
            items.get(item).is_some_and(|keyed| matches!(keyed.stage, Stage::Queued(_)))
        });
    }

    /// Returns the reservation that the store has to make, if one is needed: for up to `most` of the
    /// ready items, in their order.
    pub(in crate::engine) fn reservation(
        &mut self,
        ready: impl Iterator<Item = i64>,
        most: usize,
        now: Timestamp,
    ) -> Option<Reservation> {
        let want = |item: i64| {
            let keyed = self.items.get(&item)?;
            let is_due = matches!(keyed.stage, Stage::Unreserved(at) if at <= now);
            is_due.then(|| ItemKeys { item, of: keyed.of.clone() })
        };
        let wanted: Vec<_> = ready.filter_map(want).take(most).collect();
        let held = self.held();
        let is_late = !held.is_empty() && self.until < now + self.lease * 2 / 3;
        let has_news = !self.freed.is_empty() || !self.unused.is_empty();
        (!wanted.is_empty() || has_news || is_late).then(|| self.reserve(wanted, held, now))
    }

    /// The reservation that gives back everything that this worker has, because it leaves.
    pub(in crate::engine) fn leaving(&mut self, now: Timestamp) -> Option<Reservation> {
        self.queue.clear();
        let items: Vec<_> = self.items.keys().copied().collect();
        for item in items {
            self.drop_item(item, now);
        }
        let has_left = self.until > Timestamp::default() || !self.unused.is_empty();
        has_left.then(|| self.reserve(Vec::new(), BTreeMap::new(), now))
    }

    fn reserve(
        &mut self,
        wanted: Vec<ItemKeys>,
        held: BTreeMap<Key, u32>,
        now: Timestamp,
    ) -> Reservation {
        let (mut queued, mut near) = (BTreeMap::new(), BTreeMap::new());
        for keyed in self.items.values() {
            let count = match keyed.stage {
                Stage::Queued(_) => &mut queued,
                Stage::Unreserved(at) if at > now => &mut near,
                _ => continue,
            };
            for key in &keyed.of.keys {
                *count.entry(*key).or_default() += 1;
            }
        }
        Reservation {
            limits: Arc::clone(&self.limits),
            worker: Arc::clone(&self.worker),
            wanted,
            held,
            room: MOST_QUEUED.saturating_sub(self.queue.len()),
            queued,
            near,
            freed: std::mem::take(&mut self.freed),
            unused: std::mem::take(&mut self.unused),
            took: std::mem::take(&mut self.took),
            lease: self.lease,
            reach: LATE.max(self.delay * 2),
        }
    }

    /// Takes over what was reserved. Returns the items that go back to the store, and when they are
    /// due.
    pub(in crate::engine) fn reserved(
        &mut self,
        Reserved { verdicts, until, of_job, began }: Reserved,
        now: Timestamp,
    ) -> Vec<(i64, Timestamp)> {
        self.until = self.until.max(until);
        self.delay = now.since(began);
        self.of_job = of_job.or_else(|| self.of_job.take());
        let due = |(item, verdict, rate)| Some((item, self.judged(item, (verdict, rate), now)?));
        verdicts.into_iter().filter_map(due).collect()
    }

    /// Returns when an item is due if it goes back to the store.
    fn judged(
        &mut self,
        item: i64,
        (verdict, waits_for): (Verdict, Option<LastRate>),
        now: Timestamp,
    ) -> Option<Timestamp> {
        let Some(keyed) = self.items.get_mut(&item) else {
            // It has been lost meanwhile, and the store does not know that.
            if let Verdict::Admit { keys, starts, .. } = verdict {
                self.unused.extend(starts);
                self.pass_on(&keys, now);
            }
            return None;
        };
        keyed.waits_for = waits_for;
        match verdict {
            Verdict::Admit { at, starts, .. } => {
                let first = starts.iter().map(|start| start.at).fold(at, Timestamp::min);
                let slots =
                    starts.iter().filter(|start| start.cost.is_some()).map(|start| start.at);
                let until = slots.fold(usable_until(first, now), Timestamp::min);
                keyed.stage = Stage::Admitted { at, until };
                keyed.starts = starts;
            }
            Verdict::ReserveAt(at) => keyed.stage = Stage::Unreserved(at),
            Verdict::Queue => {
                keyed.stage = Stage::Queued(now);
                self.queue.push_back(item);
            }
            Verdict::Defer { due } => return Some(due),
        }
        None
    }

    /// The number of items that wait in hand for a place.
    pub(in crate::engine) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The time until the next claim of items that waited for their keys: shorter if the items in
    /// hand will have started by then.
    pub(in crate::engine) fn claim_every(&self) -> Duration {
        match u32::try_from(self.queue.len()) {
            Ok(0) | Err(_) => CLAIM_EVERY,
            Ok(queued) => (self.takes * queued / 2).clamp(CLAIM_AT_MOST, CLAIM_EVERY),
        }
    }

    /// Returns how many places this worker holds for each key.
    fn held(&self) -> BTreeMap<Key, u32> {
        let mut held = BTreeMap::new();
        for keyed in self.items.values().filter(|keyed| keyed.stage.has_places()) {
            for key in keyed.of.keys.iter().filter(|key| has_places(&self.limits, **key)) {
                *held.entry(*key).or_default() += 1;
            }
        }
        held
    }
}

/// Returns whether the limit of a key is about how many run at the same time.
fn has_places(limits: &[JobLimit], key: Key) -> bool {
    matches!(bound(limits, key), Some(LimitBound::Concurrency(_)))
}

/// The name of a key in the store.
fn name_of(limits: &[JobLimit], Key { limit, digest }: Key) -> String {
    let has_places = |limit| has_places(limits, Key { limit, digest });
    let kind = if has_places(limit) { "places" } else { "rate" };
    if let Some(name) = limits.get(limit).and_then(|limit| limit.name.as_ref()) {
        return format!("{kind} {:016x}:{digest:016x}", fnv(name));
    }
    let is_alike = |one: &usize| has_places(*one) == has_places(limit);
    format!("{kind} {}:{digest:016x}", (0..limit).filter(is_alike).count())
}

/// Returns whether all items share a key.
fn is_of_job(limits: &[JobLimit], key: Key) -> bool {
    limits.get(key.limit).is_some_and(|limit| limit.of.is_none())
}

fn bound(limits: &[JobLimit], key: Key) -> Option<&LimitBound> {
    limits.get(key.limit).map(|limit| &limit.bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::rate_record::RateRecord;
    use crate::store::{SqliteStore, Store};

    const LEASE: Duration = Duration::from_secs(30);

    /// A worker of a job whose items have one key, their payload.
    fn worker(name: &str, bounds: &[LimitBound]) -> JobLimits {
        let of: KeyOf = Arc::new(|payload| payload.as_str().map(ToOwned::to_owned));
        let limit = |bound: &LimitBound| JobLimit {
            of: Some(Arc::clone(&of)),
            bound: bound.clone(),
            name: None,
        };
        JobLimits::new(&bounds.iter().map(limit).collect(), &Arc::from(name), LEASE)
    }

    fn rate(text: &str) -> LimitBound {
        JobLimit::rates(None, &text.parse().unwrap()).bound
    }

    /// Claims items with the same key.
    fn claim(keys: &mut JobLimits, store: &SqliteStore, items: &[i64]) {
        for item in items {
            keys.add(*item, "\"key\"", store.now());
        }
    }

    /// Reserves the keys of these items, and returns those that are deferred, and by how much.
    async fn reserve(
        keys: &mut JobLimits,
        store: &SqliteStore,
        items: &[i64],
    ) -> Vec<(i64, Duration)> {
        let now = store.now();
        keys.tidy(|item| items.contains(&item), now);
        let Some(reservation) = keys.reservation(items.iter().copied(), usize::MAX, now) else {
            return Vec::new();
        };
        let reserved = reservation.make(store, "job").await.unwrap();
        let mut deferred = Vec::new();
        for (item, due) in keys.reserved(reserved, now) {
            keys.ended(item, now);
            deferred.push((item, due.since(now)));
        }
        deferred
    }

    fn can_start(keys: &JobLimits, store: &SqliteStore, item: i64) -> bool {
        let now = store.now();
        keys.start_of(item, now).is_some_and(|at| at <= now)
    }

    /// The next free start of the only key.
    async fn next_start(store: &SqliteStore) -> Timestamp {
        let values = store.values(&RateRecord::keys_prefix("job")).await.unwrap();
        let state: Value = serde_json::from_str(&values[0].1).unwrap();
        state["next"].as_str().unwrap().parse().unwrap()
    }

    #[cfg(feature = "metrics")]
    #[tokio::test(start_paused = true)]
    async fn of_equal_rates_the_one_that_is_used_up_most_is_measured() {
        let costs = ["much", "little", "some"]
            .map(|field| "9/h".parse::<Rate>().unwrap().cost(move |item| item[field].as_u64()).0);
        let limit = JobLimit::rates(None, &Rates(costs.concat()));
        let store = SqliteStore::in_memory();
        let mut keys = JobLimits::new(&Arc::from([limit]), &Arc::from("one"), LEASE);
        keys.add(1, r#"{ "much": 7, "little": 2, "some": 4 }"#, store.now());
        reserve(&mut keys, &store, &[1]).await;
        let used: Vec<_> = keys.used(store.now()).map(|(_, used)| used).collect();
        assert_eq!(used, [7; 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_was_not_used_is_free_again() {
        let (store, hour) = (SqliteStore::in_memory(), [rate("1/h")]);
        let mut one = worker("one", &hour);
        claim(&mut one, &store, &[1]);
        reserve(&mut one, &store, &[1]).await;
        assert!(can_start(&one, &store, 1));
        // It has no place for it at once.
        tokio::time::advance(Duration::from_millis(80)).await;
        assert!(!can_start(&one, &store, 1), "late");
        assert_eq!(reserve(&mut one, &store, &[1]).await, []);
        assert!(can_start(&one, &store, 1), "not an hour later");
        // It leaves before the item starts.
        let leaving = one.leaving(store.now()).unwrap();
        leaving.make(&store, "job").await.unwrap();
        let mut other = worker("other", &hour);
        claim(&mut other, &store, &[2, 3]);
        let deferred = reserve(&mut other, &store, &[2, 3]).await;
        assert!(can_start(&other, &store, 2));
        assert!(matches!(deferred[..], [(3, wait)] if wait > Duration::from_mins(59)));
        // The lease of the item is lost.
        assert_eq!(reserve(&mut other, &store, &[]).await, []);
        claim(&mut other, &store, &[4]);
        reserve(&mut other, &store, &[4]).await;
        assert!(can_start(&other, &store, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn the_schedule_of_a_key_is_never_further_ahead_than_an_interval_or_a_moment() {
        for (text, most) in [("1/h", 3_600_000), ("4/s", 250), ("5/s", 250), ("100/s", 250)] {
            let store = SqliteStore::in_memory();
            for _ in 0..5 {
                // Each of them is killed.
                let mut keys = worker("killed", &[rate(text)]);
                let items: Vec<_> = (0..100).collect();
                claim(&mut keys, &store, &items);
                reserve(&mut keys, &store, &items).await;
                let ahead = next_start(&store).await.since(store.now());
                assert!(ahead <= Duration::from_millis(most), "{text}: {ahead:?}");
                tokio::time::advance(Duration::from_millis(3)).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_passes_to_the_next_item_without_a_query() {
        let (store, mut keys) =
            (SqliteStore::in_memory(), worker("one", &[LimitBound::Concurrency(1)]));
        claim(&mut keys, &store, &[1, 2, 3]);
        assert_eq!(reserve(&mut keys, &store, &[1, 2, 3]).await, []);
        assert!(can_start(&keys, &store, 1) && !can_start(&keys, &store, 2));
        for item in [1, 2] {
            keys.started(item, store.now());
            tokio::time::advance(Duration::from_millis(5)).await;
            keys.ended(item, store.now());
            assert!(can_start(&keys, &store, item + 1));
            assert!(keys.reservation([2, 3].into_iter(), 10, store.now()).is_none());
        }
        keys.started(3, store.now());
        keys.ended(3, store.now());
        assert!(keys.reservation([].into_iter(), 10, store.now()).is_some(), "it is free");
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_next_item_waits_in_hand_for_long() {
        let (store, mut keys) =
            (SqliteStore::in_memory(), worker("one", &[LimitBound::Concurrency(1)]));
        claim(&mut keys, &store, &[1, 2, 3]);
        reserve(&mut keys, &store, &[1, 2, 3]).await;
        keys.started(1, store.now());
        tokio::time::advance(Duration::from_millis(900)).await;
        assert_eq!(reserve(&mut keys, &store, &[1, 2, 3]).await, []);
        tokio::time::advance(Duration::from_millis(101)).await;
        let deferred = reserve(&mut keys, &store, &[1, 2, 3]).await;
        assert!(matches!(deferred[..], [(3, _)]), "{deferred:?}");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(reserve(&mut keys, &store, &[1, 2]).await, []);
        keys.ended(1, store.now());
        assert!(can_start(&keys, &store, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn the_places_of_a_killed_worker_are_free_after_its_lease() {
        let (store, two) = (SqliteStore::in_memory(), [LimitBound::Concurrency(2)]);
        let (mut killed, mut other) = (worker("killed", &two), worker("other", &two));
        claim(&mut killed, &store, &[1]);
        reserve(&mut killed, &store, &[1]).await;
        claim(&mut other, &store, &[2, 3]);
        let deferred = reserve(&mut other, &store, &[2, 3]).await;
        assert!(can_start(&other, &store, 2) && deferred.is_empty(), "the other one waits in hand");
        other.started(2, store.now());
        for seconds in [20, 9] {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            assert_eq!(reserve(&mut other, &store, &[2, 3]).await, []);
            assert!(!can_start(&other, &store, 3));
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        reserve(&mut other, &store, &[2, 3]).await;
        assert!(can_start(&other, &store, 3));
    }
}
