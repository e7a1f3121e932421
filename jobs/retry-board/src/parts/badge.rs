//! A badge for a state: a word with a symbol and a colour.

use maud::{Markup, html};
use retry_workflow::ItemState;
use retry_workflow::store::AttemptOutcome;

use super::text::line;

const GOOD: &str = "badge good";
pub(crate) const BAD: &str = "badge bad";
const BUSY: &str = "badge busy";
pub(crate) const WAITING: &str = "badge waiting";
pub(crate) const QUIET: &str = "badge quiet";

/// A word with the class of its colour.
pub(crate) fn badge(class: &str, word: &str) -> Markup {
    html! { span class=(class) data-state=(word) { (word) } }
}

/// The badge for an item or a task.
pub(crate) fn item(state: ItemState) -> Markup {
    let class = match state {
        ItemState::Pending => WAITING,
        ItemState::Leased => BUSY,
        ItemState::Succeeded => GOOD,
        ItemState::Dead => BAD,
        ItemState::Skipped => QUIET,
    };
    badge(class, state.as_str())
}

/// The badge for a job.
pub(crate) fn job(status: &str, dead: u64) -> Markup {
    let class = match (status, dead) {
        ("running", _) => BUSY,
        ("finished", 0) => GOOD,
        ("finished", _) => WAITING,
        _ => BAD,
    };
    badge(class, status)
}

pub(crate) fn outcome(outcome: AttemptOutcome) -> Markup {
    let class = match outcome {
        AttemptOutcome::Succeeded => GOOD,
        AttemptOutcome::Postponed | AttemptOutcome::Redriven => WAITING,
        AttemptOutcome::Failed | AttemptOutcome::Lost => BAD,
    };
    badge(class, outcome.as_str())
}

/// The badge for a breaker.
pub(crate) fn breaker(state: &str) -> Markup {
    let class = match state {
        "closed" => GOOD,
        "open" => BAD,
        _ => WAITING,
    };
    badge(class, state)
}

/// The class of a failure. One that is of several kinds may continue on the next line after a `+`.
pub(crate) fn class(name: &str) -> Markup {
    let mut kinds = name.split_inclusive('+').peekable();
    html! {
        span.class {
            @while let Some(kind) = kinds.next() { (line(kind)) @if kinds.peek().is_some() { wbr; } }
        }
    }
}
