//! The waits of a policy as bars in a terminal.

use std::time::Duration;

use super::Walk;
use super::table::range;
use crate::terminal::text::width;

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar a wait: full as far as it always is, shaded as far as jitter may make it.
pub(super) fn lines(walk: &Walk, terminal: usize) -> Vec<String> {
    let longest = walk.longest();
    let rows: Vec<_> = walk
        .waits
        .iter()
        .map(|wait| (wait.attempt.to_string(), wait, range(wait.shortest, wait.longest)))
        .collect();
    let numbers = rows.iter().map(|(number, ..)| number.len()).max().unwrap_or(0);
    let labels = rows.iter().map(|(.., label)| width(label)).max().unwrap_or(0);
    // The longest bar and its label fit beside each other, in no more than 50 columns of bar.
    let cells = terminal.saturating_sub(numbers + 3 + labels).clamp(8, 50);
    rows.into_iter()
        .map(|(number, wait, label)| {
            let full = eighths(wait.shortest, longest, cells);
            let shaded = eighths(wait.longest, longest, cells).div_ceil(8);
            let mut bar = "█".repeat(full / 8);
            if wait.shortest == wait.longest {
                bar.push_str(EIGHTHS[full % 8]);
                if bar.is_empty() {
                    // A wait is seen, however short.
                    bar.push('▏');
                }
            } else {
                bar.push_str(&"▒".repeat(shaded.saturating_sub(full / 8)));
            }
            format!("{number:>numbers$} │{bar} {label}")
        })
        .collect()
}

/// How long the bar of `wait` is, in eighths of a cell.
fn eighths(wait: Duration, longest: Duration, cells: usize) -> usize {
    let most = longest.as_nanos().max(1);
    let room = u128::try_from(cells.saturating_mul(8)).unwrap_or(u128::MAX);
    usize::try_from(wait.as_nanos().saturating_mul(room) / most).unwrap_or(0).min(cells * 8)
}
