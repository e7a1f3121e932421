//! The cost of a call: one that succeeds, one that fails, and ten thousand that wait.

use tokio::runtime::Builder;

use crate::calls::{Sizes, Successes};
use crate::child::{self, Finding, Findings};
use crate::contest::{Contest, Figures, Unit};
use crate::names::{
    ATTRIBUTE, BACKON, BACKON_MACROS, BARE, BY_HAND, BY_HAND_MUTE, RETRIER, RETRY_IF, RETRY_LAYER,
    RETRY_LAYER_LEAKED, SEATBELT, TOKIO_RETRY2, TOWER_RESILIENCE, TOWER_RETRY,
};
use crate::policies::seconds;
use crate::race::{Runner, race};
use crate::report::{Measure, Report, Section};
use crate::stack;

const ATTRIBUTES: Contest<'static> = Contest {
    ours: ATTRIBUTE,
    floor: Some(BARE),
    rivals: &[
        BY_HAND,
        BY_HAND_MUTE,
        BACKON,
        BACKON_MACROS,
        TOKIO_RETRY2,
        RETRY_IF,
        SEATBELT,
        TOWER_RESILIENCE,
    ],
};

/// A function without retries fails only once, so it is no lower bound here.
const ALL_FAIL: Contest<'static> = Contest { floor: None, ..ATTRIBUTES };

const CLOSURES: Contest<'static> = Contest {
    ours: RETRIER,
    floor: None,
    rivals: &[BY_HAND, BACKON, TOKIO_RETRY2, SEATBELT, TOWER_RESILIENCE],
};

const LAYERS: Contest<'static> =
    Contest { ours: RETRY_LAYER, floor: None, rivals: &[TOWER_RETRY, TOWER_RESILIENCE] };

const LEAKED_LAYERS: Contest<'static> = Contest { ours: RETRY_LAYER_LEAKED, ..LAYERS };

/// Adds the sections to the report.
pub fn run(report: &mut Report) {
    let counted = Findings::of_program("count", "count");
    report.add(successes(&counted));
    report.add(stacks());
    report.add(failures(&counted));
    report.add(waiting(&counted));
}

fn successes(counted: &Findings) -> Section {
    let mut contenders = Successes::default();
    seconds::contenders::each(&mut contenders);
    let mut sizes = Sizes::default();
    seconds::contenders::each(&mut sizes);
    let instructions = instructions_of(&contenders);
    let mut section = Section::new("What does a successful call cost?");
    section.note("One `u64` in, an `io::Result<u64>` out, ready at once.");
    if instructions.is_empty() {
        section.note("Instructions were not counted: that takes valgrind.");
    }
    let measures = [
        Measure::new("time", Unit::Nanoseconds, race(contenders.runners)),
        Measure::new("instructions", Unit::Instructions, instructions),
        Measure::new("size of the future", Unit::Bytes, sizes.bytes),
        Measure::new("allocations", Unit::Allocations, counted.of(Finding::SuccessAllocations)),
    ];
    section.compare(&ATTRIBUTES, &measures);
    section.compare(&CLOSURES, &measures);
    section.compare(&LAYERS, &measures);
    section.compare(&LEAKED_LAYERS, &measures);
    section.note("`leak` keeps the layer in memory, so that its services count no references.");
    section
}

/// Both need a runtime's timer around them.
fn stacks() -> Section {
    const STACKS: Contest<'static> = Contest { ours: ATTRIBUTE, floor: None, rivals: &[SEATBELT] };

    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _entered = runtime.enter();
    let mut contenders = Successes::default();
    stack::each(&mut contenders);
    let mut sizes = Sizes::default();
    stack::each(&mut sizes);
    let measures = [
        Measure::new("time", Unit::Nanoseconds, race(contenders.runners)),
        Measure::new("size of the future", Unit::Bytes, sizes.bytes),
    ];
    let mut section =
        Section::new("What does a successful call cost with a breaker and a timeout?");
    section.compare(&STACKS, &measures);
    section
}

fn failures(counted: &Findings) -> Section {
    let timed = Findings::of_program("fail", "paused");
    let (time, allocations) = (Unit::Nanoseconds, Unit::Allocations);
    let measures = [
        Measure::new("waits of zero: time", time, timed.of(Finding::FailureTime)),
        Measure::new("allocations", allocations, counted.of(Finding::FailureAllocations)),
        Measure::new("4 timers: time", time, timed.of(Finding::FailureWithWaitsTime)),
        Measure::new("allocations", allocations, counted.of(Finding::FailureWithWaitsAllocations)),
    ];
    let mut section = Section::new("What does a call that fails five times cost?");
    section.compare(&ALL_FAIL, &measures);
    section.compare(&CLOSURES, &measures);
    section.compare(&LAYERS, &measures);
    section.note("On a paused clock, which jumps over the waits.");
    section.note("`1 : 0` is one allocation in this library and none in the other one.");
    section
}

fn waiting(counted: &Findings) -> Section {
    let figures = counted.of(Finding::WaitingBytes);
    let measures = [Measure::new("heap for each of 10,000 calls", Unit::Bytes, figures)];
    let mut section = Section::new("How much memory does a call take while it waits?");
    section.compare(&ALL_FAIL, &measures);
    section.compare(&CLOSURES, &measures);
    section.compare(&LAYERS, &measures);
    section.note("The heap for a waiting call holds its future and the data behind its pointers.");
    section
}

/// The instructions of each contender; empty without valgrind.
fn instructions_of(successes: &Successes) -> Figures {
    let names = successes.runners.iter().map(Runner::name);
    names.filter_map(|name| Some((name.to_owned(), child::instructions(name)?))).collect()
}
