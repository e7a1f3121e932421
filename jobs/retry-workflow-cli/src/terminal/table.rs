//! A table for people: columns are aligned, and the widest are cut if a line would not fit the
//! terminal. If that is not enough, each row is shown as a block with one line per cell.

use crate::terminal::text::{cut, one_line, width};

/// The gap between two columns.
const GAP: usize = 2;
/// The width that a cut column keeps.
const LEAST: usize = 16;
/// A longer cell is cut, also without a terminal: a table is for people, and `--json` has
/// everything. An id is never that long.
const MOST: usize = 240;
/// Without a terminal, cells are not padded to the width of a longer one.
const MOST_PADDED: usize = 48;

/// Rows of text. Cells are sanitized when they are added.
#[derive(Debug)]
pub(crate) struct Table {
    headings: Vec<&'static str>,
    numbers: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table. A heading that begins with `>` belongs to a right-aligned column.
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self {
            numbers: headings.iter().map(|heading| heading.starts_with('>')).collect(),
            headings: headings.iter().map(|heading| heading.trim_start_matches('>')).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| cut(&one_line(&cell), MOST)).collect());
    }

    /// The lines, none wider than `terminal` if that is possible. The widest columns are cut: ids
    /// and messages.
    pub(crate) fn lines(&self, terminal: Option<usize>) -> Vec<String> {
        let mut widths: Vec<_> = self.headings.iter().map(|heading| width(heading)).collect();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let sticks_out = terminal.is_none() && width(cell) > MOST_PADDED;
                if let Some(widest) = widths.get_mut(column).filter(|_| !sticks_out) {
                    *widest = (*widest).max(width(cell));
                }
            }
        }
        if let Some(terminal) = terminal {
            let gaps = GAP * widths.len().saturating_sub(1);
            let total = widths.iter().sum::<usize>() + gaps;
            let least = |(width, is_number): (&usize, &bool)| {
                if *is_number { *width } else { (*width).min(LEAST) }
            };
            if widths.iter().zip(&self.numbers).map(least).sum::<usize>() + gaps > terminal {
                return self.stacked(terminal);
            }
            for _ in terminal..total {
                let widest = widths
                    .iter_mut()
                    .zip(&self.numbers)
                    .filter(|(width, is_number)| **width > LEAST && !**is_number)
                    .map(|(width, _)| width)
                    .max();
                match widest {
                    Some(widest) => *widest -= 1,
                    None => break,
                }
            }
        }
        let headings: Vec<_> = self.headings.iter().map(|&heading| heading.to_owned()).collect();
        let is_cut = terminal.is_some();
        let rows = std::iter::once(&headings).chain(&self.rows);
        rows.map(|row| self.line(row, &widths, is_cut)).collect()
    }

    /// Each row as a block of lines, none wider than `terminal`: the first cell, and below it the
    /// others with their headings.
    fn stacked(&self, terminal: usize) -> Vec<String> {
        let rest = self.headings.get(1..).unwrap_or_default();
        let widest = rest.iter().map(|heading| width(heading)).max().unwrap_or(0);
        let mut lines = Vec::new();
        for row in &self.rows {
            let Some((first, cells)) = row.split_first() else { continue };
            lines.push(cut(first, terminal));
            for (heading, cell) in rest.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                lines.push(cut(&format!("  {heading:<widest$}  {cell}"), terminal));
            }
        }
        lines
    }

    fn line(&self, row: &[String], widths: &[usize], is_cut: bool) -> String {
        let mut line = String::new();
        for (column, (cell, &most)) in row.iter().zip(widths).enumerate() {
            let cell = if is_cut { cut(cell, most) } else { cell.clone() };
            let blank = " ".repeat(most.saturating_sub(width(&cell)));
            if column > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            if self.numbers.get(column) == Some(&true) {
                line.push_str(&blank);
                line.push_str(&cell);
            } else {
                line.push_str(&cell);
                line.push_str(&blank);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_is_in_them() {
        let mut table = Table::new(&["item", ">attempts", "message"]);
        table.row(["日本".to_owned(), "3".to_owned(), "a\nb".to_owned()]);
        table.row(["order-1".to_owned(), "12".to_owned(), String::new()]);
        assert_eq!(
            table.lines(None),
            ["item     attempts  message", "日本            3  a\\nb", "order-1        12"]
        );
    }

    #[test]
    fn rows_are_not_padded_to_a_cell_of_millions_of_bytes() {
        let mut table = Table::new(&["item", ">n", "message"]);
        table.row(["i".repeat(3_000_000), "1".to_owned(), "m".repeat(500)]);
        table.row(["order-17".to_owned(), "23".to_owned(), "no".to_owned()]);
        let lines = table.lines(None);
        assert_eq!((&*lines[0], &*lines[2]), ("item       n  message", "order-17  23  no"));
        assert!(lines[1].starts_with("iiii") && width(&lines[1]) < 500, "{}", width(&lines[1]));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut table = Table::new(&["item", ">n", "message"]);
        table.row(["i".repeat(100), "1".to_owned(), "m".repeat(500)]);
        table.row(["日".repeat(100), "2".to_owned(), String::new()]);
        let lines = table.lines(Some(60));
        assert!(lines.iter().all(|line| width(line) <= 60), "{lines:#?}");
        assert!(lines[1].ends_with('…'));
    }

    #[test]
    fn rows_stand_below_each_other_where_columns_do_not_fit() {
        let mut table = Table::new(&["job", "status", ">succeeded", ">dead", "message"]);
        let cells = ["import-customers-1", "finished", "1,204", "3", "no tax rate for this one"];
        table.row(cells.map(str::to_owned));
        assert_eq!(
            table.lines(Some(30)),
            [
                "import-customers-1",
                "  status     finished",
                "  succeeded  1,204",
                "  dead       3",
                "  message    no tax rate for …"
            ]
        );
    }
}
