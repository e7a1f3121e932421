//! The costs of the same work on ten, a hundred and a thousand times as much: stores, families of
//! breakers, texts and programs.

mod calls;
mod compiler;
mod stores;

use crate::report::{Report, Section};
use crate::table::Table;

pub use self::calls::KEYS;

/// The largest ratio of neighbouring figures that counts as linear: a column has ten times as much
/// work as the one before it.
const LINEAR: f64 = 10.0 * 1.2;

/// Adds the section to the report; a quick run leaves the largest sizes out.
pub fn run(report: &mut Report, runs: usize, is_quick: bool) {
    let mut section = Section::new("How do costs grow?");
    stores::measure(&mut section, is_quick);
    calls::measure(&mut section, is_quick);
    compiler::measure(&mut section, runs, is_quick);
    section.note(
        "From one column to the next there is ten times as much. **Bold** marks figures that grow \
         by more than that.",
    );
    report.add(section);
}

/// The sizes to measure.
fn sizes<T>(all: &[T], is_quick: bool) -> &[T] {
    &all[..all.len() - usize::from(is_quick)]
}

/// A table with a column for each size.
fn table<'a>(what: &'a str, sizes: impl IntoIterator<Item = &'a str>) -> Table {
    Table::new(1, [what].into_iter().chain(sizes))
}

/// A row with a figure for each size.
fn row(table: &mut Table, what: &str, figures: &[f64], show: impl Fn(f64) -> String) {
    let cells = figures.iter().enumerate().map(|(at, figure)| {
        let is_bold = at > 0 && *figure > LINEAR * figures[at - 1];
        let mark = if is_bold { "**" } else { "" };
        format!("{mark}{}{mark}", show(*figure))
    });
    table.row([what.to_owned()].into_iter().chain(cells));
}

/// A time with three significant digits.
fn time(seconds: f64) -> String {
    let units = [("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)];
    let is_readable = |(_, per_second): &(&str, f64)| seconds * per_second >= 1.0;
    let (unit, per_second) = units.into_iter().find(is_readable).unwrap_or(("ns", 1e9));
    let amount = seconds * per_second;
    let digits = if amount < 10.0 { 2 } else { usize::from(amount < 100.0) };
    format!("{amount:.digits$} {unit}")
}
