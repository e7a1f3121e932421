//! A Markdown table, in a form that every renderer understands.

use std::fmt;

/// The largest number of columns that is readable on a screen.
const MOST_COLUMNS: usize = 6;

/// A header, and rows with the same number of cells. The columns after those with words contain
/// numbers, which are right-aligned.
#[derive(Debug)]
pub struct Table {
    header: Vec<String>,
    words: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows, whose first `words` columns contain words.
    ///
    /// # Panics
    ///
    /// Panics if there are too many columns to be readable.
    pub fn new(words: usize, header: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let header: Vec<String> = header.into_iter().map(Into::into).collect();
        assert!(header.len() <= MOST_COLUMNS, "a question less at a time: {header:?}");
        Self { header, words, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// Panics if the number of cells differs from the header.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.header.len(), "{cells:?} below {:?}", self.header);
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks = (0..self.header.len()).map(|at| if at < self.words { "---" } else { "---:" });
        let marks: Vec<String> = marks.map(str::to_owned).collect();
        for cells in [&self.header, &marks].into_iter().chain(&self.rows) {
            writeln!(f, "| {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}
