//! [`Window`]: how much of a rate is used up in the last unit of time. At most its limit starts in any
//! span of the unit.
//!
//! A start is counted in a slot, a 60th of the unit, until the unit after the end of the slot. So it
//! is counted for a little longer than needed, and never shorter.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::item::clock::{Timestamp, micros};
use crate::job::rate::Rate;

/// Others wait so long for an item with the turn: longer than starts are reserved ahead.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// A start further ahead than this was counted by a clock that was wrong.
const FURTHEST: Duration = Duration::from_secs(60);

/// The use of a rate in the last unit of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) limit: Rate,
    /// The starts, or the sums of their costs, by the end of their slot in microseconds.
    pub(crate) used: BTreeMap<i64, u64>,
    /// The first item that has not fitted. It keeps its room: no other one starts before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<First>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct First {
    item: i64,
    at: Timestamp,
    /// It loses the turn if it has not asked again by then.
    until: Timestamp,
}

impl Window {
    pub(crate) fn new(limit: Rate) -> Self {
        Self { limit, used: BTreeMap::new(), first: None }
    }

    /// Sets the limit, and forgets starts that no longer count.
    pub(crate) fn set(&mut self, limit: Rate, now: Timestamp) {
        self.limit = limit;
        let wrong = self.used.split_off(&(now + limit.unit() / 60 + FURTHEST).as_micros());
        for cost in wrong.into_values() {
            self.count(cost, now);
        }
        self.used = self.used.split_off(&self.since(now));
    }

    /// The earliest end of a slot that counts at this time.
    fn since(&self, now: Timestamp) -> i64 {
        (now - self.limit.unit()).as_micros().saturating_add(1)
    }

    /// Returns the sum of what counts at this time.
    pub(crate) fn used(&self, now: Timestamp) -> u64 {
        let counts = self.used.range(self.since(now)..);
        counts.fold(0, |sum, (_, cost)| sum.saturating_add(*cost))
    }

    /// Returns when an item of this cost fits, and need not wait for another one.
    pub(crate) fn free_at(&self, item: Option<i64>, cost: u64, now: Timestamp) -> Timestamp {
        let (mut at, mut used) = (now, self.used(now));
        for (&end, one) in self.used.range(self.since(now)..) {
            if used.saturating_add(cost) <= self.limit.limit() {
                break;
            }
            used = used.saturating_sub(*one);
            at = Timestamp::from_micros(end) + self.limit.unit();
        }
        match self.first(now).filter(|first| Some(first.item) != item) {
            Some(first) => at.max(first.at).max(now + LOOK_AGAIN),
            None => at,
        }
    }

    fn first(&self, now: Timestamp) -> Option<&First> {
        self.first.as_ref().filter(|first| first.until > now)
    }

    /// Returns whether another item has the turn.
    pub(crate) fn is_after_other(&self, item: Option<i64>, now: Timestamp) -> bool {
        self.first(now).is_some_and(|first| Some(first.item) != item)
    }

    /// Gives the turn to an item that starts at `at` and has to ask again by `until`.
    pub(crate) fn keep_room(&mut self, item: i64, at: Timestamp, until: Timestamp) {
        self.first = Some(First { item, at, until });
    }

    /// Returns whether an item had the turn, and takes it from the item.
    pub(crate) fn take_turn(&mut self, item: i64) -> bool {
        self.first.take_if(|first| first.item == item).is_some()
    }

    /// Counts an item that starts at `until` or before, and returns the end of its slot.
    pub(crate) fn start(&mut self, item: i64, cost: u64, until: Timestamp) -> Timestamp {
        self.take_turn(item);
        self.count(cost, until)
    }

    fn count(&mut self, cost: u64, until: Timestamp) -> Timestamp {
        let slot = (micros(self.limit.unit()) + 59) / 60;
        let end =
            (until + Duration::from_micros(slot.unsigned_abs() - 1)).as_micros() / slot * slot;
        let used = self.used.entry(end).or_default();
        *used = used.saturating_add(cost);
        Timestamp::from_micros(end)
    }

    /// Takes back what was counted in a slot and has not started.
    pub(crate) fn give_back(&mut self, cost: u64, end: Timestamp) {
        if let Some(used) = self.used.get_mut(&end.as_micros()) {
            *used = used.saturating_sub(cost);
        }
    }
}
