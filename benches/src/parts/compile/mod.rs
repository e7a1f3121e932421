//! The cost of 1,000 functions for the compiler: annotated, or with loops by hand.

pub(super) mod program;
pub(super) mod style;

use crate::contest::{Contest, Unit};
use crate::names::{ATTRIBUTE, BACKON_MACROS, BARE, BY_HAND, BY_HAND_MUTE, RETRY_IF};
use crate::report::{Measure, Report, Section};
use crate::scratch::Fastest;

const CONTEST: Contest<'static> = Contest {
    ours: ATTRIBUTE,
    floor: Some(BARE),
    rivals: &[BY_HAND, BY_HAND_MUTE, BACKON_MACROS, RETRY_IF],
};

const FUNCTIONS: usize = 1_000;

/// Adds the section to the report, with the fastest of `runs` alternating runs.
pub fn run(report: &mut Report, runs: usize) {
    let crates: Vec<_> = style::all()
        .into_iter()
        .map(|style| {
            let program = style.program();
            program::write(&program, &style, FUNCTIONS);
            (style.name.to_owned(), program)
        })
        .collect();
    let mut measures = Vec::new();
    for command in ["check", "build"] {
        for (_, program) in &crates {
            // Also builds the dependencies.
            program.cargo(&[command]);
        }
        let fastest = Fastest::of(&crates, runs, |program| {
            program.touch();
            program.cargo(&[command])
        });
        let what = format!("`cargo {command}`");
        measures.push(Measure::new(what, Unit::Seconds, fastest.wall));
        measures.push(Measure::new("processor time", Unit::Seconds, fastest.processor));
    }
    let mut section = Section::new("What do 1,000 functions cost the compiler?");
    section.compare(&CONTEST, &measures);
    section.note(format!(
        "Debug, not incremental, dependencies built before; the fastest of {runs} runs."
    ));
    report.add(section);
}
