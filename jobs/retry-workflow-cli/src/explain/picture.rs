//! Waits as a picture: a chart for each policy, side by side on one scale. The picture does not
//! depend on its style sheet, which only switches to dark colours for readers who prefer them.

use std::time::Duration;

use maud::{Markup, html};
use retry_runtime::Policy;
use retry_workflow::walk::{Wait, Walk};
use retry_workflow::words::px;

use super::SHOWN;
use super::table::{end, short};
use crate::terminal::text::cut;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 128.0;
const BOTTOM: f64 = HEIGHT - 68.0;
/// The space between two charts.
const GAP: f64 = 22.0;

/// A kind of drawn elements: its class, and its colours on a light and on a dark page.
#[derive(Clone, Copy)]
struct Paint(&'static str, &'static str, &'static str);

const PAPER: Paint = Paint("paper", "#ffffff", "#0d1117");
const INK: Paint = Paint("ink", "#1f2328", "#f0f6fc");
const MUTED: Paint = Paint("muted", "#59636e", "#9198a1");
const GRID: Paint = Paint("grid", "#d1d9e0", "#3d444d");
const BAR: Paint = Paint("bar", "#0969da", "#4493f8");
const SPREAD: Paint = Paint("spread", "#a5cdf7", "#1f4b82");
const UNSURE: Paint = Paint("unsure", "#c8ced5", "#4b535d");

/// The waits of a policy, with texts above and below them.
pub(super) struct Chart {
    pub(super) heading: &'static str,
    pub(super) about: &'static str,
    pub(super) walk: Walk,
    pub(super) caption: String,
}

/// A standalone SVG of the waits before each attempt.
pub(crate) fn picture(policy: &Policy) -> String {
    let walk = Walk::new(policy, SHOWN);
    let caption = end(&walk);
    let description = format!("{policy}; {caption}");
    let chart = Chart { heading: "", about: "", walk, caption };
    draw("Waits before each attempt", &policy.to_string(), &description, &[chart])
}

/// A standalone SVG of these charts.
pub(super) fn draw(title: &str, heading: &str, description: &str, charts: &[Chart]) -> String {
    let axis = Axis::up_to(charts.iter().map(|chart| chart.walk.longest()).max());
    let width = (RIGHT - LEFT + GAP) / f64::from(u32::try_from(charts.len()).unwrap_or(u32::MAX));
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {HEIGHT}"))
            width=(WIDTH) height=(HEIGHT) role="img" aria-labelledby="title desc"
            font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" {
            title #title { (title) } "\n"
            desc #desc { (description) } "\n"
            style {
                "@media (prefers-color-scheme: dark) {\n"
                @for Paint(class, _, dark) in [PAPER, INK, MUTED, GRID, BAR, SPREAD, UNSURE] {
                    "  ." (class) " { fill: " (dark) "; }\n"
                }
                "}"
            }
            rect.paper width=(WIDTH) height=(HEIGHT) rx="6" fill=(PAPER.1) {} "\n"
            (bold(24.0, 34.0, cut(heading, 120)))
            (axis.labels())
            @if let Some(chart) = charts.first() { (legend(&chart.walk)) }
            @for (n, chart) in (0_u32..).zip(charts) {
                @let left = LEFT + f64::from(n) * width;
                (chart.draw(left, left + width - GAP, &axis))
            }
        }
        "\n"
    };
    picture.into_string()
}

fn rect(paint: Paint, (x, y): (f64, f64), (width, height): (f64, f64)) -> Markup {
    let [x, y, width, height] = [x, y, width, height].map(px);
    html! { rect class=(paint.0) x=(x) y=(y) width=(width) height=(height) rx="2" fill=(paint.1) {} "\n" }
}

/// A text at the point of its anchor: `start`, `middle` or `end`.
fn text(paint: Paint, size: u8, anchor: &str, (x, y): (f64, f64), text: &str) -> Markup {
    html! {
        text class=(paint.0) x=(px(x)) y=(px(y)) font-size=(size) text-anchor=(anchor)
            fill=(paint.1) { (text) } "\n"
    }
}

fn bold(x: f64, y: f64, heading: impl AsRef<str>) -> Markup {
    html! { g font-weight="600" { (text(INK, 14, "start", (x, y), heading.as_ref())) } }
}

fn legend(walk: &Walk) -> Markup {
    let mut entries = if walk.jitter {
        vec![(BAR, "shortest wait".to_owned()), (SPREAD, "with jitter up to".to_owned())]
    } else {
        vec![(BAR, "wait".to_owned())]
    };
    if let Some(bound) = walk.bound
        && walk.waits.iter().any(|wait| wait.perhaps)
    {
        entries.push((UNSURE, format!("if the {} of {} lasts", bound.word, short(bound.limit))));
    }
    html! {
        @for (n, (paint, what)) in (0_u32..).zip(entries) {
            @let x = 24.0 + f64::from(n) * 140.0;
            (rect(paint, (x, 52.0), (12.0, 12.0)))
            (text(MUTED, 12, "start", (x + 18.0, 62.0), &what))
        }
    }
}

impl Chart {
    fn draw(&self, left: f64, right: f64, axis: &Axis) -> Markup {
        let waits = &self.walk.waits;
        let count = f64::from(u32::try_from(waits.len()).unwrap_or(u32::MAX)).max(1.0);
        let slot = (right - left) / count;
        let middle = f64::midpoint(left, right);
        html! {
            (bold(left, 92.0, self.heading))
            (text(MUTED, 11, "start", (left, 110.0), self.about))
            @for (value, y) in axis.ticks() {
                (rect(if value > 0.0 { GRID } else { MUTED }, (left, y - 0.5), (right - left, 1.0)))
            }
            @for (n, wait) in (0_u32..).zip(waits) {
                (self.bar(wait, left + slot * (f64::from(n) + 0.5), slot, axis))
            }
            (text(MUTED, 11, "middle", (middle, BOTTOM + 36.0), "attempt"))
            (text(MUTED, 11, "middle", (middle, BOTTOM + 54.0), &cut(&self.caption, 160)))
        }
    }

    fn bar(&self, wait: &Wait, x: f64, slot: f64, axis: &Axis) -> Markup {
        let width = (slot * 0.66).min(56.0);
        let (spread, sure) = if wait.perhaps { (UNSURE, UNSURE) } else { (SPREAD, BAR) };
        let longest = axis.value(wait.longest);
        let value = if self.walk.jitter && slot >= 72.0 {
            format!("{}–{longest}", axis.value(wait.shortest))
        } else {
            longest
        };
        // The whole range first, then the shortest wait on top of it.
        html! {
            @for (paint, height) in [(spread, wait.longest), (sure, wait.shortest)] {
                @let y = axis.y(height);
                (rect(paint, (x - width / 2.0, y), (width, BOTTOM - y)))
            }
            (text(INK, 10, "middle", (x, axis.y(wait.longest) - 6.0), &value))
            (text(MUTED, 11, "middle", (x, BOTTOM + 18.0), &wait.attempt.to_string()))
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
        if value >= 100.0 { format!("{value:.0}") } else { px((value * 10.0).round() / 10.0) }
    }

    fn labels(&self) -> Markup {
        let (x, middle) = (20.0, f64::midpoint(TOP, BOTTOM));
        html! {
            @for (value, y) in self.ticks() {
                (text(MUTED, 12, "end", (LEFT - 8.0, y + 4.0), &px(value)))
            }
            g transform=(format!("rotate(-90 {x} {middle})")) {
                (text(MUTED, 12, "middle", (x, middle), &format!("wait in {}", self.unit)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        let svg = draw("</title><script>", "\"<b>\"", "a & b", &[]);
        assert!(svg.contains("&lt;/title&gt;&lt;script&gt;") && svg.contains("a &amp; b<"));
        assert!(svg.contains("y=\"34\"") && svg.contains("&quot;&lt;b&gt;&quot;"));
    }
}
