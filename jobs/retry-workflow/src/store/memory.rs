//! [`MemoryStore`]: a store for tests, which ends with its process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::tally::{count_attempt, count_move, job_of_record, whole_micros};
use super::{
    Change, Changes, Choose, MAX_CLAIM_BYTES, MAX_ROWS_SCANNED, Store, StoreFuture, StoreResult,
    check_imported, check_new,
};
use crate::item::alteration::Alteration;
use crate::item::clock::{Clock, Timestamp, measured, micros};
use crate::item::priority::Priorities;
use crate::item::record::{
    AttemptOutcome, AttemptRecord, Counts, Cursor, Filter, ItemRecord, ItemState, Lease, LeaseKey,
    NewItem, Page, SUSPECT_AFTER, Selection, Settled, Settlement, Start, Waiting,
};
use crate::item::summary::{Group, JobRow, Overview};

/// A store for tests: in memory, and gone with its last handle.
///
/// ```
/// use retry_workflow::store::{MemoryStore, Store};
/// use retry_workflow::store::NewItem;
/// use retry_workflow::Timestamp;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryStore::new();
/// let item = NewItem::new("order-1", "{}");
/// store.enqueue("orders", vec![item], Timestamp::now()).await.unwrap();
/// assert_eq!(store.counts("orders").await.unwrap().pending, 1);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
    changes: Arc<Changes>,
    clock: Option<Clock>,
}

impl MemoryStore {
    /// Creates an empty store.
    ///
    /// ```
    /// # use retry_workflow::{MemoryStore, Workflow};
    /// let workflow = Workflow::new("import").store(MemoryStore::new());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty store with this clock.
    ///
    /// ```
    /// use retry_workflow::store::{MemoryStore, Store};
    /// use retry_workflow::Timestamp;
    ///
    /// let noon: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    /// assert_eq!(MemoryStore::with_clock(move || noon).now(), noon);
    /// ```
    pub fn with_clock(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { clock: Some(Arc::new(clock)), ..Self::default() }
    }

    /// Runs a transaction: the tables are locked meanwhile.
    fn with<'a, T: 'a>(
        &'a self,
        run: impl FnOnce(&mut Tables) -> StoreResult<T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        // A panic in here would be a bug of its own; the tables may still be of use to a test.
        Box::pin(async { run(&mut self.tables.lock()) })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryStore").field(&self.tables).finish()
    }
}

#[derive(Debug, Default)]
struct Tables {
    /// By number, which is the order in which they were added.
    items: BTreeMap<i64, StoredItem>,
    /// The number that was issued last, to an item that may be gone.
    last: i64,
    jobs: BTreeMap<String, StoredJob>,
    /// The number that was issued last, to a job that may be gone.
    last_job: i64,
    values: BTreeMap<String, (u64, String)>,
}

#[derive(Debug, Default)]
struct StoredJob {
    number: i64,
    ids: HashMap<String, i64>,
    /// The items that can be claimed, now or once their leases have expired.
    due: BTreeSet<Place>,
    priorities: Priorities,
    counts: Counts,
}

/// The queue in which an item waits until it is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Queue {
    /// It was not claimed in its present run, or released.
    New,
    /// It was, or deferred.
    Begun,
    Suspects,
}

/// An item's place among what can be claimed: by its priority, its due time, and its number.
type Place = (Queue, i8, Timestamp, i64);

#[derive(Debug)]
struct StoredItem {
    /// The record that readers get, history included.
    record: ItemRecord,
    token: u64,
    lost: u32,
    dropped: u32,
    worker: Arc<str>,
    /// The time at which work under this lease began.
    started: Option<Timestamp>,
    purged: bool,
    /// Set if it was deferred when it was claimed last.
    deferred: bool,
    /// Set if it was deferred for a limit.
    waits_for_limit: bool,
}

impl StoredItem {
    fn new(record: ItemRecord) -> Self {
        let purged = record.state == ItemState::Skipped && record.payload.is_empty();
        Self {
            record,
            token: 0,
            lost: 0,
            dropped: 0,
            worker: Arc::from(""),
            started: None,
            purged,
            deferred: false,
            waits_for_limit: false,
        }
    }

    /// Its place: as it is, or as it will be when its lease expires.
    fn place(&self, number: i64) -> Option<Place> {
        let losses = self.lost + self.dropped + u32::from(self.record.state == ItemState::Leased);
        let queue = match self.record.attempt {
            _ if losses >= SUSPECT_AFTER => Queue::Suspects,
            0 if !self.deferred => Queue::New,
            _ => Queue::Begun,
        };
        self.record.due.map(|due| (queue, self.record.priority, due, number))
    }

    fn forgive(&mut self) {
        (self.lost, self.dropped) = (0, 0);
    }

    /// Returns whether it is a dead letter or skipped, and not purged.
    fn has_failed(&self) -> bool {
        matches!(self.record.state, ItemState::Dead | ItemState::Skipped) && !self.purged
    }

    fn is_held_by(&self, lease: LeaseKey) -> bool {
        self.record.state == ItemState::Leased && self.token == lease.token
    }
}

impl StoredJob {
    /// Moves an item to a state, changes it, and puts it where it now waits.
    fn move_to(
        &mut self,
        number: i64,
        item: &mut StoredItem,
        (to, due): (ItemState, Option<Timestamp>),
        change: impl FnOnce(&mut StoredItem),
    ) {
        if let Some(place) = item.place(number) {
            self.due.remove(&place);
        }
        count_move(&mut self.counts, Some(item.record.state), to);
        item.record.state = to;
        item.record.due = due;
        change(item);
        self.due.extend(item.place(number));
    }

    /// Returns the items that wait in a queue with a priority, in order: the due time and number of
    /// each.
    fn queued(&self, queue: Queue, priority: i8) -> impl Iterator<Item = (Timestamp, i64)> {
        let first = (queue, priority, Timestamp::from_micros(i64::MIN), i64::MIN);
        let last = (queue, priority, Timestamp::NEVER, i64::MAX);
        self.due.range(first..=last).map(|&(.., due, number)| (due, number))
    }

    /// The numbers of the items that can be claimed now, in the order of a claim.
    fn claimable(&self, selection: Selection, now: Timestamp) -> Vec<i64> {
        let due = |queue| {
            let is_due = move |(due, _): &_| *due <= now && *due < Timestamp::NEVER;
            self.priorities
                .highest_first()
                .flat_map(move |priority| self.queued(queue, priority).take_while(is_due))
                .map(|(_, number)| number)
        };
        let (suspects, max, _) = selection.bounds();
        if suspects {
            return due(Queue::Suspects).take(max).collect();
        }
        let mut first = due(Queue::Begun).take(selection.begun_first(now)).collect::<Vec<_>>();
        let begun = first.len();
        first.extend(due(Queue::New).chain(due(Queue::Begun).skip(begun)).take(max - begun));
        first
    }

    fn next_due(&self, queue: Queue) -> Option<Timestamp> {
        let first = |priority| self.queued(queue, priority).map(|(due, _)| due).next();
        let next = self.priorities.highest_first().filter_map(first).min();
        next.filter(|due| *due < Timestamp::NEVER)
    }

    fn write(&mut self, item: &mut StoredItem, mut row: AttemptRecord) {
        row.duration = whole_micros(row.duration);
        row.wait = whole_micros(row.wait);
        count_attempt(&mut self.counts, &row);
        item.record.history.push(row);
    }

    fn claim(
        &mut self,
        number: i64,
        item: &mut StoredItem,
        (worker, started, until): (&Arc<str>, Option<Timestamp>, Timestamp),
    ) -> Lease {
        let (mut lost, mut dropped) = (item.lost, item.dropped);
        if item.record.state == ItemState::Leased {
            match item.started {
                Some(_) => lost = lost.saturating_add(1),
                None => dropped = dropped.saturating_add(1),
            }
        }
        if let (ItemState::Leased, Some(ended), Some(started)) =
            (item.record.state, item.record.due, item.started)
        {
            let row = AttemptRecord {
                run: item.record.run,
                attempt: item.record.attempt,
                duration: ended.since(started),
                ..AttemptRecord::new(item.worker.clone(), started, AttemptOutcome::Lost)
            };
            self.write(item, row);
        }
        self.move_to(number, item, (ItemState::Leased, Some(until)), |item| {
            (item.lost, item.dropped) = (lost, dropped);
            item.record.attempt = item.record.attempt.saturating_add(1);
            (item.deferred, item.waits_for_limit) = (false, false);
        });
        item.token = item.token.saturating_add(1);
        item.worker = worker.clone();
        item.started = started;
        Lease {
            key: LeaseKey { item: number, token: item.token },
            id: item.record.id.clone(),
            payload: item.record.payload.clone(),
            correlation: item.record.own_correlation().map(ToOwned::to_owned),
            run: item.record.run,
            attempt: item.record.attempt,
            lost,
            dropped,
            checkpoint: item.record.checkpoint.clone(),
        }
    }

    fn redrive(
        &mut self,
        number: i64,
        item: &mut StoredItem,
        (now, due): (Timestamp, Timestamp),
        by: Option<&str>,
    ) {
        self.move_to(number, item, (ItemState::Pending, Some(due)), |item| {
            item.forgive();
            item.record.run = item.record.run.saturating_add(1);
            item.record.attempt = 0;
        });
        item.record.ended = None;
        item.record.failure = None;
        item.record.checkpoint = None;
        if let Some(user) = by {
            item.record.history.push(AttemptRecord::redriven(user, item.record.run, now));
        }
    }

    fn settle(&mut self, item: &mut StoredItem, settlement: Settlement, now: Timestamp) {
        let number = settlement.lease.item;
        let Settlement { end, history, .. } = settlement;
        for row in history {
            self.write(item, row);
        }
        self.move_to(number, item, (end.state(), end.due(now)), |item| {
            if end.takes_back() {
                item.record.attempt = item.record.attempt.saturating_sub(1);
            } else {
                item.forgive();
            }
            if let Settled::Deferred { for_limit, .. } = end {
                (item.deferred, item.waits_for_limit) = (true, for_limit);
            }
        });
        if end != Settled::Released {
            item.record.checkpoint = end.checkpoint().map(ToOwned::to_owned);
        }
        item.record.output = end.output().map(ToOwned::to_owned);
        item.record.failure = end.failure().cloned();
        if item.record.state.is_final() {
            item.record.ended = Some(now);
        }
    }
}

impl Tables {
    /// An item, and the job it belongs to.
    fn job_and_item(&mut self, number: i64) -> Option<(&mut StoredJob, &mut StoredItem)> {
        let item = self.items.get_mut(&number)?;
        let job = self.jobs.get_mut(&item.record.job)?;
        Some((job, item))
    }

    /// A job, which is added if need be.
    fn job(&mut self, name: &str) -> &mut StoredJob {
        let last = &mut self.last_job;
        self.jobs.entry(name.to_owned()).or_insert_with(|| {
            *last = last.saturating_add(1);
            StoredJob { number: *last, ..StoredJob::default() }
        })
    }

    fn add(&mut self, mut item: StoredItem) -> bool {
        let record = &mut item.record;
        let last = self.last;
        let job = self.job(&record.job);
        if job.ids.contains_key(&record.id) {
            return false;
        }
        let number = last.saturating_add(1);
        job.ids.insert(record.id.clone(), number);
        record.priority = job.priorities.add(record.priority);
        job.due.extend(item.place(number));
        let record = &item.record;
        count_move(&mut job.counts, None, record.state);
        for row in &record.history {
            count_attempt(&mut job.counts, row);
        }
        self.last = number;
        self.items.insert(number, item);
        true
    }

    fn start(&mut self, started: Vec<Start>) {
        for Start { lease, at } in started {
            if let Some(item) = self.items.get_mut(&lease.item)
                && item.is_held_by(lease)
            {
                item.started = Some(at);
            }
        }
    }

    /// Changes up to `max` items that are meant, in order, and returns how many.
    fn change_items(
        &mut self,
        max: usize,
        is_meant: impl Fn(&StoredItem) -> bool,
        mut change: impl FnMut(&mut StoredJob, i64, &mut StoredItem),
    ) -> u64 {
        let Self { items, jobs, .. } = self;
        let mut changed = 0;
        for (&number, item) in items.iter_mut().filter(|(_, item)| is_meant(item)).take(max) {
            if let Some(job) = jobs.get_mut(&item.record.job) {
                change(job, number, item);
                changed += 1;
            }
        }
        changed
    }

    fn values(&self, prefix: &str) -> Vec<(String, String)> {
        let from = self.values.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        from.take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, (_, value))| (key.clone(), value.clone()))
            .collect()
    }
}

/// An item without its history, as lists show it.
fn listed(record: &ItemRecord) -> ItemRecord {
    // Field by field: the history may be long, and is not wanted.
    ItemRecord {
        job: record.job.clone(),
        id: record.id.clone(),
        payload: record.payload.clone(),
        correlation: record.correlation.clone(),
        checkpoint: record.checkpoint.clone(),
        output: record.output.clone(),
        failure: record.failure.clone(),
        history: Vec::new(),
        ..*record
    }
}

impl Tables {
    /// The items after `after` that a filter may select, in order.
    fn candidates<'a>(
        &'a self,
        filter: &Filter,
        after: Cursor,
    ) -> Box<dyn Iterator<Item = (i64, &'a StoredItem)> + 'a> {
        let (Some(job), Some(ids)) = (&filter.job, &filter.ids) else {
            let rest = self.items.range(after.0.saturating_add(1)..);
            return Box::new(rest.map(|(&number, item)| (number, item)));
        };
        let known = self.jobs.get(job);
        let numbers: BTreeSet<_> =
            ids.iter().filter_map(|id| known?.ids.get(id).copied()).collect();
        let rest = numbers.into_iter().filter(move |number| *number > after.0);
        Box::new(rest.filter_map(|number| Some((number, self.items.get(&number)?))))
    }
}

impl Store for MemoryStore {
    fn now(&self) -> Timestamp {
        self.clock.as_ref().map_or_else(measured, |clock| clock())
    }

    fn enqueue<'a>(
        &'a self,
        job: &'a str,
        items: Vec<NewItem>,
        due: Timestamp,
    ) -> StoreFuture<'a, u64> {
        self.with(move |tables| {
            check_new(job, &items)?;
            let mut added = 0;
            for NewItem { id, payload, correlation, priority } in items {
                let mut record = ItemRecord::new(job, id, payload);
                (record.priority, record.due) = (priority, Some(due));
                if let Some(own) = correlation {
                    record.correlation = own;
                }
                added += u64::from(tables.add(StoredItem::new(record)));
            }
            self.changes.wake(job);
            Ok(added)
        })
    }

    fn claim<'a>(
        &'a self,
        job: &'a str,
        worker: &'a str,
        now: Timestamp,
        selection: Selection,
        lease: Duration,
    ) -> StoreFuture<'a, Vec<Lease>> {
        self.with(move |tables| {
            let Tables { items, jobs, .. } = tables;
            let (_, _, starts) = selection.bounds();
            let Some(job) = jobs.get_mut(job) else { return Ok(Vec::new()) };
            let due = job.claimable(selection, now);
            let worker = Arc::from(worker);
            let mut bytes: usize = 0;
            let claim = |(place, number)| {
                let terms = (&worker, (place < starts).then_some(now), now + lease);
                let lease = (bytes < MAX_CLAIM_BYTES)
                    .then(|| Some(job.claim(number, items.get_mut(&number)?, terms)))??;
                bytes = bytes.saturating_add(lease.payload.len());
                Some(lease)
            };
            Ok(due.into_iter().enumerate().map_while(claim).collect())
        })
    }

    fn settle(
        &self,
        settlements: Vec<Settlement>,
        started: Vec<Start>,
        now: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>> {
        self.with(move |tables| {
            tables.start(started);
            let mut settle =
                |settlement: Settlement| match tables.job_and_item(settlement.lease.item) {
                    Some((job, item)) if item.is_held_by(settlement.lease) => {
                        job.settle(item, settlement, now);
                        // The end of an item need not be reported.
                        if item.record.state == ItemState::Pending {
                            self.changes.wake(&item.record.job);
                        }
                        true
                    }
                    _ => false,
                };
            Ok(settlements.into_iter().map(&mut settle).collect())
        })
    }

    fn extend(
        &self,
        leases: Vec<LeaseKey>,
        started: Vec<Start>,
        until: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>> {
        self.with(move |tables| {
            tables.start(started);
            let mut extend = |lease: LeaseKey| match tables.job_and_item(lease.item) {
                Some((job, item)) if item.is_held_by(lease) => {
                    let until = item.record.due.max(Some(until));
                    job.move_to(lease.item, item, (ItemState::Leased, until), |_| ());
                    true
                }
                _ => false,
            };
            Ok(leases.into_iter().map(&mut extend).collect())
        })
    }

    fn overview<'a>(&'a self, job: &'a str, most_waiting: u64) -> StoreFuture<'a, Overview> {
        self.with(move |tables| {
            let Tables { items, jobs, .. } = tables;
            let Some(job) = jobs.get(job) else { return Ok(Overview::default()) };
            let is_waiting = |item: &&StoredItem| item.record.run == 0;
            let new = job.priorities.highest_first().flat_map(|it| job.queued(Queue::New, it));
            let new = new.filter_map(|(_, number)| items.get(&number));
            let most = usize::try_from(most_waiting).unwrap_or(usize::MAX);
            let waiting = new.filter(is_waiting).take(most).count();
            let next = [Queue::New, Queue::Begun].into_iter().filter_map(|it| job.next_due(it));
            let next_suspect = job.next_due(Queue::Suspects);
            Ok(Overview {
                counts: job.counts,
                waiting: u64::try_from(waiting).unwrap_or(u64::MAX),
                next_due: next.chain(next_suspect).min(),
                next_suspect,
            })
        })
    }

    fn item<'a>(&'a self, job: &'a str, id: &'a str) -> StoreFuture<'a, Option<ItemRecord>> {
        self.with(move |tables| {
            let number = tables.jobs.get(job).and_then(|job| job.ids.get(id));
            Ok(number.and_then(|number| tables.items.get(number)).map(|item| item.record.clone()))
        })
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<Cursor>,
        max: usize,
    ) -> StoreFuture<'a, Page<ItemRecord>> {
        self.with(move |tables| {
            let after = after.unwrap_or(Cursor(0));
            let mut page = Page { items: Vec::new(), next: None };
            let (mut last, mut unwanted) = (after, 0);
            for (number, item) in tables.candidates(filter, after) {
                let is_wanted = filter.wants(&item.record);
                if unwanted == MAX_ROWS_SCANNED || (is_wanted && page.items.len() >= max) {
                    page.next = Some(last);
                    break;
                }
                if is_wanted {
                    page.items.push(listed(&item.record));
                } else {
                    unwanted += 1;
                }
                last = Cursor(number);
            }
            Ok(page)
        })
    }

    fn stats<'a>(
        &'a self,
        filter: &'a Filter,
        newest: Option<usize>,
    ) -> StoreFuture<'a, Vec<Group>> {
        self.with(move |tables| {
            let is_of_job = |record: &ItemRecord| {
                filter.job.as_ref().is_none_or(|job| *job == record.job)
                    && filter.wants_state(record.state)
            };
            let mut groups = BTreeMap::<_, Group>::new();
            let failures = tables.items.values().rev().map(|item| &item.record);
            let failures = failures.filter_map(|record| Some((record, record.failure.as_ref()?)));
            let newest = newest.unwrap_or(usize::MAX);
            for (record, failure) in failures.filter(|it| is_of_job(it.0)).take(newest) {
                let Some(ended) = record.ended.filter(|_| filter.wants(record)) else { continue };
                groups
                    .entry((&failure.class, &failure.signature))
                    .and_modify(|group| group.add(ended))
                    .or_insert_with(|| Group::new(failure, &record.id, ended));
            }
            let mut groups: Vec<_> = groups.into_values().collect();
            // A stable sort: groups of equal size stay in the order of their names.
            groups.sort_by_key(|group| std::cmp::Reverse(group.count));
            Ok(groups)
        })
    }

    fn jobs(&self, after: Option<Cursor>, max: usize) -> StoreFuture<'_, Page<JobRow>> {
        self.with(move |tables| {
            let before = after.map_or(i64::MAX, |after| after.0);
            let mut rows: Vec<_> = tables
                .jobs
                .iter()
                .filter(|(_, job)| job.number < before)
                .map(|(id, job)| {
                    let record = tables.values.get(&format!("job/{id}"));
                    let record = record.map(|(_, value)| value.clone());
                    (job.number, JobRow::new(id, record, job.counts))
                })
                .filter(|(_, row)| row.record.is_some() || row.counts.total() > 0)
                .collect();
            rows.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
            let has_more = rows.len() > max;
            rows.truncate(max);
            let last = rows.last().map_or(before, |(number, _)| *number);
            let items = rows.into_iter().map(|(_, row)| row).collect();
            Ok(Page { items, next: has_more.then_some(Cursor(last)) })
        })
    }

    fn alter<'a>(
        &'a self,
        filter: &'a Filter,
        alteration: Alteration,
        max: usize,
        now: Timestamp,
    ) -> StoreFuture<'a, u64> {
        self.with(move |tables| {
            self.changes.wake_by_filter(filter);
            let filter = alteration.among(filter);
            let is_meant = |item: &StoredItem| {
                let is_later = || item.record.due > Some(now);
                let applies = match &alteration {
                    Alteration::Redrive { .. } | Alteration::Purge | Alteration::Edit(_) => {
                        item.has_failed()
                    }
                    Alteration::MakeDue(Waiting::All) => is_later(),
                    Alteration::MakeDue(Waiting::ForLimit) => is_later() && item.waits_for_limit,
                    Alteration::Skip(_) => true,
                    Alteration::Expire(workers) => {
                        is_later() && workers.iter().any(|worker| *worker == *item.worker)
                    }
                };
                applies && filter.wants(&item.record)
            };
            let mut after = 0_i64;
            Ok(tables.change_items(max, is_meant, |job, number, item| match &alteration {
                Alteration::Redrive { every, by } => {
                    let due = now + Duration::from_micros(after.unsigned_abs());
                    after = after.saturating_add(micros(*every));
                    job.redrive(number, item, (now, due), by.as_deref());
                }
                Alteration::Purge => {
                    let skipped = (ItemState::Skipped, None);
                    job.move_to(number, item, skipped, StoredItem::forgive);
                    item.purged = true;
                    item.record.payload = String::new();
                    item.record.failure = None;
                    item.record.history = Vec::new();
                }
                Alteration::Edit(payload) => item.record.payload.clone_from(payload),
                Alteration::MakeDue(_) => {
                    job.move_to(number, item, (ItemState::Pending, Some(now)), |_| {});
                }
                Alteration::Skip(why) => {
                    let skipped = (ItemState::Skipped, None);
                    job.move_to(number, item, skipped, StoredItem::forgive);
                    item.record.ended = Some(now);
                    item.record.failure = Some(why.clone());
                    item.record.checkpoint = None;
                }
                Alteration::Expire(_) => {
                    job.move_to(number, item, (ItemState::Leased, Some(now)), |_| {});
                }
            }))
        })
    }

    fn remove<'a>(&'a self, job: &'a str, max: usize, keys: Vec<String>) -> StoreFuture<'a, u64> {
        self.with(move |tables| {
            self.changes.wake(job);
            let Tables { items, jobs, values, .. } = &mut *tables;
            let of_job = jobs.get_mut(job).map(|job| &mut job.ids);
            let gone: Vec<_> = of_job
                .iter()
                .flat_map(|ids| ids.iter())
                .map(|(id, &number)| (id.clone(), number))
                .take(max)
                .collect();
            for (id, number) in &gone {
                items.remove(number);
                if let Some(job) = jobs.get_mut(job) {
                    job.ids.remove(id);
                    job.due.retain(|(.., due)| due != number);
                }
            }
            if gone.len() < max {
                jobs.remove(job);
                for key in &keys {
                    self.changes.wake_by_key(key);
                    values.remove(key);
                }
            }
            Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
        })
    }

    fn import(&self, items: Vec<ItemRecord>, now: Timestamp) -> StoreFuture<'_, u64> {
        self.with(move |tables| {
            check_imported(&items)?;
            let mut added = 0;
            for record in items {
                self.changes.wake(&record.job);
                added += u64::from(tables.add(StoredItem::new(record.imported(now))));
            }
            Ok(added)
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<(u64, String)>> {
        self.with(move |tables| Ok(tables.values.get(key).cloned()))
    }

    fn cas<'a>(&'a self, key: &'a str, revision: u64, value: &'a str) -> StoreFuture<'a, bool> {
        self.with(move |tables| {
            let found = tables.values.get(key).map_or(0, |(revision, _)| *revision);
            if found != revision {
                return Ok(false);
            }
            tables.values.insert(key.to_owned(), (revision.saturating_add(1), value.to_owned()));
            if let Some(job) = job_of_record(key) {
                tables.job(job);
            }
            self.changes.wake_by_key(key);
            Ok(true)
        })
    }

    fn values<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<(String, String)>> {
        self.with(move |tables| Ok(tables.values(prefix)))
    }

    fn find_or_insert<'a>(
        &'a self,
        prefix: &'a str,
        mut choose: Choose,
    ) -> StoreFuture<'a, (String, String)> {
        self.with(move |tables| {
            let (key, value) = choose(&tables.values(prefix))?;
            self.changes.wake_by_key(&key);
            let (_, value) = tables.values.entry(key.clone()).or_insert((1, value)).clone();
            if let Some(job) = job_of_record(&key) {
                tables.job(job);
            }
            Ok((key, value))
        })
    }

    fn update(&self, keys: Vec<String>, mut change: Change) -> StoreFuture<'_, ()> {
        self.with(move |tables| {
            let value = |key| tables.values.get(key).map(|(_, value)| value.clone());
            let before: Vec<_> = keys.iter().map(value).collect();
            let mut after = before.clone();
            change(&mut after)?;
            for ((key, before), after) in keys.into_iter().zip(before).zip(after) {
                let Some(value) = after.filter(|after| before.as_ref() != Some(after)) else {
                    continue;
                };
                self.changes.wake_by_key(&key);
                if let Some(job) = job_of_record(&key) {
                    tables.job(job);
                }
                let kept = tables.values.entry(key).or_default();
                *kept = (kept.0.saturating_add(1), value);
            }
            Ok(())
        })
    }

    fn changed<'a>(&'a self, job: &'a str, seen: u64) -> StoreFuture<'a, u64> {
        Box::pin(async move { Ok(self.changes.changed(job, seen).await) })
    }
}
