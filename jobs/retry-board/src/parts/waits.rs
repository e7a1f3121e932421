//! The waits of a policy as bars: solid for the shortest wait, pale up to the longest that jitter
//! allows.

use std::time::Duration;

use maud::{Markup, html};
use retry_runtime::Policy;

use super::chart::px;
use super::time::short;

/// The number of waits that are drawn.
const DRAWN: u32 = 12;

/// A chart of the wait before each attempt, if all attempts fail.
pub(crate) fn chart(policy: &Policy) -> Markup {
    let mut waits: Vec<(u32, Duration, Duration)> = Vec::new();
    let (mut last, mut sum) = (None, Duration::ZERO);
    for n in 1..=DRAWN {
        if !policy.allows_after(n) {
            break;
        }
        let (shortest, longest) = policy.wait_interval(n, last);
        sum = sum.saturating_add(shortest);
        if policy.wait_bound().is_some_and(|(_, limit)| sum > limit) {
            break;
        }
        waits.push((n + 1, shortest, longest));
        last = Some(longest);
    }
    if waits.is_empty() {
        return html! { p.muted { "never waits" } };
    }
    let more = policy.allows_after(DRAWN + 1) && waits.len() == DRAWN as usize;
    let top = waits.iter().map(|wait| wait.2).max().unwrap_or_default().as_secs_f64().max(1e-9);
    let label = waits.iter().map(|(attempt, shortest, longest)| {
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
            @for (at, (attempt, shortest, longest)) in (0_u32..).zip(&waits) {
                @let x = f64::from(at) * 20.0 + 3.0;
                @let height = |wait: &Duration| (wait.as_secs_f64() / top * 44.0).max(1.0);
                rect.spread x=(px(x)) y=(px(50.0 - height(longest))) width="14" height=(px(height(longest))) rx="1.5" {}
                rect.bar x=(px(x)) y=(px(50.0 - height(shortest))) width="14" height=(px(height(shortest))) rx="1.5" {}
                text.axis x=(px(x + 7.0)) y="61" text-anchor="middle" { (attempt) }
            }
        }
        p.muted.small { "longest wait " (short(waits.iter().map(|wait| wait.2).max().unwrap_or_default())) @if more { ", and so on" } }
    }
}
