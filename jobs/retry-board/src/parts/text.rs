//! Untrusted text, made safe and readable: control characters are shown rather than obeyed.

use maud::{Markup, html};
use retry_workflow::Job;
use retry_workflow::sanitize::{Lines, OneLine};
use retry_workflow::words::{argument, thousands};

use crate::data::bounded::Bounded;

/// On one line.
pub(crate) fn line(text: &str) -> String {
    OneLine(text).to_string()
}

/// The name of a job, an item or a task. A short one is not broken at its hyphens.
pub(crate) fn name(text: &str) -> Markup {
    let name = line(text);
    html! { span.whole[name.chars().count() <= 24] { (name) } }
}

/// Describes how to resume a job that no process works on. `command` is the command that works on
/// its store.
pub(crate) fn how_to_resume(command: &str, job: &Job) -> String {
    if job.origin.as_ref().is_some_and(|origin| origin.get("file").is_some()) {
        format!("{command} resume {}", argument(&job.id))
    } else {
        "run its program again".to_owned()
    }
}

/// A text of several lines in its own box, with a note on how much is left out.
pub(crate) fn block(text: &Bounded, label: &str) -> Markup {
    html! {
        // Focusable, so that it can be scrolled without a mouse.
        pre.block tabindex="0" role="group" aria-label=(label) { (Lines(&text.text).to_string()) }
        (left_out(text))
    }
}

pub(crate) fn left_out(text: &Bounded) -> Markup {
    html! {
        @if text.left_out > 0 {
            p.muted.left-out data-left-out=(text.left_out) {
                (thousands(u64::try_from(text.left_out).unwrap_or(u64::MAX)))
                " more bytes are left out: `retry-workflow dlq show`, or an export, has all of it"
            }
        }
    }
}
