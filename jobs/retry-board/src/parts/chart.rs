//! Charts as SVG: colours come from the style sheet, and each chart describes itself in words.

use maud::{Markup, html};
use retry_workflow::store::HourCount;
use retry_workflow::words::{count, moment, px, thousands};
use retry_workflow::{Counts, Timestamp};

use super::time;
use crate::data::samples::{SPAN, Sample};

#[expect(clippy::cast_precision_loss, reason = "pixels")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

/// A bar with the number of items in each state.
pub(crate) fn states(counts: &Counts, is_large: bool) -> Markup {
    let parts = [
        ("succeeded", counts.succeeded),
        ("dead", counts.dead),
        ("skipped", counts.skipped),
        ("leased", counts.leased),
        ("pending", counts.pending),
    ];
    let total = float(counts.total().max(1));
    let shown: Vec<_> = parts.into_iter().filter(|(_, number)| *number > 0).collect();
    let label = shown.iter().map(|(state, number)| format!("{} {state}", thousands(*number)));
    let label = label.collect::<Vec<_>>().join(", ");
    let mut left = 0.0;
    let rects: Vec<_> = shown
        .iter()
        .map(|(state, number)| {
            // Keep a few failures among many items visible.
            let width = (float(*number) / total * 1_000.0).max(6.0);
            let rect = (*state, left, width);
            left += width;
            rect
        })
        .collect();
    let scale = if left > 0.0 { 1_000.0 / left } else { 1.0 };
    html! {
        svg class=(if is_large { "states large" } else { "states" }) viewBox="0 0 1000 10"
            preserveAspectRatio="none" role="img" aria-label=(label) {
            rect.track x="0" y="0" width="1000" height="10" {}
            @for (state, x, width) in rects {
                rect class=(state) x=(px(x * scale)) y="0" width=(px(width * scale)) height="10" {}
            }
        }
    }
}

/// The last hours as small bars.
pub(crate) fn sparkline(hours: &[HourCount], now: Timestamp) -> Markup {
    const CELLS: u32 = 24;
    const HOUR: i64 = 3_600_000_000;
    let this = now.as_micros().div_euclid(HOUR);
    let mut cells = [0_u64; CELLS as usize];
    for hour in hours {
        let back = this - hour.hour.as_micros().div_euclid(HOUR);
        if let Some(cell) =
            usize::try_from(back).ok().and_then(|back| cells.iter_mut().rev().nth(back))
        {
            *cell = cell.saturating_add(hour.count);
        }
    }
    let most = float(cells.iter().copied().max().unwrap_or(0).max(1));
    let total = cells.iter().fold(0_u64, |sum, cell| sum.saturating_add(*cell));
    let label = format!("{} in the last {CELLS} hours", thousands(total));
    html! {
        svg.sparkline viewBox="0 0 96 20" role="img" aria-label=(label) {
            title { (label) }
            line.axis x1="0" y1="19.5" x2="96" y2="19.5" {}
            @for (at, cell) in (0_u32..).zip(cells).filter(|(_, cell)| *cell > 0) {
                @let height = (float(cell) / most * 18.0).max(1.5);
                rect.dead x=(px(f64::from(at) * 4.0)) y=(px(19.0 - height)) width="3" height=(px(height)) {}
            }
        }
    }
}

/// The items that succeeded and failed in each slot of the period before `end`.
pub(crate) fn progress(samples: &[Sample], end: Timestamp) -> Markup {
    const SLOTS: u32 = 60;
    let begin = end - SPAN;
    let mut slots = [(0_u64, 0_u64, 0_u64); SLOTS as usize];
    for (before, after) in samples.iter().zip(samples.iter().skip(1)) {
        let new = after.since(before);
        let at = new.at.since(begin).as_micros() / (SPAN / SLOTS).as_micros();
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(slots.len() - 1);
        let (good, bad, failed) = &mut slots[at];
        *good = good.saturating_add(new.succeeded);
        *bad = bad.saturating_add(new.failed);
        *failed = failed.saturating_add(new.failed_attempts);
    }
    let sum = |of: fn(&(u64, u64, u64)) -> u64| slots.iter().map(of).fold(0, u64::saturating_add);
    let (good, bad, failed) = (sum(|slot| slot.0), sum(|slot| slot.1), sum(|slot| slot.2));
    let highest =
        slots.iter().map(|slot| slot.0.saturating_add(slot.1).max(slot.2)).max().unwrap_or(0);
    let top = nice(highest);
    let (high, width) = (112.0, 11.0);
    let height = |number: u64| float(number) / float(top) * high;
    let label = format!(
        "{} succeeded, {} failed for good, {} failed, from {} to {}",
        thousands(good),
        thousands(bad),
        count(failed, "attempt"),
        moment(begin),
        moment(end)
    );
    let points: Vec<_> = (0_u32..)
        .zip(slots)
        .map(|(at, slot)| {
            let x = f64::from(at) * width + width / 2.0;
            format!("{},{}", px(x), px(high - height(slot.2)))
        })
        .collect();
    html! {
        // Labels are outside the SVG, because it is stretched.
        div.chart {
            div.y aria-hidden="true" {
                span { (short(top)) }
                span { @if top.is_multiple_of(2) { (short(top / 2)) } }
                span { "0" }
            }
            svg.progress-chart viewBox="0 0 660 112" preserveAspectRatio="none" role="img" aria-label=(label) {
                title { (label) }
                @for part in 0..=2_u64 {
                    @let y = high * float(part) / 2.0;
                    line.grid x1="0" y1=(px(y)) x2="660" y2=(px(y)) {}
                }
                @for (at, (good, bad, _)) in (0_u32..).zip(slots) {
                    @let x = f64::from(at) * width + 1.0;
                    @if good > 0 {
                        rect.succeeded x=(px(x)) y=(px(high - height(good))) width=(px(width - 2.0)) height=(px(height(good))) {}
                    }
                    @if bad > 0 {
                        rect.dead x=(px(x)) y=(px(high - height(good) - height(bad))) width=(px(width - 2.0)) height=(px(height(bad))) {}
                    }
                }
                @if failed > 0 {
                    polyline.failed points=(points.join(" ")) {}
                }
            }
            div.x aria-hidden="true" { (time::clock(begin)) (time::clock(end)) }
        }
        ul.legend {
            li { span.key.succeeded {} (thousands(good)) " succeeded" }
            li { span.key.dead {} (thousands(bad)) " failed for good" }
            li { span.key.line {} (count(failed, "attempt")) " failed" }
        }
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn nice(most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for step in [1, 2, 5] {
            let nice = power.saturating_mul(step);
            if nice >= most {
                return nice;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn short(number: u64) -> String {
    match number {
        0..10_000 => thousands(number),
        10_000..10_000_000 => format!("{}k", thousands(number / 1_000)),
        _ => format!("{}M", thousands(number / 1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_numbers_do_not_panic() {
        let mut counts = Counts::default();
        states(&counts, true);
        counts.dead = u64::MAX / 8;
        counts.pending = 1;
        let shown = states(&counts, false).into_string();
        assert!(shown.contains("class=\"pending\""), "{shown}");
        assert_eq!((nice(0), nice(3), nice(7), nice(11)), (1, 5, 10, 20));
        assert!(nice(u64::MAX) >= u64::MAX / 2);
    }

    #[test]
    fn hours_stand_where_they_were() {
        let now: Timestamp = "2026-11-21T08:30:00Z".parse().unwrap();
        let hour = |text: &str, count| HourCount::new(text.parse().unwrap(), count);
        let old = hour("2026-11-19T08:00:00Z", 9);
        let later = hour("2026-11-21T09:00:00Z", 9);
        let this = hour("2026-11-21T08:00:00Z", 2);
        let shown = sparkline(&[old, this, later], now).into_string();
        assert_eq!(shown.matches("<rect").count(), 1, "{shown}");
        assert!(shown.contains("x=\"92\"") && shown.contains("2 in the last 24 hours"), "{shown}");
    }
}
