//! The confirmation pages: what an action would do, and the form that performs it.

use axum::response::Response;
use maud::{Markup, html};
use retry_workflow::words::count;

use crate::actions::letters::confirmation;
use crate::actions::overrides::OverrideForm;
use crate::data::letters::FilterFields;
use crate::parts::form;
use crate::parts::layout::{self, NavSection, Page};
use crate::parts::text::line;
use crate::request::RequestContext;
use crate::request::query::Address;

fn page(context: &RequestContext, title: &str, section: NavSection, main: Markup) -> Response {
    layout::page(context, &Page { title, section, live: None, notice: None, main })
}

/// Lists what is selected.
fn selection(filter: &FilterFields) -> Markup {
    html! {
        @if filter.is_empty() {
            p { "Every dead letter in the store." }
        } @else {
            dl.lines #meant { @for (name, value) in filter.set() { dt { (name) } dd { (line(&value)) } } }
        }
    }
}

/// Renders the explicit "all" that is required without a filter.
fn all(filter: &FilterFields) -> Markup {
    html! { @if filter.is_empty() { input type="hidden" name="all" value="true"; } }
}

pub(crate) fn redrive(context: &RequestContext, filter: &FilterFields, number: u64) -> Response {
    let main = html! {
        h1 { "Re-drive" }
        section.panel {
            p #would { strong { (count(number, "dead letter")) } " will be re-driven: each starts a new run with all of its attempts and a fresh budget, and keeps its history." }
            (selection(filter))
            @if number > 0 {
                form.stack #form method="post" action="re-drive" {
                    (form::proof(context)) (form::hidden(filter.set())) (all(filter))
                    div.field { label for="rate" { "Rate " span.muted { "(empty: all at once)" } } input #rate name="rate" placeholder="10/s" autocomplete="off"; }
                    div.field { label for="max" { "At most " span.muted { "(empty: all)" } } input #max name="max" inputmode="numeric" placeholder=(number) autocomplete="off"; }
                    div.buttons { button.primary #submit { "Re-drive " (count(number, "dead letter")) } a href=(filter.address("dead-letters").text()) { "Back" } }
                }
            } @else {
                p { a href="dead-letters" { "All dead letters" } }
            }
        }
    };
    page(context, "Re-drive", NavSection::Letters, main)
}

pub(crate) fn purge(context: &RequestContext, filter: &FilterFields, number: u64) -> Response {
    let main = html! {
        h1 { "Purge" }
        section.panel {
            p #would { strong { (count(number, "dead letter")) } " will be purged for good: their payloads, histories and failures are deleted. This cannot be undone." }
            (selection(filter))
            @if number > 0 {
                form.stack #form method="post" action="purge" {
                    (form::proof(context)) (form::hidden(filter.set())) (all(filter))
                    div.field {
                        label for="confirm" { "Type " code { (confirmation(number)) } " to confirm" }
                        input #confirm name="confirm" required autocomplete="off";
                    }
                    div.buttons { button.danger #submit { "Purge for good" } a href=(filter.address("dead-letters").text()) { "Back" } }
                }
            } @else {
                p { a href="dead-letters" { "All dead letters" } }
            }
        }
    };
    page(context, "Purge", NavSection::Letters, main)
}

pub(crate) fn overriding(context: &RequestContext, change: &OverrideForm) -> Response {
    let [name, key, value] = change.texts();
    let function = if name == "*" { "all functions" } else { name };
    let main = html! {
        h1 { "Override " (line(function)) }
        section.panel {
            p #would { code { (line(key)) } " of " strong { (line(function)) } " will be " code { (line(value)) } " from the next failure on." }
            form.stack #form method="post" action="override" {
                (form::proof(context)) (form::hidden([("name", name), ("key", key), ("value", value)]))
                div.buttons { button.primary #submit { "Override " (line(function)) } a href="policies" { "Back" } }
            }
        }
    };
    page(context, "Override", NavSection::Policies, main)
}

pub(crate) fn cancel(context: &RequestContext, job: &str, unfinished: u64) -> Response {
    let main = html! {
        h1 { "Cancel " (line(job)) }
        section.panel {
            p #would { strong { (count(unfinished, "item")) } " unfinished: those in progress run to their end, the others are skipped." }
            form.stack #form method="post" action="cancel" {
                (form::proof(context)) (form::hidden([("job", job)]))
                div.buttons { button.danger #submit { "Cancel the job" } a href=(Address::new("job").with("id", job).text()) { "Back" } }
            }
        }
    };
    page(context, "Cancel", NavSection::Jobs, main)
}
