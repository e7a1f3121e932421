//! What a call costs: one that succeeds, one that fails, and ten thousand that wait.

use crate::calls::{Sizes, Successes};
use crate::child::{self, Finding, Findings};
use crate::contest::{Contest, Figures, Unit};
use crate::names::{
    ATTRIBUTE, BACKON, BACKON_MACROS, BARE, BY_HAND, BY_HAND_MUTE, RETRIER, RETRY_IF, TOKIO_RETRY2,
    TOWER_RESILIENCE,
};
use crate::policies::seconds;
use crate::race::{Runner, race};
use crate::table::Table;

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
        TOWER_RESILIENCE,
    ],
};

const CLOSURES: Contest<'static> = Contest {
    ours: RETRIER,
    floor: None,
    rivals: &[BY_HAND, BACKON, TOKIO_RETRY2, TOWER_RESILIENCE],
};

/// Adds its rows.
pub fn run(table: &mut Table) {
    let counted = Findings::of_program("count", "count");
    successes(table, &counted);
    failures(table, &counted);
}

fn successes(table: &mut Table, counted: &Findings) {
    let mut contenders = Successes::default();
    seconds::contenders::each(&mut contenders);
    let mut sizes = Sizes::default();
    seconds::contenders::each(&mut sizes);
    let instructions = instructions_of(&contenders);
    if instructions.is_empty() {
        table.note("Instructions were not counted: that takes valgrind.");
    }
    let allocations = counted.of(Finding::SuccessAllocations);
    for (what, unit, figures) in [
        ("time", Unit::Nanoseconds, race(contenders.runners)),
        ("instructions", Unit::Instructions, instructions),
        ("size of the future", Unit::Bytes, sizes.bytes),
        ("allocations", Unit::Allocations, allocations),
    ] {
        table.add(&format!("a success: {what}"), unit, &[ATTRIBUTES, CLOSURES], &figures);
    }
}

fn failures(table: &mut Table, counted: &Findings) {
    // A function that does not retry fails once, which compares with nothing.
    let contests = [Contest { floor: None, ..ATTRIBUTES }, CLOSURES];
    let timed = Findings::of_program("fail", "paused");
    for (what, time, allocations) in [
        ("5 failures, waits of zero", Finding::FailureTime, Finding::FailureAllocations),
        (
            "5 failures, 4 timers",
            Finding::FailureWithWaitsTime,
            Finding::FailureWithWaitsAllocations,
        ),
    ] {
        table.add(&format!("{what}: time"), Unit::Nanoseconds, &contests, &timed.of(time));
        let allocations = counted.of(allocations);
        table.add(&format!("{what}: allocations"), Unit::Allocations, &contests, &allocations);
    }
    table.note("Failing calls run on a paused clock, which jumps over the waits.");

    let waiting = counted.of(Finding::WaitingBytes);
    table.add("10,000 calls that wait: heap for each", Unit::Bytes, &contests, &waiting);
    table.note("The heap for a call that waits holds its future, and what that points to.");
}

/// Of each contender; empty without valgrind.
fn instructions_of(successes: &Successes) -> Figures {
    let names = successes.runners.iter().map(Runner::name);
    names.filter_map(|name| Some((name.to_owned(), child::instructions(name)?))).collect()
}
