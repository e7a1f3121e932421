//! The waits of a policy as bars in a terminal.

use std::time::Duration;

use retry_workflow::walk::Walk;

use super::table::range;
use crate::terminal::text::width;

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One bar per wait: solid for the shortest possible wait, shaded up to the longest that jitter
/// allows.
pub(super) fn lines(walk: &Walk, terminal: usize) -> Vec<String> {
    let longest = walk.longest();
    let rows: Vec<_> = walk
        .waits
        .iter()
        .map(|wait| (wait.attempt.to_string(), wait, range(wait.shortest, wait.longest)))
        .collect();
    let numbers = rows.iter().map(|(number, ..)| number.len()).max().unwrap_or(0);
    let labels = rows.iter().map(|(.., label)| width(label)).max().unwrap_or(0);
    // The longest bar and its label have to fit on one line; the bar gets 50 columns at most.
    let cells = terminal.saturating_sub(numbers + 3 + labels).clamp(8, 50);
    rows.into_iter()
        .map(|(number, wait, label)| {
            let full = eighths(wait.shortest, longest, cells);
            let shaded = eighths(wait.longest, longest, cells).div_ceil(8);
            let mut bar = "█".repeat(full / 8);
            if wait.shortest == wait.longest {
                bar.push_str(EIGHTHS[full % 8]);
                if bar.is_empty() {
                    // Even the shortest wait is visible.
                    bar.push('▏');
                }
            } else {
                bar.push_str(&"▒".repeat(shaded.saturating_sub(full / 8)));
            }
            format!("{number:>numbers$} │{bar} {label}")
        })
        .collect()
}

/// The length of the bar of `wait`, in eighths of a cell.
fn eighths(wait: Duration, longest: Duration, cells: usize) -> usize {
    let most = longest.as_nanos().max(1);
    let room = u128::try_from(cells.saturating_mul(8)).unwrap_or(u128::MAX);
    usize::try_from(wait.as_nanos().saturating_mul(room) / most).unwrap_or(0).min(cells * 8)
}
