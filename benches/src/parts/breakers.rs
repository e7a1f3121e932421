//! What a circuit breaker costs: closed, on one thread and on many, and open.

use std::collections::BTreeSet;
use std::hint::black_box;

use crate::breakers::{Breaker, Outcome, all};
use crate::contest::{Contest, Unit};
use crate::machine::cores;
use crate::names::{BREAKER, BREAKER_BY_RATE, FAILSAFE, RECLOSER, TOWER_RESILIENCE};
use crate::race::{Runner, race};
use crate::table::Table;
use crate::together::together;

const CONTESTS: [Contest<'static>; 2] = [
    Contest { ours: BREAKER, floor: None, rivals: &[FAILSAFE, RECLOSER, TOWER_RESILIENCE] },
    Contest { ours: BREAKER_BY_RATE, floor: None, rivals: &[RECLOSER] },
];

/// Adds its rows.
pub fn run(table: &mut Table) {
    for threads in BTreeSet::from([1, cores().min(2), cores()]) {
        let runners = all().into_iter().map(|breaker| on_threads(threads, breaker)).collect();
        let what = format!("a closed breaker, threads: {threads}; time of an admitted call");
        table.add(&what, Unit::Nanoseconds, &CONTESTS, &race(runners));
    }
    let runners = all().into_iter().map(|breaker| on_threads(1, breaker.opened())).collect();
    let what = "an open breaker: time of a rejection";
    table.add(what, Unit::Nanoseconds, &CONTESTS, &race(runners));
    table.note(
        "recloser knows rates only; on more threads the time of a call is that of each thread.",
    );
}

/// So many threads that call at the same time; the time is what a thread took on average.
fn on_threads(threads: usize, breaker: Breaker) -> Runner {
    Runner::timing_itself(breaker.name(), move |calls| {
        together(threads, &|| {
            black_box(breaker.calls(calls, Outcome::Success));
        })
    })
}
