//! A small model of a store, and random operations on a store and the model side by side:
//! everything observable has to agree. The tests of other crates' stores include this file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use retry_workflow::store::{
    Alteration, AttemptOutcome, AttemptRecord, HourCount, JobRow, Lease, LeaseKey, NewItem,
    SUSPECT_AFTER, Selection, Settled, Settlement, Start, Waiting,
};
use retry_workflow::{Counts, Failure, Filter, ItemRecord, ItemState, Store, Timestamp};

const JOBS: [&str; 2] = ["one", "two"];
const MESSAGES: [(&str, &str); 4] = [
    ("other", "order 1 is bad"),
    ("other", "order 2 is bad"),
    ("timeout+server_error", "HTTP 503"),
    ("timeout", "took 3s"),
];

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Enqueue {
        job: usize,
        ids: Vec<u8>,
        due: i64,
    },
    Claim {
        job: usize,
        worker: bool,
        max: usize,
        starts: usize,
        lease: u64,
        /// `true` if the time of the claim is odd in microseconds.
        odd: bool,
    },
    ClaimSuspect {
        job: usize,
        lease: u64,
    },
    /// Leases by their index among all leases ever given: most are stale.
    Settle {
        which: Vec<(usize, End, u8)>,
        started: Vec<usize>,
    },
    Extend {
        which: Vec<usize>,
        started: Vec<usize>,
        by: i64,
    },
    Wait(i64),
    Redrive {
        filter: Filter,
        max: Option<u64>,
        every: u64,
        from_failed: bool,
    },
    Purge(Filter),
    MakeDue {
        job: usize,
    },
    /// Copies the items of a job to the other job.
    Import {
        from: usize,
    },
    Cas {
        key: u8,
        revision: u64,
    },
    /// The last value if there are this many, otherwise the value of this key.
    FindOrInsert {
        key: u8,
        enough: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Succeeded,
    RetryIn(i64),
    Dead(usize),
    Skipped(Option<usize>),
    Released,
    DeferredBy(i64),
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        3 => Just(End::Succeeded),
        3 => (0..30_i64).prop_map(End::RetryIn),
        4 => (0..MESSAGES.len()).prop_map(End::Dead),
        1 => prop::option::of(0..MESSAGES.len()).prop_map(End::Skipped),
        1 => Just(End::Released),
        1 => (0..30_i64).prop_map(End::DeferredBy),
    ]
}

pub(crate) fn filter() -> impl Strategy<Value = Filter> {
    let states = prop::collection::vec(prop::sample::select(ItemState::ALL.to_vec()), 0..5);
    (
        prop::option::of(prop::sample::select(JOBS.to_vec())),
        prop::option::weighted(0.2, prop::collection::vec(0..12_u8, 0..6)),
        prop::option::of(states),
        prop::option::weighted(
            0.2,
            prop::sample::select(vec!["order <n> is bad", "HTTP <n>", "none"]),
        ),
        prop::option::weighted(
            0.2,
            prop::sample::select(vec!["other", "timeout", "timeout+server_error", "time"]),
        ),
        prop::option::weighted(0.2, 0..200_i64),
        prop::option::weighted(0.2, 0..200_i64),
    )
        .prop_map(|(job, ids, states, signature, class, since, until)| {
            let mut filter = Filter::default();
            filter.job = job.map(ToOwned::to_owned);
            filter.ids = ids.map(|ids| ids.into_iter().map(id).collect());
            filter.states = states;
            filter.signature = signature.map(ToOwned::to_owned);
            filter.class = class.map(ToOwned::to_owned);
            filter.since = since.map(at);
            filter.until = until.map(at);
            filter
        })
}

fn started() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..12_usize, 0..3)
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let job = || 0..JOBS.len();
    prop_oneof![
        3 => (job(), prop::collection::vec(0..12_u8, 0..6), 0..40_i64)
            .prop_map(|(job, ids, due)| Operation::Enqueue { job, ids, due }),
        6 => (job(), any::<bool>(), 0..6_usize, 0..4_usize, 0..40_u64, any::<bool>()).prop_map(
            |(job, worker, max, starts, lease, odd)| {
                Operation::Claim { job, worker, max, starts, lease, odd }
            }
        ),
        3 => (job(), 0..40_u64).prop_map(|(job, lease)| Operation::ClaimSuspect { job, lease }),
        6 => (prop::collection::vec((0..12_usize, end(), 0..3_u8), 0..5), started())
            .prop_map(|(which, started)| Operation::Settle { which, started }),
        2 => (prop::collection::vec(0..12_usize, 0..3), started(), 0..60_i64)
            .prop_map(|(which, started, by)| Operation::Extend { which, started, by }),
        4 => (-5..50_i64).prop_map(Operation::Wait),
        1 => (3000..4000_i64).prop_map(Operation::Wait),
        2 => (filter(), prop::option::of(0..4_u64), 0..10_u64, any::<bool>()).prop_map(
            |(filter, max, every, from_failed)| {
                Operation::Redrive { filter, max, every, from_failed }
            }
        ),
        1 => filter().prop_map(Operation::Purge),
        1 => job().prop_map(|job| Operation::MakeDue { job }),
        1 => job().prop_map(|from| Operation::Import { from }),
        1 => (0..3_u8, 0..4_u64).prop_map(|(key, revision)| Operation::Cas { key, revision }),
        1 => (0..3_u8, 0..4_usize)
            .prop_map(|(key, enough)| Operation::FindOrInsert { key, enough }),
    ]
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000 + seconds * 1_000_000)
}

fn id(number: u8) -> String {
    format!("item-{number}")
}

/// Most items have none.
fn rank(number: u8) -> i8 {
    match number {
        3 | 4 => 2,
        7 => -9,
        11 => 9,
        _ => 0,
    }
}

fn failure(which: usize) -> Failure {
    let (class, message) = MESSAGES[which];
    Failure::new(class, message)
}

/// An item of the model.
#[derive(Clone, Debug)]
struct Entry {
    seen: ItemRecord,
    own_correlation: Option<String>,
    token: u64,
    lost: u32,
    dropped: u32,
    holder: Arc<str>,
    since: Option<Timestamp>,
    is_purged: bool,
    is_deferred: bool,
}

impl Entry {
    /// Returns `true` if it is a suspect, now or once its lease has ended.
    fn is_suspect(&self) -> bool {
        let leased = u32::from(self.seen.state == ItemState::Leased);
        self.lost + self.dropped + leased >= SUSPECT_AFTER
    }

    /// Returns `true` if it comes before new items.
    fn has_begun(&self) -> bool {
        self.seen.attempt > 0 || self.is_deferred
    }
}

/// The simplest possible store: a list of items, searched from the start.
#[derive(Debug, Default)]
struct Model {
    entries: Vec<Entry>,
    /// The attempts of purged items, by job.
    forgotten: BTreeMap<String, Vec<AttemptRecord>>,
    /// In order of arrival.
    jobs: Vec<String>,
    values: BTreeMap<String, u64>,
}

impl Model {
    fn position(&self, job: &str, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.seen.job == job && entry.seen.id == id)
    }

    fn add(&mut self, seen: ItemRecord, own_correlation: Option<String>) -> u64 {
        if !self.jobs.contains(&seen.job) {
            self.jobs.push(seen.job.clone());
        }
        if self.position(&seen.job, &seen.id).is_some() {
            return 0;
        }
        self.entries.push(Entry {
            is_deferred: false,
            is_purged: seen.state == ItemState::Skipped && seen.payload.is_empty(),
            seen,
            own_correlation,
            token: 0,
            lost: 0,
            dropped: 0,
            holder: Arc::from(""),
            since: None,
        });
        1
    }

    fn claim(
        &mut self,
        job: &str,
        worker: &str,
        now: Timestamp,
        selection: Selection,
        until: Timestamp,
    ) -> Vec<(usize, Lease)> {
        let (suspects, max, starts) = match selection {
            Selection::Items { max, starts } => (false, max, starts),
            Selection::Suspect => (true, 1, 1),
        };
        let mut due: Vec<_> = (0..self.entries.len())
            .filter(|&at| self.entries[at].seen.job == job)
            .filter(|&at| self.entries[at].is_suspect() == suspects)
            .filter_map(|at| Some((self.entries[at].seen.due?, at)))
            .filter(|(due, _)| *due <= now)
            .collect();
        due.sort_by_key(|&(due, at)| (-self.entries[at].seen.priority, due, at));
        if !suspects {
            // The first half is for what has begun, if there is so much of it.
            let odd = usize::from(now.as_micros() % 2 == 1);
            let has_begun = |&(_, at): &(Timestamp, usize)| self.entries[at].has_begun();
            let (mut begun, new): (Vec<_>, Vec<_>) = due.into_iter().partition(has_begun);
            let rest = begun.split_off(begun.len().min(max / 2 + max % 2 * odd));
            due = begun.into_iter().chain(new).chain(rest).collect();
        }
        due.truncate(max);
        let mut leases = Vec::new();
        for (due, at) in due {
            let entry = &mut self.entries[at];
            let is_leased = entry.seen.state == ItemState::Leased;
            let is_own = is_leased && *entry.holder == *worker;
            if is_leased && !is_own {
                match entry.since {
                    Some(since) => {
                        entry.lost += 1;
                        let holder = Arc::clone(&entry.holder);
                        let mut row = AttemptRecord::new(holder, since, AttemptOutcome::Lost);
                        (row.run, row.attempt) = (entry.seen.run, entry.seen.attempt);
                        row.duration = due.since(since);
                        entry.seen.history.push(row);
                    }
                    None => entry.dropped += 1,
                }
            }
            if !is_own {
                entry.token += 1;
                entry.seen.attempt += 1;
                entry.since = None;
            }
            entry.seen.state = ItemState::Leased;
            entry.is_deferred = false;
            entry.seen.due = Some(until);
            entry.holder = Arc::from(worker);
            entry.since = entry.since.or((leases.len() < starts).then_some(now));
            let key = LeaseKey { item: 0, token: entry.token };
            let mut lease = Lease::new(key, &entry.seen.id, &entry.seen.payload);
            lease.correlation.clone_from(&entry.own_correlation);
            (lease.run, lease.attempt) = (entry.seen.run, entry.seen.attempt);
            (lease.lost, lease.dropped) = (entry.lost, entry.dropped);
            lease.checkpoint.clone_from(&entry.seen.checkpoint);
            leases.push((at, lease));
        }
        leases
    }

    fn start(&mut self, held: (usize, u64), now: Timestamp) {
        if self.holds(held) {
            self.entries[held.0].since = Some(now);
        }
    }

    fn holds(&self, (at, token): (usize, u64)) -> bool {
        self.entries[at].token == token && self.entries[at].seen.state == ItemState::Leased
    }

    fn settle(
        &mut self,
        held: (usize, u64),
        end: &Settled,
        rows: &[AttemptRecord],
        now: Timestamp,
    ) -> bool {
        if !self.holds(held) {
            return false;
        }
        let Entry { seen, lost, dropped, is_deferred, .. } = &mut self.entries[held.0];
        seen.history.extend_from_slice(rows);
        (seen.due, seen.ended) = (None, Some(now));
        let before = (std::mem::take(lost), std::mem::take(dropped), seen.checkpoint.take());
        match end.clone() {
            Settled::Succeeded(output) => {
                (seen.state, seen.output) = (ItemState::Succeeded, output);
            }
            Settled::Dead { failure, checkpoint } => {
                (seen.state, seen.failure) = (ItemState::Dead, Some(failure));
                seen.checkpoint = checkpoint;
            }
            Settled::Skipped { failure, checkpoint } => {
                (seen.state, seen.failure) = (ItemState::Skipped, failure);
                seen.checkpoint = checkpoint;
            }
            Settled::RetryAt { due, checkpoint: told } => {
                (seen.state, seen.due, seen.ended) = (ItemState::Pending, Some(due), None);
                seen.checkpoint = told;
            }
            Settled::Released => {
                (seen.state, seen.due, seen.ended) = (ItemState::Pending, Some(now), None);
                seen.attempt -= 1;
                (*lost, *dropped, seen.checkpoint) = before;
            }
            Settled::Deferred { due, checkpoint, .. } => {
                (seen.state, seen.due, seen.ended) = (ItemState::Pending, Some(due), None);
                seen.attempt -= 1;
                (*lost, *dropped) = (before.0, before.1);
                seen.checkpoint = checkpoint;
                *is_deferred = true;
            }
        }
        true
    }

    fn failed(&mut self, filter: &Filter) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut().filter(|entry| {
            let state = entry.seen.state;
            (state == ItemState::Dead || state == ItemState::Skipped)
                && !entry.is_purged
                && filter.wants(&entry.seen)
        })
    }

    fn redrive(
        &mut self,
        filter: &Filter,
        max: Option<u64>,
        now: Timestamp,
        (every, from_failed): (u64, bool),
    ) -> u64 {
        let max = max.map_or(usize::MAX, |max| usize::try_from(max).unwrap());
        let mut redriven = 0;
        for entry in self.failed(filter).take(max) {
            entry.seen.state = ItemState::Pending;
            entry.seen.run += 1;
            entry.seen.attempt = 0;
            entry.seen.due = Some(now + Duration::from_secs(every * redriven));
            (entry.seen.ended, entry.seen.failure) = (None, None);
            (entry.lost, entry.dropped) = (0, 0);
            entry.seen.checkpoint.take_if(|_| !from_failed);
            redriven += 1;
        }
        redriven
    }

    fn make_due(&mut self, job: &str, now: Timestamp) -> u64 {
        let mut made = 0;
        for entry in self.entries.iter_mut().filter(|entry| entry.seen.job == job) {
            if entry.seen.state == ItemState::Pending && entry.seen.due > Some(now) {
                entry.seen.due = Some(now);
                made += 1;
            }
        }
        made
    }

    fn purge(&mut self, filter: &Filter) -> u64 {
        let mut forgotten = Vec::new();
        for entry in self.failed(filter) {
            entry.is_purged = true;
            entry.seen.state = ItemState::Skipped;
            entry.seen.payload.clear();
            (entry.seen.failure, entry.seen.checkpoint) = (None, None);
            forgotten.push((entry.seen.job.clone(), std::mem::take(&mut entry.seen.history)));
        }
        let purged = forgotten.len() as u64;
        for (job, rows) in forgotten {
            self.forgotten.entry(job).or_default().extend(rows);
        }
        purged
    }

    fn counts(&self, job: &str) -> Counts {
        let entries = || self.entries.iter().filter(|entry| entry.seen.job == job);
        let count = |state| entries().filter(|entry| entry.seen.state == state).count() as u64;
        let rows: Vec<_> = entries()
            .flat_map(|entry| &entry.seen.history)
            .chain(self.forgotten.get(job).into_iter().flatten())
            .collect();
        let lost = rows.iter().filter(|row| row.outcome == AttemptOutcome::Lost).count();
        let mut counts = Counts::default();
        counts.pending = count(ItemState::Pending);
        counts.leased = count(ItemState::Leased);
        counts.succeeded = count(ItemState::Succeeded);
        counts.dead = count(ItemState::Dead);
        counts.skipped = count(ItemState::Skipped);
        counts.lost = lost as u64;
        let tried = || rows.iter().filter(|row| row.outcome.is_counted());
        counts.attempts = tried().count() as u64;
        counts.worked = tried().map(|row| row.duration).sum();
        counts.waited = tried().map(|row| row.wait).sum();
        counts
    }

    fn next_due(&self, job: &str) -> Option<Timestamp> {
        let of_job = self.entries.iter().filter(|entry| entry.seen.job == job);
        of_job.filter_map(|entry| entry.seen.due).min()
    }

    fn next_suspect(&self, job: &str) -> Option<Timestamp> {
        let suspects = self.entries.iter().filter(|entry| entry.is_suspect());
        suspects.filter(|entry| entry.seen.job == job).filter_map(|entry| entry.seen.due).min()
    }

    fn list(&self, filter: &Filter) -> Vec<ItemRecord> {
        let wanted = self.entries.iter().map(|entry| &entry.seen).filter(|seen| filter.wants(seen));
        let without_history = |seen: &ItemRecord| {
            let mut seen = seen.clone();
            seen.history.clear();
            seen
        };
        wanted.map(without_history).collect()
    }
}

/// A store and its model, side by side.
pub(crate) struct Stage<S> {
    pub(crate) store: S,
    model: Model,
    now: i64,
    /// Every lease ever given: its key in the model and in the store, and its attempt.
    given: Vec<((usize, u64), LeaseKey, u32)>,
}

impl<S: Store> Stage<S> {
    /// Applies these operations to an empty store.
    pub(crate) async fn play(store: S, operations: Vec<Operation>) -> Self {
        let mut stage = Self { store, model: Model::default(), now: 0, given: Vec::new() };
        for operation in operations {
            stage.apply(operation).await;
            stage.compare().await;
        }
        stage
    }

    async fn apply(&mut self, operation: Operation) {
        let Self { store, model, .. } = self;
        let now = at(self.now);
        match operation {
            Operation::Enqueue { job, ids, due } => self.enqueue(job, &ids, due).await,
            Operation::Claim { job, worker, max, starts, lease, odd } => {
                let now = now + Duration::from_micros(odd.into());
                self.claim(job, worker, now, Selection::Items { max, starts }, lease).await;
            }
            Operation::ClaimSuspect { job, lease } => {
                self.claim(job, true, now, Selection::Suspect, lease).await;
            }
            Operation::Settle { which, started } => self.settle(which, &started).await,
            Operation::Extend { which, started, by } => self.extend(&which, &started, by).await,
            // The clocks of machines differ: a claim may be slightly earlier than the previous one.
            Operation::Wait(seconds) => self.now += seconds,
            Operation::Redrive { filter, max, every, from_failed } => {
                let redriven = model.redrive(&filter, max, now, (every, from_failed));
                let every = Duration::from_secs(every);
                assert_eq!(
                    store
                        .alter(
                            &filter,
                            Alteration::Redrive { every, by: None, from_failed },
                            max.map_or(usize::MAX, |max| max.try_into().unwrap_or(usize::MAX)),
                            now
                        )
                        .await,
                    Ok(redriven)
                );
            }
            Operation::Purge(filter) => {
                let purged = model.purge(&filter);
                assert_eq!(
                    store.alter(&filter, Alteration::Purge, usize::MAX, at(0)).await,
                    Ok(purged)
                );
            }
            Operation::MakeDue { job } => {
                let made = model.make_due(JOBS[job], now);
                assert_eq!(
                    store
                        .alter(&Filter::job(JOBS[job]), Alteration::MakeDue(Waiting::All), 100, now)
                        .await,
                    Ok(made)
                );
            }
            Operation::Import { from } => self.import(from).await,
            Operation::Cas { key, revision } => {
                let key = format!("key-{key}");
                let found = model.values.get(&key).copied().unwrap_or(0);
                if found == revision {
                    model.values.insert(key.clone(), revision + 1);
                }
                let value = format!("{revision}");
                assert_eq!(store.cas(&key, revision, &value).await, Ok(found == revision));
            }
            Operation::FindOrInsert { key, enough } => {
                let last = model.values.keys().next_back();
                let is_enough = model.values.len() >= enough;
                let key = last.filter(|_| is_enough).cloned().unwrap_or(format!("key-{key}"));
                let revision = *model.values.entry(key.clone()).or_insert(1);
                let expected = (key.clone(), format!("{}", revision - 1));
                let choose = move |values: &[(String, String)]| {
                    let last = values.last().filter(|_| values.len() >= enough).cloned();
                    Ok(last.unwrap_or_else(|| (key.clone(), "0".to_owned())))
                };
                assert_eq!(store.find_or_insert("key-", Box::new(choose)).await, Ok(expected));
            }
        }
    }

    async fn enqueue(&mut self, job: usize, ids: &[u8], due: i64) {
        let Self { store, model, .. } = self;
        let (job, due) = (JOBS[job], at(self.now + due));
        let items: Vec<_> = ids
            .iter()
            .map(|&number| {
                let item = NewItem::new(id(number), format!("{number}")).priority(rank(number));
                if number % 2 == 0 { item.correlation(format!("trace-{number}")) } else { item }
            })
            .collect();
        let mut added = 0;
        for item in &items {
            let own = item.correlation.clone();
            let mut seen = ItemRecord::new(job, &item.id, &item.payload);
            seen.correlation = own.clone().unwrap_or(format!("{job}/{}", item.id));
            seen.priority = item.priority;
            seen.due = Some(due);
            added += model.add(seen, own);
        }
        assert_eq!(store.enqueue(job, items, due).await, Ok(added));
    }

    async fn claim(
        &mut self,
        job: usize,
        worker: bool,
        now: Timestamp,
        selection: Selection,
        lease: u64,
    ) {
        let Self { store, model, .. } = self;
        let (job, worker) = (JOBS[job], if worker { "ada" } else { "bob" });
        let lease = Duration::from_secs(lease);
        let expected = model.claim(job, worker, now, selection, now + lease);
        let leases = store.claim(job, worker, now, selection, lease).await.unwrap();
        // The numbers of items and tokens may differ between stores.
        let without_key = |lease: &Lease| {
            let mut lease = lease.clone();
            lease.key = LeaseKey { item: 0, token: 0 };
            lease
        };
        let expected_leases: Vec<_> =
            expected.iter().map(|(_, lease)| without_key(lease)).collect();
        assert_eq!(leases.iter().map(without_key).collect::<Vec<_>>(), expected_leases);
        for ((at, lease), found) in expected.iter().zip(leases) {
            self.given.push(((*at, lease.key.token), found.key, lease.attempt));
        }
    }

    async fn settle(&mut self, which: Vec<(usize, End, u8)>, started: &[usize]) {
        let starts = self.start(started);
        let Self { store, model, .. } = self;
        let now = at(self.now);
        let (mut settlements, mut expected) = (Vec::new(), Vec::new());
        for (back, end, rows) in which {
            let Some(&(held, lease, attempt)) = self.given.iter().nth_back(back) else { continue };
            let end = match end {
                End::Succeeded => Settled::Succeeded(Some(format!("{attempt}"))),
                End::RetryIn(wait) => Settled::RetryAt {
                    due: at(self.now + wait),
                    checkpoint: (wait % 2 == 0).then(|| format!("{wait}")),
                },
                End::Dead(which) => Settled::Dead {
                    failure: failure(which),
                    checkpoint: (which % 2 == 0).then(|| format!("{which}")),
                },
                End::Skipped(which) => Settled::Skipped {
                    failure: which.map(failure),
                    checkpoint: which.map(|which| format!("{which}")),
                },
                End::Released => Settled::Released,
                End::DeferredBy(wait) => Settled::Deferred {
                    due: at(self.now + wait),
                    checkpoint: (wait % 2 == 0).then(|| format!("{wait}")),
                    for_limit: wait % 3 == 0,
                },
            };
            let history: Vec<_> = (0..rows)
                .map(|part| {
                    let mut row = AttemptRecord::new("ada", now, AttemptOutcome::Failed);
                    row.attempt = attempt;
                    row.duration = Duration::from_millis(u64::from(part) + 1);
                    row.wait = Duration::from_millis(u64::from(part));
                    row.step = (part == 1).then(|| "step".to_owned());
                    row.failure = (part == 1).then(|| failure(1));
                    if part == 0 && rows > 1 {
                        // It stands for several.
                        row.outcome = AttemptOutcome::Postponed;
                        let mut failure = failure(2);
                        failure.times = 7;
                        row.failure = Some(failure);
                    }
                    row
                })
                .collect();
            expected.push(model.settle(held, &end, &history, now));
            settlements.push(Settlement::new(lease, end, history));
        }
        assert_eq!(store.settle(settlements, starts, now).await, Ok(expected));
    }

    /// The starts to report to the store; the model records them right away.
    fn start(&mut self, which: &[usize]) -> Vec<Start> {
        let (model, now) = (&mut self.model, at(self.now));
        let given = which.iter().filter_map(|&back| self.given.iter().nth_back(back));
        given
            .map(|&(held, lease, _)| {
                model.start(held, now);
                Start::new(lease, now)
            })
            .collect()
    }

    async fn extend(&mut self, which: &[usize], started: &[usize], by: i64) {
        let starts = self.start(started);
        let Self { store, model, .. } = self;
        let until = at(self.now + by);
        let leases: Vec<_> =
            which.iter().filter_map(|&back| self.given.iter().nth_back(back).copied()).collect();
        let mut expected = Vec::new();
        for &(held, ..) in &leases {
            let holds = model.holds(held);
            if holds {
                let due = &mut model.entries[held.0].seen.due;
                *due = (*due).max(Some(until));
            }
            expected.push(holds);
        }
        let keys = leases.iter().map(|lease| lease.1).collect();
        assert_eq!(store.extend(keys, starts, until).await, Ok(expected));
    }

    async fn import(&mut self, from: usize) {
        let Self { store, model, .. } = self;
        let now = at(self.now);
        let (from, to) = (JOBS[from], JOBS[1 - from]);
        let items: Vec<_> = model
            .entries
            .iter()
            .map(|entry| &entry.seen)
            .filter(|seen| seen.job == from)
            .cloned()
            .map(|mut seen| {
                to.clone_into(&mut seen.job);
                seen
            })
            .collect();
        let mut added = 0;
        for mut item in items.clone() {
            if !item.state.is_final() {
                (item.state, item.due) = (ItemState::Pending, Some(now));
            }
            let own = item.correlation.clone();
            added += model.add(item, Some(own));
        }
        assert_eq!(store.import(items, now).await, Ok(added));
    }

    /// Compares what is cheap to read, after each operation.
    async fn compare(&self) {
        let store = &self.store;
        for job in JOBS {
            let overview = store.overview(job, 0).await.unwrap();
            assert_eq!(overview.counts, self.model.counts(job));
            assert_eq!(overview.next_due, self.model.next_due(job));
            assert_eq!(overview.next_suspect, self.model.next_suspect(job));
        }
    }

    /// Compares everything, at the end.
    pub(crate) async fn compare_all(&self, filters: &[Filter]) {
        let store = &self.store;
        for Entry { seen, .. } in &self.model.entries {
            assert_eq!(store.item(&seen.job, &seen.id).await.unwrap().as_ref(), Some(seen));
        }
        let everything = Filter::default().states(ItemState::ALL);
        for filter in filters.iter().chain([&everything, &Filter::default()]) {
            let mut listed = Vec::new();
            let mut after = None;
            loop {
                let page = store.list(filter, after, 3).await.unwrap();
                listed.extend(page.items);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(listed, self.model.list(filter), "{filter:?}");
            self.compare_groups(filter).await;
        }
        for (key, revision) in &self.model.values {
            let value = format!("{}", revision - 1);
            assert_eq!(store.get(key).await, Ok(Some((*revision, value))));
        }
        let mut rows = store.jobs(None, 9).await.unwrap().items;
        rows.reverse();
        // A job to which nothing has been added does not exist.
        let jobs = self.model.jobs.iter().filter(|job| self.model.counts(job).total() > 0);
        let jobs: Vec<_> = jobs.map(|job| JobRow::new(job, None, self.model.counts(job))).collect();
        assert_eq!(rows, jobs);
        let value = |(key, revision): (&String, &u64)| (key.clone(), format!("{}", revision - 1));
        let values = self.model.values.iter().map(value).collect();
        assert_eq!(store.values("key-").await, Ok(values));
    }

    async fn compare_groups(&self, filter: &Filter) {
        let groups = self.store.stats(filter, None).await.unwrap();
        let sizes: Vec<_> = groups.iter().map(|group| group.count).collect();
        assert!(sizes.is_sorted_by(|one, next| one >= next), "the largest first: {sizes:?}");
        let mut expected = BTreeMap::<_, Vec<ItemRecord>>::new();
        for item in self.model.list(filter) {
            if let Some(failure) = &item.failure {
                let like = (failure.class.clone(), failure.signature.clone());
                expected.entry(like).or_default().push(item);
            }
        }
        let found: BTreeSet<_> =
            groups.iter().map(|group| (group.class.clone(), group.signature.clone())).collect();
        assert_eq!(found.len(), groups.len(), "each group once");
        assert_eq!(found, expected.keys().cloned().collect());
        for group in groups {
            let items = &expected[&(group.class, group.signature)];
            assert_eq!(group.count, items.len() as u64);
            let ended = || items.iter().filter_map(|item| item.ended);
            assert_eq!(Some((group.first, group.last)), ended().min().zip(ended().max()));
            let mut hours = BTreeMap::<_, u64>::new();
            ended().for_each(|ended| *hours.entry(ended.hour()).or_default() += 1);
            let hours: Vec<_> =
                hours.into_iter().map(|(hour, count)| HourCount::new(hour, count)).collect();
            assert_eq!(group.hours, hours);
            assert!(items.iter().any(|item| {
                item.id == group.example
                    && item.failure.as_ref().is_some_and(|one| one.message == group.message)
            }));
        }
    }
}
