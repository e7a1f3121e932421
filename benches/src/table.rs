//! The one table, in markdown: what was measured stands on the left, and under each
//! rival our figure divided by theirs.

use std::collections::BTreeMap;
use std::fmt;

use crate::contest::{Contest, Figures, Unit};
use crate::names::COLUMNS;

/// One thing that was measured of one of ours.
#[derive(Debug)]
struct Row {
    what: String,
    who: String,
    ours: String,
    /// How much more than what does not retry at all.
    floor: String,
    /// By rival.
    ratios: BTreeMap<String, Ratio>,
}

/// Ours, divided by theirs.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    ratio: f64,
    /// Whether they are ahead, by more than the noise.
    behind: bool,
}

/// All rows, and what there is to say about them.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    /// Tables of another shape.
    others: Vec<String>,
    notes: Vec<String>,
}

impl Table {
    /// Adds what these contests say about these figures.
    pub fn add(&mut self, what: &str, unit: Unit, contests: &[Contest<'_>], figures: &Figures) {
        self.rows.extend(contests.iter().filter_map(|contest| row(contest, what, unit, figures)));
    }

    /// Adds a table of another shape, as it is to be printed, below the one of this shape.
    pub fn append(&mut self, other: String) {
        self.others.push(other);
    }

    /// Adds a sentence below the table, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn row(contest: &Contest<'_>, what: &str, unit: Unit, figures: &Figures) -> Option<Row> {
    let ours = *figures.get(contest.ours)?;
    let floor = contest.floor.and_then(|name| figures.get(name));
    let ratio = |name: &&str| {
        let theirs = *figures.get(*name)?;
        // Nothing is as much as nothing.
        let ratio = if ours == 0.0 && theirs == 0.0 { 1.0 } else { ours / theirs };
        Some(((*name).to_owned(), Ratio { ratio, behind: ours > theirs * unit.tolerance() }))
    };
    Some(Row {
        what: what.to_owned(),
        who: contest.ours.to_owned(),
        ours: unit.show(ours),
        floor: floor.map(|floor| unit.show_difference(ours - floor)).unwrap_or_default(),
        ratios: contest.rivals.iter().filter_map(ratio).collect(),
    })
}

impl Table {
    fn fmt_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = COLUMNS
            .into_iter()
            .filter(|name| self.rows.iter().any(|row| row.ratios.contains_key(*name)))
            .collect();
        writeln!(f, "| | | ours | over the floor | {} |", columns.join(" | "))?;
        writeln!(f, "| --- | --- | ---: | ---: |{}", " ---: |".repeat(columns.len()))?;
        let mut before = "";
        for Row { what, who, ours, floor, ratios } in &self.rows {
            let shown = if what == before { "" } else { what };
            before = what;
            write!(f, "| {shown} | {who} | {ours} | {floor} |")?;
            for column in &columns {
                match ratios.get(*column) {
                    Some(ratio) => write!(f, " {ratio} |")?,
                    None => write!(f, " |")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.rows.is_empty() {
            self.fmt_rows(f)?;
        }
        for (place, other) in self.others.iter().enumerate() {
            if place > 0 || !self.rows.is_empty() {
                writeln!(f)?;
            }
            writeln!(f, "{other}")?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n- {note}"))?;
        writeln!(f)
    }
}

/// Two digits that say something; bold where the rival is ahead.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.behind { "**" } else { "" };
        match self.ratio {
            ratio if ratio.is_infinite() => write!(f, "{mark}1 : 0{mark}"),
            ratio if ratio < 0.1 && ratio > 0.0 => write!(f, "{mark}{ratio:.3}{mark}"),
            ratio => write!(f, "{mark}{ratio:.2}{mark}"),
        }
    }
}
