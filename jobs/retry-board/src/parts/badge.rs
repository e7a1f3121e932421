//! A badge for a state: a word with a symbol and a colour.

use maud::{Markup, html};
use retry_workflow::ItemState;
use retry_workflow::store::AttemptOutcome;

use super::text::line;

/// The kind of a state, shown as a colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    Good,
    Bad,
    Busy,
    Waiting,
    Quiet,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "badge good",
            Self::Bad => "badge bad",
            Self::Busy => "badge busy",
            Self::Waiting => "badge waiting",
            Self::Quiet => "badge quiet",
        }
    }
}

pub(crate) fn badge(tone: Tone, word: &str) -> Markup {
    html! { span class=(tone.class()) data-state=(word) { (word) } }
}

/// The badge for an item or a task.
pub(crate) fn item(state: ItemState) -> Markup {
    let tone = match state {
        ItemState::Pending => Tone::Waiting,
        ItemState::Leased => Tone::Busy,
        ItemState::Succeeded => Tone::Good,
        ItemState::Dead => Tone::Bad,
        ItemState::Skipped => Tone::Quiet,
    };
    badge(tone, state.as_str())
}

/// The badge for a job.
pub(crate) fn job(status: &str, dead: u64) -> Markup {
    let tone = match (status, dead) {
        ("running", _) => Tone::Busy,
        ("finished", 0) => Tone::Good,
        ("finished", _) => Tone::Waiting,
        _ => Tone::Bad,
    };
    badge(tone, status)
}

pub(crate) fn outcome(outcome: AttemptOutcome) -> Markup {
    let tone = match outcome {
        AttemptOutcome::Succeeded => Tone::Good,
        AttemptOutcome::Postponed => Tone::Waiting,
        AttemptOutcome::Failed | AttemptOutcome::Lost => Tone::Bad,
    };
    badge(tone, outcome.as_str())
}

/// The badge for a breaker.
pub(crate) fn breaker(state: &str) -> Markup {
    let tone = match state {
        "closed" => Tone::Good,
        "open" => Tone::Bad,
        _ => Tone::Waiting,
    };
    badge(tone, state)
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
