//! What 1,000 functions cost the compiler: annotated, or with loops by hand.

mod program;
mod style;

use crate::contest::{Contest, Unit};
use crate::names::{ATTRIBUTE, BACKON_MACROS, BARE, BY_HAND, BY_HAND_MUTE, RETRY_IF};
use crate::scratch::Fastest;
use crate::table::Table;

const CONTEST: Contest<'static> = Contest {
    ours: ATTRIBUTE,
    floor: Some(BARE),
    rivals: &[BY_HAND, BY_HAND_MUTE, BACKON_MACROS, RETRY_IF],
};

/// Adds its rows: of `runs` runs, alternated, the fastest.
pub fn run(table: &mut Table, runs: usize) {
    let crates: Vec<_> = style::all()
        .into_iter()
        .map(|style| (style.name.to_owned(), program::write(&style)))
        .collect();
    for (what, command) in
        [("1,000 functions: `cargo check`", "check"), ("1,000 functions: `cargo build`", "build")]
    {
        for (_, program) in &crates {
            // Builds the dependencies, too.
            program.cargo(&[command]);
        }
        let fastest = Fastest::of(&crates, runs, |program| {
            program.touch();
            program.cargo(&[command])
        });
        table.add(what, Unit::Seconds, &[CONTEST], &fastest.wall);
        let what = format!("{what}, processor time");
        table.add(&what, Unit::Seconds, &[CONTEST], &fastest.processor);
    }
    table.note(format!(
        "Compiling: debug, not incremental, dependencies built before; the fastest of {runs} runs."
    ));
}
