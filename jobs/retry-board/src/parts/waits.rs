//! The waits of a policy as bars: solid for the shortest wait, pale up to the longest that jitter
//! allows.

use std::time::Duration;

use maud::{Markup, html};
use retry_runtime::Policy;
use retry_workflow::walk::{Wait, Walk, WalkEnd};
use retry_workflow::words::px;

use super::time::short;

/// The number of waits that are drawn.
const DRAWN: usize = 12;

/// A chart of the wait before each attempt, if all attempts fail.
pub(crate) fn chart(policy: &Policy) -> Markup {
    let walk = Walk::new(policy, DRAWN);
    let (waits, longest) = (&walk.waits, walk.longest());
    if waits.is_empty() {
        return html! { p.muted { "never waits" } };
    }
    let top = longest.as_secs_f64().max(1e-9);
    let label = waits.iter().map(|Wait { attempt, shortest, longest, .. }| {
        if shortest == longest {
            format!("{} before attempt {attempt}", short(*longest))
        } else {
            format!("{} to {} before attempt {attempt}", short(*shortest), short(*longest))
        }
    });
    let label = label.collect::<Vec<_>>().join(", ");
    html! {
        svg.waits viewBox="0 0 240 64" role="img" aria-label=(label) {
            title { (label) }
            line.axis x1="0" y1="50.5" x2="240" y2="50.5" {}
            @for (at, Wait { attempt, shortest, longest, .. }) in (0_u32..).zip(waits) {
                @let x = f64::from(at) * 20.0 + 3.0;
                @let height = |wait: &Duration| (wait.as_secs_f64() / top * 44.0).max(1.0);
                rect.spread x=(px(x)) y=(px(50.0 - height(longest))) width="14" height=(px(height(longest))) rx="1.5" {}
                rect.bar x=(px(x)) y=(px(50.0 - height(shortest))) width="14" height=(px(height(shortest))) rx="1.5" {}
                text.axis x=(px(x + 7.0)) y="61" text-anchor="middle" { (attempt) }
            }
        }
        p.muted.small { "longest wait " (short(longest)) @if matches!(walk.end, WalkEnd::More(_)) { ", and so on" } }
    }
}
