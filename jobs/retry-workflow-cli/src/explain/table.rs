//! The waits of a policy as a table.

use std::time::Duration;

use retry_workflow::walk::{Walk, WalkEnd};
use retry_workflow::words::px;

use crate::terminal::table::Table;
use crate::terminal::text::thousands;

/// The table, and a sentence about how it ends.
pub(super) fn lines(walk: &Walk) -> Vec<String> {
    let mut headings = vec![">attempt"];
    if walk.curve {
        headings.push(">wait");
    }
    if walk.jitter {
        headings.push(">with jitter");
    }
    if walk.curve {
        headings.push(">sum");
    }
    if walk.jitter {
        headings.push(if walk.curve { ">sum with jitter" } else { ">sum" });
    }
    headings.push("");
    let mut table = Table::new(&headings);
    table.row(row(walk, ["1", "-", "-", "0s", "0s", ""].map(str::to_owned)));
    for wait in &walk.waits {
        let note = match walk.bound {
            Some(bound) if wait.perhaps => {
                format!("if the {} of {} lasts", bound.word, short(bound.limit))
            }
            _ => String::new(),
        };
        table.row(row(
            walk,
            [
                wait.attempt.to_string(),
                short(wait.by_curve),
                range(wait.shortest, wait.longest),
                short(wait.sum),
                range(wait.least, wait.most),
                note,
            ],
        ));
    }
    let mut lines = table.lines(None);
    lines.push(end(walk));
    lines
}

/// The cells for the columns that this table has.
fn row(walk: &Walk, cells: [String; 6]) -> Vec<String> {
    let wanted = [true, walk.curve, walk.jitter, walk.curve, walk.jitter, true];
    cells.into_iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(cell, _)| cell).collect()
}

/// Returns the end of the policy, in words.
pub(super) fn end(walk: &Walk) -> String {
    let last = walk.waits.last();
    let attempt = last.map_or(1, |last| last.attempt);
    match (walk.end, walk.bound, last) {
        (WalkEnd::Attempts, _, None) => {
            "gives up after the first attempt, without waiting".to_owned()
        }
        (WalkEnd::Attempts, _, Some(last)) => {
            format!(
                "gives up after attempt {attempt}, having waited {}",
                range(last.least, last.most)
            )
        }
        (WalkEnd::Bound(wait), Some(bound), _) => {
            let latest = if last.is_some_and(|last| last.perhaps) { " at the latest" } else { "" };
            let or_more = if walk.jitter { "at least " } else { "" };
            format!(
                "gives up after attempt {attempt}{latest}: another wait of {or_more}{} does not fit \
                 into the {} of {}",
                short(wait),
                bound.word,
                short(bound.limit)
            )
        }
        (WalkEnd::More(Some(more)), bound, _) => {
            let unless = bound.map_or_else(String::new, |bound| {
                format!(", if the {} of {} lasts", bound.word, short(bound.limit))
            });
            format!("… and {} more{unless}", thousands(u64::from(more)))
        }
        (WalkEnd::More(None), Some(bound), _) => {
            format!("… and so on, until the {} of {} ends it", bound.word, short(bound.limit))
        }
        (WalkEnd::More(None) | WalkEnd::Bound(_), ..) => "… and so on".to_owned(),
    }
}

/// A range, or a single duration if both ends look the same.
pub(super) fn range(from: Duration, to: Duration) -> String {
    let (from, to) = (short(from), short(to));
    if from == to { to } else { format!("{from}–{to}") }
}

/// A duration in a few characters: `1.5s`, `250ms`, `2m 30s`.
pub(super) fn short(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let decimal = |value: f64, unit: &str| format!("{}{unit}", px(value));
    if duration.is_zero() {
        "0s".to_owned()
    } else if duration < Duration::from_millis(1) {
        decimal(seconds * 1e6, "µs")
    } else if duration < Duration::from_millis(999) {
        decimal(seconds * 1e3, "ms")
    } else if duration < Duration::from_millis(59_995) {
        decimal(seconds, "s")
    } else {
        // Above a minute, milliseconds do not matter.
        let rounded = Duration::from_secs(
            duration.as_secs()
                + u64::from(duration.subsec_millis() >= 500 && duration.as_secs() < u64::MAX),
        );
        retry_rules::duration::format(rounded).to_string()
    }
}
