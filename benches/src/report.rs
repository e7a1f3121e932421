//! `docs/BENCHMARKS.md`: a section per question, with a table that answers it.

use std::fmt;

use crate::contest::{Contest, Figures, Unit};
use crate::machine;
use crate::table::Table;

/// All sections that were measured.
#[derive(Debug, Default)]
pub struct Report(Vec<Section>);

/// A question, its answer, and notes.
#[derive(Debug)]
pub struct Section {
    question: &'static str,
    tables: Vec<Table>,
    notes: Vec<String>,
}

/// One quantity, measured for all contenders.
#[derive(Debug)]
pub struct Measure {
    /// The heading of its column.
    pub what: String,
    /// The unit of the figures.
    pub unit: Unit,
    /// The figures of the contenders.
    pub figures: Figures,
}

impl Measure {
    /// Creates a measure.
    pub fn new(what: impl Into<String>, unit: Unit, figures: Figures) -> Self {
        Self { what: what.into(), unit, figures }
    }
}

impl Report {
    /// Adds a section.
    pub fn add(&mut self, section: Section) {
        self.0.push(section);
    }
}

impl Section {
    /// Creates a section without tables.
    pub const fn new(question: &'static str) -> Self {
        Self { question, tables: Vec::new(), notes: Vec::new() }
    }

    /// Adds a table: our figures, and below them, for each rival, ours divided by theirs.
    pub fn compare(&mut self, contest: &Contest<'_>, measures: &[Measure]) {
        // A quantity that could not be measured here has no column.
        let measures: Vec<(&Measure, f64)> = measures
            .iter()
            .filter_map(|measure| Some((measure, *measure.figures.get(contest.ours)?)))
            .collect();
        let header = measures.iter().map(|(measure, _)| measure.what.clone());
        let mut table = Table::new(1, [contest.ours.to_owned()].into_iter().chain(header));
        let mut row = |name: String, cell: &dyn Fn(&Measure, f64) -> Option<String>| {
            let cells: Vec<Option<String>> =
                measures.iter().map(|(measure, ours)| cell(measure, *ours)).collect();
            if cells.iter().any(Option::is_some) {
                table.row(
                    [name].into_iter().chain(cells.into_iter().map(Option::unwrap_or_default)),
                );
            }
        };
        row("measured".to_owned(), &|measure, ours| Some(measure.unit.show(ours)));
        if let Some(floor) = contest.floor {
            row(format!("more than {floor}"), &|measure, ours| {
                Some(measure.unit.show_difference(ours - measure.figures.get(floor)?))
            });
        }
        for rival in contest.rivals {
            row(format!("÷ {rival}"), &|measure, ours| {
                Some(ratio(ours, *measure.figures.get(*rival)?, measure.unit))
            });
        }
        self.tables.push(table);
    }

    /// Adds a table of another kind.
    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Adds a sentence below the tables.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

/// Our figure divided by theirs, with two significant digits; bold if they are ahead by more than
/// the noise.
fn ratio(ours: f64, theirs: f64, unit: Unit) -> String {
    let mark = if ours > theirs * unit.tolerance() { "**" } else { "" };
    // Zero divided by zero counts as equal.
    let ratio = if ours == 0.0 && theirs == 0.0 { 1.0 } else { ours / theirs };
    match ratio {
        ratio if ratio.is_infinite() => format!("{mark}{} : 0{mark}", unit.show(ours)),
        ratio if ratio < 0.1 && ratio > 0.0 => format!("{mark}{ratio:.3}{mark}"),
        ratio => format!("{mark}{ratio:.2}{mark}"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Benchmarks\n\n\
             `cargo run --release --manifest-path benches/Cargo.toml > docs/BENCHMARKS.md` writes this page:\n\
             {}.\n\n\
             The first row of a table has the figures of this library. Below it, `÷ backon` is that figure divided by\n\
             backon's. Below 1 this library is ahead; **bold** marks figures where it is not. All figures of a table\n\
             are measured in turns, on one machine. Figures of different machines and days are not comparable.",
            machine::describe(),
        )?;
        self.0.iter().try_for_each(|section| write!(f, "\n{section}"))
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}", self.question)?;
        self.tables.iter().try_for_each(|table| write!(f, "\n{table}"))?;
        for (place, note) in self.notes.iter().enumerate() {
            let gap = if place == 0 { "\n" } else { "" };
            writeln!(f, "{gap}- {note}")?;
        }
        Ok(())
    }
}
