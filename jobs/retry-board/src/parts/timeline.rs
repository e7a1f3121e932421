//! The attempts of an item as a timeline: how long each took, and the waits between them.

use std::time::Duration;

use maud::{Markup, html};
use retry_workflow::store::AttemptOutcome;
use retry_workflow::words::px;

use super::time::short;
use crate::data::item::AttemptLine;

/// The attempts of one run on one line.
pub(crate) fn run(attempts: &[&AttemptLine]) -> Markup {
    let whole: Duration = attempts
        .iter()
        .map(|one| one.took().saturating_add(one.waited()))
        .fold(Duration::ZERO, Duration::saturating_add);
    let whole = whole.as_secs_f64().max(1e-6);
    // Give every attempt a minimum width; the total is scaled to fit.
    let width = |time: Duration, least: f64| (time.as_secs_f64() / whole * 700.0).max(least);
    let mut at = 0.0;
    let mut parts = Vec::new();
    for one in attempts {
        let class = match one.outcome {
            AttemptOutcome::Succeeded => "succeeded",
            AttemptOutcome::Failed => "dead",
            AttemptOutcome::Lost => "lost",
            AttemptOutcome::Postponed | AttemptOutcome::Redriven => "wait",
        };
        let took = width(one.took(), 5.0);
        let title = format!(
            "attempt {}: {} after {}",
            one.attempt,
            one.outcome.as_str(),
            short(one.took())
        );
        parts.push((class, at, took, title));
        at += took;
        if !one.waited().is_zero() {
            let waited = width(one.waited(), 3.0);
            parts.push(("wait", at, waited, format!("waited {}", short(one.waited()))));
            at += waited;
        }
    }
    let scale = if at > 0.0 { 700.0 / at } else { 1.0 };
    let label = parts.iter().map(|(.., title)| title.as_str()).collect::<Vec<_>>().join("; ");
    html! {
        svg.timeline viewBox="0 0 700 24" preserveAspectRatio="none" role="img" aria-label=(label) {
            line.axis x1="0" y1="12" x2="700" y2="12" {}
            @for (class, x, width, title) in &parts {
                @let (y, height) = if *class == "wait" { ("10", "4") } else { ("3", "18") };
                rect class=(class) x=(px(x * scale)) y=(y) width=(px(width * scale)) height=(height) {
                    title { (title) }
                }
            }
        }
    }
}
