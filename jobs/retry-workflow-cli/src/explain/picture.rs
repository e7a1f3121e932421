//! Waits as a picture: a chart for each policy, side by side on one scale.

use std::time::Duration;

use retry_runtime::Policy;

use super::svg::{Anchor, Font, Paint, Svg, number};
use super::table::{end, short};
use super::walk::Walk;
use crate::terminal::text::cut;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 128.0;
const BOTTOM: f64 = HEIGHT - 68.0;
/// The space between two charts.
const GAP: f64 = 22.0;

/// The waits of a policy, with texts above and below them.
pub(super) struct Chart {
    pub(super) heading: &'static str,
    pub(super) about: &'static str,
    pub(super) walk: Walk,
    pub(super) caption: String,
}

/// A standalone SVG of the waits before each attempt.
pub(crate) fn picture(policy: &Policy) -> String {
    let walk = Walk::new(policy);
    let caption = end(&walk);
    let description = format!("{policy}; {caption}");
    let chart = Chart { heading: "", about: "", walk, caption };
    draw("Waits before each attempt", &policy.to_string(), &description, &[chart])
}

/// A standalone SVG of these charts.
pub(super) fn draw(title: &str, heading: &str, description: &str, charts: &[Chart]) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT, title, description);
    svg.text(24.0, 34.0, Font::new(14.0, Paint::Ink).bold(), &cut(heading, 120));
    let axis = Axis::up_to(charts.iter().map(|chart| chart.walk.longest()).max());
    axis.label(&mut svg);
    if let Some(chart) = charts.first() {
        legend(&chart.walk, &mut svg);
    }
    let number = f64::from(u32::try_from(charts.len()).unwrap_or(u32::MAX));
    let width = (RIGHT - LEFT + GAP) / number;
    let mut left = LEFT;
    for chart in charts {
        chart.draw((left, left + width - GAP), &axis, &mut svg);
        left += width;
    }
    svg.finish()
}

fn legend(walk: &Walk, svg: &mut Svg) {
    let mut x = 24.0;
    let mut entry = |paint, text: &str, width: f64| {
        svg.rect(x, 52.0, 12.0, 12.0, 2.0, paint);
        svg.text(x + 18.0, 62.0, Font::new(12.0, Paint::Muted), text);
        x += 18.0 + width + 22.0;
    };
    if walk.jitter {
        entry(Paint::Bar, "shortest wait", 82.0);
        entry(Paint::Spread, "with jitter up to", 100.0);
    } else {
        entry(Paint::Bar, "wait", 28.0);
    }
    if let Some(bound) = walk.bound
        && walk.waits.iter().any(|wait| wait.perhaps)
    {
        entry(
            Paint::Unsure,
            &format!("if the {} of {} lasts", bound.word, short(bound.limit)),
            180.0,
        );
    }
}

impl Chart {
    fn draw(&self, (left, right): (f64, f64), axis: &Axis, svg: &mut Svg) {
        svg.text(left, 92.0, Font::new(14.0, Paint::Ink).bold(), self.heading);
        svg.text(left, 110.0, Font::new(11.0, Paint::Muted), self.about);
        for (value, y) in axis.ticks() {
            let paint = if value > 0.0 { Paint::Grid } else { Paint::Muted };
            svg.line((left, y), (right, y), paint);
        }
        self.bars((left, right), axis, svg);
        let middle = f64::midpoint(left, right);
        let label = Font::new(11.0, Paint::Muted).anchor(Anchor::Middle);
        svg.text(middle, BOTTOM + 36.0, label, "attempt");
        svg.text(middle, BOTTOM + 54.0, label, &cut(&self.caption, 160));
    }

    fn bars(&self, (left, right): (f64, f64), axis: &Axis, svg: &mut Svg) {
        let waits = &self.walk.waits;
        let count = f64::from(u32::try_from(waits.len()).unwrap_or(u32::MAX)).max(1.0);
        let slot = (right - left) / count;
        let bar = (slot * 0.66).min(56.0);
        let mut x = left + slot / 2.0;
        for wait in waits {
            // The whole range first, then the shortest wait on top of it.
            let (spread, sure) = if wait.perhaps {
                (Paint::Unsure, Paint::Unsure)
            } else {
                (Paint::Spread, Paint::Bar)
            };
            for (height, paint) in [(wait.longest, spread), (wait.shortest, sure)] {
                let y = axis.y(height);
                if BOTTOM - y > 0.0 {
                    svg.rect(x - bar / 2.0, y, bar, BOTTOM - y, 2.0, paint);
                }
            }
            let longest = axis.value(wait.longest);
            let value = if self.walk.jitter && slot >= 72.0 {
                format!("{}–{longest}", axis.value(wait.shortest))
            } else {
                longest
            };
            let font = Font::new(10.0, Paint::Ink).anchor(Anchor::Middle);
            svg.text(x, axis.y(wait.longest) - 6.0, font, &value);
            let font = Font::new(11.0, Paint::Muted).anchor(Anchor::Middle);
            svg.text(x, BOTTOM + 18.0, font, &wait.attempt.to_string());
            x += slot;
        }
    }
}

/// An axis from zero to the longest wait, in a unit that makes the numbers readable.
struct Axis {
    unit: &'static str,
    /// Seconds per unit.
    scale: f64,
    /// In units.
    step: f64,
    top: f64,
}

impl Axis {
    fn up_to(longest: Option<Duration>) -> Self {
        let seconds = longest.unwrap_or_default().as_secs_f64();
        let (unit, scale) = [
            ("days", 86_400.0),
            ("hours", 3_600.0),
            ("minutes", 60.0),
            ("seconds", 1.0),
            ("milliseconds", 1e-3),
        ]
        .into_iter()
        .find(|(_, scale)| seconds >= 2.0 * scale)
        .unwrap_or(("microseconds", 1e-6));
        let most = (seconds / scale).max(1e-9);
        // Four or five steps, each 1, 2 or 5 times a power of ten.
        let rough = most / 4.0;
        let power = 10.0_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|nice| nice * power)
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * power);
        Self { unit, scale, step, top: (most / step * 0.999).ceil().max(1.0) * step }
    }

    /// The values at its grid lines, in units, with their y coordinates.
    fn ticks(&self) -> impl Iterator<Item = (f64, f64)> {
        let values = (0..=10_u32).map(|i| f64::from(i) * self.step);
        values
            .take_while(|value| *value <= self.top * 1.001)
            .map(|value| (value, BOTTOM - value / self.top * (BOTTOM - TOP)))
    }

    fn y(&self, wait: Duration) -> f64 {
        let share = (wait.as_secs_f64() / self.scale / self.top).clamp(0.0, 1.0);
        BOTTOM - share * (BOTTOM - TOP)
    }

    /// A wait in this unit, with few digits.
    fn value(&self, wait: Duration) -> String {
        let value = wait.as_secs_f64() / self.scale;
        if value >= 100.0 { format!("{value:.0}") } else { number((value * 10.0).round() / 10.0) }
    }

    fn label(&self, svg: &mut Svg) {
        let label = Font::new(12.0, Paint::Muted);
        for (value, y) in self.ticks() {
            svg.text(LEFT - 8.0, y + 4.0, label.anchor(Anchor::End), &number(value));
        }
        let middle = f64::midpoint(TOP, BOTTOM);
        svg.upright(20.0, middle, label.anchor(Anchor::Middle), &format!("wait in {}", self.unit));
    }
}
