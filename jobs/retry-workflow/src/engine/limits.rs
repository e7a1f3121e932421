//! The limits that keep an item from starting although a place for it is free: the start of the job
//! (`schedule`), its breaker, its rate and limits for items that share a key (`keys`, `starts`), the
//! number of items that the machine can run (`capacity`), and a suspect that runs alone
//! (`exclusive`).

pub(super) mod breaker;
pub(super) mod capacity;
pub(super) mod exclusive;
pub(crate) mod keys;
pub(super) mod schedule;
mod starts;

use std::sync::Arc;

use self::keys::JobLimit;
use super::Options;
use crate::item::alteration::Waiting;
use crate::item::record::Filter;
use crate::job::record::Job;
use crate::store::{Alteration, Store, StoreError};

/// The number of items that are made due in one transaction.
const DUE_BATCH: usize = 5_000;

/// The limits of a job: those by key, and its rates, which all items share.
pub(super) fn of(options: &Options) -> Arc<[JobLimit]> {
    let of_all = (!options.rates.0.is_empty()).then(|| JobLimit::rates(None, &options.rates));
    // Last, so that the numbers of the others are the same without it.
    options.key_limits.iter().cloned().chain(of_all).collect()
}

/// The limits by which items wait in the store, as the record of a job has them.
pub(super) fn recorded(options: &Options) -> Vec<String> {
    let text = |limit: &JobLimit| format!("{} per {:?}", limit.bound, limit.name);
    options.key_limits.iter().map(text).collect()
}

/// Makes items due that wait for limits that the job no longer has.
pub(super) async fn end_waits(
    store: &dyn Store,
    job: &Job,
    options: &Options,
) -> Result<(), StoreError> {
    if !job.limits.is_empty() && job.limits != recorded(options) {
        let (of_job, due) = (Filter::job(&job.id), Alteration::MakeDue(Waiting::ForLimit));
        while store.alter(&of_job, due.clone(), DUE_BATCH, store.now()).await? > 0 {}
    }
    Ok(())
}
