//! The sizes of programs that retry are those of the benchmarks.

use std::fs;
use std::path::Path;

use super::documents::figures;
use super::root;

#[path = "../../../benches/weight/measure.rs"]
mod measure;

use self::measure::{OURS, weights};

/// So much more than the page says is admitted: compilers and dependencies change.
const ROOM: f64 = 1.2;

/// The kilobytes in a cell of the table.
fn kilobytes(cell: &str) -> f64 {
    let number = cell.strip_suffix(" kB").unwrap_or_else(|| panic!("{cell} is no size"));
    number.parse().expect("a number")
}

#[test]
#[ignore = "builds programs with optimisations: a step of `.ci/run`"]
fn call_site_weighs_no_more_than_the_benchmarks_say() {
    let page = fs::read_to_string(root().join("docs/BENCHMARKS.md")).expect("the benchmarks");
    let stated = figures(&page, "## What does a call site weigh?", OURS[0].0);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("weight");
    let measured = weights(&OURS.map(|(_, program)| program), "release", "", &target);
    let mut mistakes = Vec::new();
    for ((row, program), weight) in OURS.iter().zip(measured) {
        for (what, bytes, cell) in [("once", weight.once, 0), ("each", weight.each, 1)] {
            let (measured, stated) = (bytes / 1e3, kilobytes(&stated[*row][cell]));
            println!("{program}, {what}: {measured:.1} kB, stated {stated:.1} kB");
            if measured > stated * ROOM {
                mistakes.push(format!("{program}, {what}: {measured:.1} kB, stated {stated} kB"));
            }
        }
    }
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}
