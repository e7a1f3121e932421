//! The confirmation pages: what an action would do, and the form that performs it.

use axum::response::Response;
use maud::{Markup, html};
use retry_workflow::words::count;

use crate::actions::action::{Action, Confirmation, Target};
use crate::actions::overrides::OverrideForm;
use crate::data::letters::FilterFields;
use crate::parts::form;
use crate::parts::layout::{self, NavSection, Page};
use crate::parts::text::line;
use crate::request::RequestContext;

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

/// The page of an action that would be performed on this number of items.
pub(crate) fn action(
    context: &RequestContext,
    (action, confirmation): (&Action, &Confirmation),
    filter: &FilterFields,
    number: u64,
) -> Response {
    let label = action.label;
    let (title, meant, submit, section) = match (action.target, &filter.job) {
        (Target::Job, Some(job)) => {
            let title = format!("{label} {}", line(job));
            (title, count(number, "item"), format!("{label} the job"), NavSection::Jobs)
        }
        (target, _) => {
            let letters =
                count(number, if target == Target::Items { "item" } else { "dead letter" });
            (label.to_owned(), letters.clone(), format!("{label} {letters}"), NavSection::Letters)
        }
    };
    let main = html! {
        h1 { (title) }
        section.panel {
            p #would { strong { (meant) } " " (confirmation.effect) }
            @if action.target != Target::Job { (selection(filter)) }
            @if number > 0 || action.target == Target::Job {
                form.stack #form method="post" action=(action.name) {
                    (form::proof(context)) (form::hidden(filter.set())) (all(filter))
                    ((confirmation.fields)(number))
                    div.buttons {
                        button class=(action.style) #submit { (submit) }
                        a href=(action.back(filter).text()) { "Back" }
                    }
                }
            } @else {
                p { a href="dead-letters" { "All dead letters" } }
            }
        }
    };
    page(context, label, section, main)
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
