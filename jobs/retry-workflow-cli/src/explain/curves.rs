//! Shows the five curves side by side, as a table and as a picture.

use std::time::Duration;

use retry_runtime::{Backoff, Policy};
use retry_workflow::walk::Walk;

use super::SHOWN;
use super::picture::{Chart, draw};
use super::table::short;
use crate::terminal::table::Table;

const ATTEMPTS: u32 = 9;
const FIRST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(30);

const DELAYS: &[Duration] = &[
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// The curves, each with a short description.
const CURVES: [(Backoff, &str); 5] = [
    (Backoff::Fixed, "always initial_delay"),
    (Backoff::Linear { increment: Duration::from_secs(2) }, "increment 2s"),
    (Backoff::DEFAULT, "base 2 (the default)"),
    (Backoff::Fibonacci, "1 1 2 3 5 8 13 21"),
    (Backoff::Custom(DELAYS), "500ms 1s 2s 5s 10s"),
];

const fn policy(backoff: Backoff) -> Policy {
    Policy::new().attempts(ATTEMPTS).backoff(backoff).initial_delay(FIRST).max_delay(MOST)
}

/// The waits of a curve, from the one before the second attempt on.
fn waits(backoff: Backoff) -> impl Iterator<Item = Duration> {
    (1..ATTEMPTS).map(move |n| policy(backoff).wait(n))
}

fn sum(backoff: Backoff) -> Duration {
    waits(backoff).sum()
}

/// A table with one column per curve, and small bars below.
pub(crate) fn text() -> Vec<String> {
    let mut lines = vec![
        format!(
            "waits before each attempt: initial_delay {}, max_delay {}",
            short(FIRST),
            short(MOST)
        ),
        String::new(),
    ];
    let mut table =
        Table::new(&[">attempt", ">fixed", ">linear", ">exponential", ">fibonacci", ">custom"]);
    for n in 1..ATTEMPTS {
        let of = |(backoff, _): (Backoff, _)| short(backoff.wait(n, FIRST, MOST));
        table.row(std::iter::once((n + 1).to_string()).chain(CURVES.map(of)));
    }
    table.row(std::iter::once("sum".to_owned()).chain(CURVES.map(|(one, _)| short(sum(one)))));
    lines.extend(table.lines(None));
    lines.push(String::new());
    for (backoff, about) in CURVES {
        let bars: String = waits(backoff).map(bar).collect();
        lines.push(format!("{:<12} {bars}  {about}", backoff.name()));
    }
    lines
}

/// A bar of one of eight heights.
fn bar(wait: Duration) -> char {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let share = wait.as_millis().saturating_mul(8).div_ceil(MOST.as_millis());
    let height = usize::try_from(share).unwrap_or(8).clamp(1, 8);
    HEIGHTS[height - 1]
}

/// A standalone SVG: one chart per curve, all on the same scale.
pub(crate) fn picture() -> String {
    let title = "The five backoff curves";
    let described = |(backoff, about): &(Backoff, &str)| {
        let waits: Vec<_> = waits(*backoff).map(short).collect();
        format!("{} ({about}): {}", backoff.name(), waits.join(", "))
    };
    let description = CURVES.each_ref().map(described).join("; ");
    let charts = CURVES.map(|(backoff, about)| Chart {
        heading: backoff.name(),
        about,
        walk: Walk::new(&policy(backoff), SHOWN),
        caption: format!("waits {} in all", short(sum(backoff))),
    });
    let heading = format!("{title}: initial_delay {}, max_delay {}", short(FIRST), short(MOST));
    draw(title, &heading, &description, &charts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set it to rewrite the file.
    const REWRITE: &str = "RETRY_WORKFLOW_REWRITE";

    #[test]
    fn the_picture_in_the_repository_is_the_one_that_is_made() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/curves.svg");
        let made = picture();
        if std::env::var_os(REWRITE).is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/assets")).unwrap();
            std::fs::write(path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
        assert!(kept == made, "{path} is not what is made: set {REWRITE}=1 to write it again");
    }

    #[test]
    fn the_curves_stand_side_by_side() {
        let expected = "\
waits before each attempt: initial_delay 1s, max_delay 30s

attempt  fixed  linear  exponential  fibonacci  custom
      2     1s      1s           1s         1s   500ms
      3     1s      3s           2s         1s      1s
      4     1s      5s           4s         2s      2s
      5     1s      7s           8s         3s      5s
      6     1s      9s          16s         5s     10s
      7     1s     11s          30s         8s     30s
      8     1s     13s          30s        13s     30s
      9     1s     15s          30s        21s     30s
    sum     8s  1m 4s        2m 1s        54s  1m 49s
";
        let shown = text().join("\n");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&shown).starts_with(&words(expected)), "{shown}");
        assert!(shown.contains("fibonacci    ▁▁▁▁▂▃▄▆"), "{shown}");
    }

    #[test]
    fn the_policies_behind_it_keep_the_rules() {
        for (backoff, _) in CURVES {
            assert!(policy(backoff).validate().is_ok());
        }
    }
}
