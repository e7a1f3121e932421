//! What keeps an item from starting although a place for it is free: when the job may start
//! (`schedule`), its rate (`pace`), and limits for items that share a key (`keys`).

pub(crate) mod keys;
pub(super) mod pace;
pub(super) mod schedule;

use std::sync::Arc;
use std::time::Duration;

use self::keys::{Bound, KeyLimit, KeyLimits, KeyOf};
use self::pace::Pace;
use crate::job::rate::Rate;

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
        KeyLimit { of, bound: Bound::Rate(rate) }
    });
    // Last, so that the numbers of the others are the same without it.
    let limits = by_key.iter().cloned().chain(of_all).collect();
    (None, Some(KeyLimits::new(limits, worker, lease)))
}
