//! The cost of a circuit breaker: closed, on one thread and on many, and open.

use std::collections::BTreeSet;
use std::hint::black_box;

use crate::breakers::{Breaker, Outcome, all};
use crate::contest::{Contest, Unit};
use crate::machine::cores;
use crate::names::{
    BREAKER, BREAKER_BY_KEY, BREAKER_BY_RATE, FAILSAFE, RECLOSER, SEATBELT, TOWER_RESILIENCE,
};
use crate::race::{Runner, race};
use crate::report::{Measure, Report, Section};
use crate::together::together;

const CONTESTS: [Contest<'static>; 3] = [
    Contest {
        ours: BREAKER,
        floor: None,
        rivals: &[FAILSAFE, RECLOSER, SEATBELT, TOWER_RESILIENCE],
    },
    Contest { ours: BREAKER_BY_RATE, floor: None, rivals: &[RECLOSER, SEATBELT] },
    Contest { ours: BREAKER_BY_KEY, floor: Some(BREAKER), rivals: &[] },
];

/// Adds the section to the report.
pub fn run(report: &mut Report) {
    let mut measures: Vec<Measure> = BTreeSet::from([1, cores().min(2), cores()])
        .into_iter()
        .map(|threads| {
            let runners = all().into_iter().map(|breaker| on_threads(threads, breaker)).collect();
            Measure::new(format!("closed, threads: {threads}"), Unit::Nanoseconds, race(runners))
        })
        .collect();
    let runners = all().into_iter().map(|breaker| on_threads(1, breaker.opened())).collect();
    measures.push(Measure::new("open", Unit::Nanoseconds, race(runners)));

    let mut section =
        Section::new("How long does a circuit breaker take to admit or reject a call?");
    for contest in &CONTESTS {
        section.compare(contest, &measures);
    }
    section.note(
        "recloser and seatbelt support rates only; on more threads, the time of a call is the \
         time of each thread.",
    );
    report.add(section);
}

/// This many threads call at the same time; the result is the average time per thread.
fn on_threads(threads: usize, breaker: Breaker) -> Runner {
    Runner::timing_itself(breaker.name(), move |calls| {
        together(threads, &|| {
            black_box(breaker.calls(calls, Outcome::Success));
        })
    })
}
