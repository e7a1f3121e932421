//! The buttons of actions on jobs and dead letters.

use maud::{Markup, html};

use crate::actions::ACTIONS;
use crate::actions::action::{Action, Target};
use crate::data::job::JobPage;
use crate::data::letters::FilterFields;
use crate::parts::form;
use crate::request::RequestContext;

/// The buttons for a job.
pub(crate) fn of_job(context: &RequestContext, page: &JobPage) -> Markup {
    let job = FilterFields { job: Some(page.job.id.clone()), ..FilterFields::default() };
    html! {
        @if context.shows_forms() {
            div.actions {
                @for action in ACTIONS.iter().filter(|action| (action.is_for)(page)) {
                    (button(context, action, &job))
                }
            }
        }
    }
}

/// The actions on items of this kind.
pub(crate) fn on(target: Target) -> impl Iterator<Item = &'static Action> {
    ACTIONS.iter().filter(move |action| action.target == target)
}

/// The buttons for the items of this kind that a filter selects.
pub(crate) fn of_items(context: &RequestContext, target: Target, filter: &FilterFields) -> Markup {
    html! { @for action in on(target) { (button(context, action, filter)) } }
}

/// A link to the confirmation of an action, or a form that acts at once.
fn button(context: &RequestContext, action: &Action, filter: &FilterFields) -> Markup {
    let Action { name, label, style, .. } = action;
    html! {
        @if action.confirmation.is_some() {
            a id=(name) class={ "button " (style) } href=(filter.address(name).text()) { (label) "…" }
        } @else {
            form method="post" action=(name) {
                (form::proof(context)) (form::hidden(filter.set()))
                button id=(name) class=[(!style.is_empty()).then_some(style)] { (label) }
            }
        }
    }
}
