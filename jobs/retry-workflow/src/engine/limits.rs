//! The limits that keep an item from starting although a place for it is free: the start of the job
//! (`schedule`), its breaker, its rate (`pace`), limits for items that share a key (`keys`), the
//! number of items that the machine can run (`capacity`), and a suspect that runs alone
//! (`exclusive`).

pub(super) mod breaker;
pub(super) mod capacity;
pub(super) mod exclusive;
pub(crate) mod keys;
pub(super) mod pace;
pub(super) mod schedule;

use std::sync::Arc;
use std::time::Duration;

use self::keys::{KeyBound, KeyLimit, KeyLimits, KeyOf};
use self::pace::Pace;
use super::Options;
use crate::item::record::Waiting;
use crate::job::rate::Rate;
use crate::job::record::Job;
use crate::store::{Store, StoreError};

/// The number of items that are made due in one transaction.
const DUE_BATCH: usize = 5_000;

/// The limits of a job. With limits by key, its rate is one that all items share, so that an item
/// gets a start that suits all of them.
pub(super) fn split(
    rate: Option<Rate>,
    by_key: &[KeyLimit],
    worker: &Arc<str>,
    lease: Duration,
) -> (Option<Pace>, Option<KeyLimits>) {
    if by_key.is_empty() {
        return (rate.map(Pace::new), None);
    }
    let of_all = rate.map(|rate| {
        let of: KeyOf = Arc::new(|_| Some(String::new()));
        KeyLimit { of, bound: KeyBound::Rate(rate) }
    });
    // Last, so that the numbers of the others are the same without it.
    let limits = by_key.iter().cloned().chain(of_all).collect();
    (None, Some(KeyLimits::new(limits, worker, lease)))
}

/// The limits by which items wait in the store, as the record of a job has them.
pub(super) fn recorded(options: &Options) -> Vec<String> {
    let by_key = options.key_limits.iter().map(|limit| limit.bound.to_string());
    let of_all = options.rate.filter(|_| !options.key_limits.is_empty());
    by_key.chain(of_all.map(|rate| rate.to_string())).collect()
}

/// Makes items due that wait for limits that the job no longer has.
pub(super) async fn end_waits(
    store: &dyn Store,
    job: &Job,
    options: &Options,
) -> Result<(), StoreError> {
    if !job.limits.is_empty() && job.limits != recorded(options) {
        while store.make_due(&job.id, Waiting::ForLimit, DUE_BATCH, store.now()).await? > 0 {}
    }
    Ok(())
}
