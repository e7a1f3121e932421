//! `cargo check` of programs with many functions.

use super::{row, sizes, table, time};
use crate::names::{ATTRIBUTE, BARE, BY_HAND_MUTE};
use crate::parts::compile::{program, style};
use crate::report::Section;
use crate::scratch::{Crate, Fastest};

const FUNCTIONS: [(&str, usize); 3] = [("10² functions", 100), ("10³", 1_000), ("10⁴", 10_000)];

const STYLES: [&str; 3] = [ATTRIBUTE, BY_HAND_MUTE, BARE];

pub(super) fn measure(section: &mut Section, runs: usize, is_quick: bool) {
    let sizes = sizes(&FUNCTIONS, is_quick);
    let mut styles = style::all();
    styles.retain(|style| STYLES.contains(&style.name));
    let crates: Vec<(String, Crate)> =
        styles.iter().map(|style| (style.name.to_owned(), style.program())).collect();
    for (_, program) in &crates {
        // Builds the dependencies.
        program.cargo(&["check"]);
    }
    let mut times = vec![Vec::new(); STYLES.len()];
    for &(_, functions) in sizes {
        for (style, (_, program)) in styles.iter().zip(&crates) {
            program::write(program, style, functions);
        }
        let fastest = Fastest::of(&crates, runs.min(3), |program| {
            program.touch();
            program.cargo(&["check"])
        });
        // Other programs do not add to processor time.
        let figures = if fastest.processor.is_empty() { fastest.wall } else { fastest.processor };
        for (times, style) in times.iter_mut().zip(STYLES) {
            times.push(figures[style]);
        }
    }
    let names = sizes.iter().map(|(name, _)| *name);
    let mut shown = table("`cargo check` of", names);
    for (style, times) in STYLES.into_iter().zip(&times) {
        row(&mut shown, style, times, time);
    }
    for (style, theirs) in STYLES.into_iter().zip(&times).skip(1) {
        let ratios: Vec<f64> = times[0].iter().zip(theirs).map(|(ours, it)| ours / it).collect();
        row(&mut shown, &format!("÷ {style}"), &ratios, |ratio| format!("{ratio:.2}"));
    }
    section.table(shown);
    section.note(
        "`cargo check` in processor time, without dependencies. Before the first function, the \
         compiler loads the library and its macro in a tenth of a second. With few functions, the \
         ratio to a loop by hand is therefore larger.",
    );
}
