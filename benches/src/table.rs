//! A table in markdown, as every reader of markdown renders it.

use std::fmt;

/// More columns than that nobody reads on a screen.
const MOST_COLUMNS: usize = 6;

/// A header, and rows of as many cells. Numbers stand on the right: all columns but the
/// first, and those of words.
#[derive(Debug)]
pub struct Table {
    header: Vec<String>,
    words: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates one without rows, whose first so many columns hold words.
    ///
    /// # Panics
    ///
    /// If there are more columns than can be read.
    pub fn new(words: usize, header: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let header: Vec<String> = header.into_iter().map(Into::into).collect();
        assert!(header.len() <= MOST_COLUMNS, "a question less at a time: {header:?}");
        Self { header, words, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it has other columns than the header.
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
