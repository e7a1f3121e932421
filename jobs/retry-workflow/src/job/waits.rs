//! [`Waits`]: what a job is waiting for, and until when.

use serde::Serialize;

use crate::item::clock::Timestamp;
use crate::item::record::{Counts, Filter, ItemState};
use crate::item::summary::Overview;
use crate::job::breaker_record::BreakerRecord;
use crate::job::rate_record::RateRecord;
use crate::job::record::{Job, JobStatus};
use crate::job::report::Unit;
use crate::job::worker_record::Throttle;
use crate::store::{Store, StoreError};
use crate::words::{in_a_while, thousands};

/// The waits of a job, according to its store.
///
/// ```
/// use retry_workflow::job::{Unit, Waits};
/// use retry_workflow::store::NewItem;
/// use retry_workflow::{Job, SqliteStore, Store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), retry_workflow::StoreError> {
/// let store = SqliteStore::in_memory();
/// store.enqueue("import-1", vec![NewItem::new("17", "{}")], store.now()).await?;
/// let counts = store.counts("import-1").await?;
/// let job = Job::create(&store, "import", None).await?;
/// let waits = Waits::load(&store, &job, &counts).await?;
/// assert_eq!(
///     waits.lines(&counts, Unit::Item, store.now()),
///     [("next", "an item can run now".to_owned())]
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Waits {
    /// No item begins before this time, while it lies ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The time at which the next item can run.
    pub next_due: Option<Timestamp>,
    /// The time at which the next item can run that may have killed its workers, and so runs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_suspect: Option<Timestamp>,
    /// The time at which the last lease held by a worker expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leased_until: Option<Timestamp>,
    /// The rates of the job.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateRecord>,
    /// The limits of the workers that run fewer items at the same time than their `max_parallel`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<Throttle>,
    /// Until when the breaker of the job rejects everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_open_until: Option<Timestamp>,
    /// Until when the breaker of the job holds all items, as a server has asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_held_until: Option<Timestamp>,
}

impl Waits {
    /// Loads what this job, whose counts are given, is waiting for.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn load(store: &dyn Store, job: &Job, counts: &Counts) -> Result<Self, StoreError> {
        let now = store.now();
        // Nothing is due any more. A job that has only just begun may have no items yet.
        let is_over =
            counts.unfinished() == 0 && (counts.total() > 0 || job.status != JobStatus::Running);
        let not_before = job.not_before.filter(|begins| *begins > now && !is_over);
        let live = job.workers.iter().filter(|worker| worker.is_live(now));
        let throttled = live.filter_map(|worker| worker.throttle).collect();
        let job = job.id.as_str();
        let breaker = BreakerRecord::find(store, job).await?;
        let Overview { next_due, next_suspect, .. } =
            if is_over { Overview::default() } else { store.overview(job, 0).await? };
        let rates = if is_over { Vec::new() } else { RateRecord::of(store, job).await? };
        Ok(Self {
            not_before,
            rates,
            next_due,
            next_suspect,
            throttled,
            leased_until: if counts.leased > 0 { leased_until(store, job).await? } else { None },
            breaker_open_until: breaker.and_then(|breaker| breaker.open_until),
            breaker_held_until: breaker.and_then(|breaker| breaker.held_until),
        })
    }

    /// Returns what it is waiting for: one word and a sentence for each.
    pub fn lines(
        &self,
        counts: &Counts,
        unit: Unit,
        now: Timestamp,
    ) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let not_before = self.not_before.filter(|begins| *begins > now);
        if let Some(begins) = not_before {
            lines.push(("start", format!("nothing begins before {}", in_a_while(begins, now))));
        }
        if let Some(until) = self.breaker_open_until.filter(|until| *until > now) {
            let until = in_a_while(until, now);
            lines.push(("breaker", format!("open until {until}: no item starts before then")));
        }
        if let Some(until) = self.breaker_held_until.filter(|until| *until > now) {
            let until = in_a_while(until, now);
            lines.push((
                "breaker",
                format!("held until {until}, as a server asked: no item starts before then"),
            ));
        }
        for RateRecord { limit, used, next } in &self.rates {
            let used = used.map(|used| format!("{} used", thousands(used)));
            let next =
                (*next > now).then(|| format!("the next free start is {}", in_a_while(*next, now)));
            let known: Vec<_> = used.into_iter().chain(next).collect();
            if !known.is_empty() {
                lines.push(("rate", format!("{limit} at most: {}", known.join(", "))));
            }
        }
        for throttle in &self.throttled {
            let text = format!("{throttle} at the same time, after rejections or for resources");
            lines.push(("limited", text));
        }
        if let Some(until) = self.leased_until {
            let with = format!("{} with a worker", thousands(counts.leased));
            let text = if until > now {
                format!("{with} until {}, or longer if it is alive", in_a_while(until, now))
            } else {
                format!("{with} that is gone: resume restarts them")
            };
            lines.push(("leases", text));
        }
        // One that a worker holds becomes a suspect only if that worker dies.
        let is_with_worker = |due: Timestamp| due > now && counts.leased > 0;
        if self.next_suspect.is_some_and(|due| !is_with_worker(due)) {
            let unit = unit.as_str();
            lines.push((
                "suspect",
                format!("two workers died while running it: the {unit} now runs alone"),
            ));
        }
        if let Some(due) = self.next_due.filter(|_| counts.pending > 0 && not_before.is_none()) {
            let text = if due > now {
                format!("nothing until {}", in_a_while(due, now))
            } else {
                "an item can run now".to_owned()
            };
            lines.push(("next", text));
        }
        lines
    }
}

async fn leased_until(store: &dyn Store, job: &str) -> Result<Option<Timestamp>, StoreError> {
    let leased = Filter::job(job).states([ItemState::Leased]);
    let mut last = None;
    store.each_item(&leased, |item| last = last.max(item.due)).await?;
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_leased_item_is_not_reported_as_a_killer() {
        let now = Timestamp::from_micros(1_000_000);
        let words = |due: Timestamp, leased: u64| {
            let counts = Counts { leased, ..Counts::default() };
            let waits = Waits { next_suspect: Some(due), ..Waits::default() };
            waits.lines(&counts, Unit::Item, now).into_iter().map(|(word, _)| word).collect()
        };
        let nothing: Vec<&str> = words(now + Duration::from_secs(9), 4);
        assert!(nothing.is_empty(), "{nothing:?}");
        assert_eq!(words(now, 4), ["suspect"]);
        assert_eq!(words(now + Duration::from_secs(9), 0), ["suspect"], "it waits for its key");
    }
}
