//! Shows the five curves side by side, as a table and as a picture.

use std::time::Duration;

use retry_runtime::{Backoff, Policy};

use super::svg::{Anchor, Font, Paint, Svg, number};
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

/// The waits of a curve, from the one before the second attempt on.
fn waits(backoff: Backoff) -> impl Iterator<Item = (u32, Duration)> {
    let policy =
        Policy::new().attempts(ATTEMPTS).backoff(backoff).initial_delay(FIRST).max_delay(MOST);
    (1..ATTEMPTS).map(move |n| (n + 1, policy.wait(n)))
}

fn sum(backoff: Backoff) -> Duration {
    waits(backoff).map(|(_, wait)| wait).sum()
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
        let bars: String = waits(backoff).map(|(_, wait)| bar(wait)).collect();
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

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 344.0;
const LEFT: f64 = 58.0;
const GAP: f64 = 22.0;
const PANEL: f64 = (WIDTH - LEFT - 20.0 - 4.0 * GAP) / 5.0;
const TOP: f64 = 116.0;
const BOTTOM: f64 = 280.0;

/// A standalone SVG: one panel per curve, all on the same scale.
pub(crate) fn picture() -> String {
    let description = CURVES
        .map(|(backoff, about)| {
            let waits: Vec<_> = waits(backoff).map(|(_, wait)| short(wait)).collect();
            format!("{} ({about}): {}", backoff.name(), waits.join(", "))
        })
        .join("; ");
    let mut svg = Svg::new(WIDTH, HEIGHT, "The five backoff curves", &description);
    let small = Font::new(12.0, Paint::Muted);
    svg.text(20.0, 34.0, Font::new(15.0, Paint::Ink).bold(), "The five backoff curves");
    legend(&mut svg);
    svg.upright(22.0, f64::midpoint(TOP, BOTTOM), small.anchor(Anchor::Middle), "wait in seconds");
    for (tick, y) in ticks() {
        svg.text(LEFT - 8.0, y + 4.0, small.anchor(Anchor::End), &tick.as_secs().to_string());
    }
    let mut left = LEFT;
    for (backoff, about) in CURVES {
        panel(left, backoff, about, &mut svg);
        left += PANEL + GAP;
    }
    svg.finish()
}

fn legend(svg: &mut Svg) {
    let small = Font::new(12.0, Paint::Muted);
    svg.rect(560.0, 24.0, 12.0, 12.0, 2.0, Paint::Bar);
    svg.text(578.0, 34.0, small, "wait before the attempt; initial_delay 1s");
    svg.line((846.0, 30.0), (870.0, 30.0), Paint::Cap, true);
    svg.text(876.0, 34.0, small, "max_delay 30s");
}

fn ticks() -> impl Iterator<Item = (Duration, f64)> {
    [0, 10, 20, 30].into_iter().map(Duration::from_secs).map(|tick| (tick, height(tick)))
}

/// The y coordinate of a wait.
fn height(wait: Duration) -> f64 {
    BOTTOM - wait.as_secs_f64() / MOST.as_secs_f64() * (BOTTOM - TOP)
}

fn panel(left: f64, backoff: Backoff, about: &str, svg: &mut Svg) {
    let right = left + PANEL;
    svg.text(left, 70.0, Font::new(14.0, Paint::Ink).bold(), backoff.name());
    svg.text(left, 88.0, Font::new(11.0, Paint::Muted), about);
    for (tick, y) in ticks() {
        if tick.is_zero() {
            svg.line((left, y), (right, y), Paint::Muted, false);
        } else if tick == MOST {
            svg.line((left, y), (right, y), Paint::Cap, true);
        } else {
            svg.line((left, y), (right, y), Paint::Grid, false);
        }
    }
    let slot = PANEL / f64::from(ATTEMPTS - 1);
    let bar = slot * 0.7;
    let mut x = left + slot / 2.0;
    for (attempt, wait) in waits(backoff) {
        let y = height(wait);
        svg.rect(x - bar / 2.0, y, bar, BOTTOM - y, 1.5, Paint::Bar);
        let value = Font::new(10.0, Paint::Ink).anchor(Anchor::Middle);
        svg.text(x, y - 4.0, value, &number(wait.as_secs_f64()));
        let below = Font::new(11.0, Paint::Muted).anchor(Anchor::Middle);
        svg.text(x, BOTTOM + 16.0, below, &attempt.to_string());
        x += slot;
    }
    let caption = Font::new(11.0, Paint::Muted).anchor(Anchor::Middle);
    let total = format!("attempt · waits {} in all", short(sum(backoff)));
    svg.text(f64::midpoint(left, right), BOTTOM + 38.0, caption, &total);
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
        assert!(kept == made, "{path} is not what is made: set {REWRITE}=1 to write it anew");
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
            let policy = Policy::new().attempts(ATTEMPTS).backoff(backoff);
            assert!(policy.validate().is_ok());
        }
    }
}
