//! An item: its payload, its output or failure, and every attempt of every run.

use axum::response::Response;
use maud::{Markup, html};
use retry_workflow::ItemState;
use retry_workflow::store::AttemptOutcome;
use retry_workflow::words::count;

use super::{answer, buttons};
use crate::actions::action::Target;
use crate::data::item::{AttemptLine, FailureText, ItemPage};
use crate::data::letters::FilterFields;
use crate::parts::layout::{NavSection, Page};
use crate::parts::text::{block, line, name};
use crate::parts::{badge, time, timeline};
use crate::request::RequestContext;
use crate::request::query::Address;

pub(crate) fn page(context: &RequestContext, item: &ItemPage, notice: Option<String>) -> Response {
    answer(context, item, || Page {
        title: "Item",
        section: NavSection::Letters,
        live: Some(Address::new("live").with("topic", &format!("job/{}", item.job)).text()),
        notice,
        main: main(context, item),
    })
}

fn main(context: &RequestContext, item: &ItemPage) -> Markup {
    let here = FilterFields {
        job: Some(item.job.clone()),
        item: Some(item.id.clone()),
        state: Some(item.state.as_str().to_owned()),
        ..FilterFields::default()
    };
    html! {
        nav.crumbs aria-label="Where this is" {
            a href="jobs" { "Jobs" } " / "
            a href=(Address::new("job").with("id", &item.job).text()) { (line(&item.job)) }
        }
        div.title {
            h1 { "Item " (name(&item.id)) }
            (badge::item(item.state))
            @if let Some(target) = Target::of(item.state) && context.shows_forms() && item.payload.is_some() {
                div.actions { (buttons::of_items(context, target, &here)) }
            }
        }
        dl.facts {
            div { dt { "run" } dd { (item.run) } }
            div { dt { "attempt" } dd { (item.attempt) } }
            div { dt { "correlation id" } dd { code { (line(&item.correlation)) } } }
            @if item.priority != 0 { div { dt { "priority" } dd { (item.priority) } } }
            @if let Some(step) = &item.failed_step { div { dt { "failed step" } dd #failed-step { (line(step)) } } }
            @if let Some(ended) = item.ended { div { dt { "ended" } dd { (time::at(ended)) } } }
            @if let Some(due) = item.due {
                div { dt { @if item.state == ItemState::Leased { "leased until" } @else { "due" } } dd { (time::at(due)) } }
            }
        }
        @if let Some(failure) = &item.failure {
            section.panel #failure aria-labelledby="failure-heading" {
                h2 #failure-heading { "Failure" }
                (failure_text(failure))
                p.under {
                    "Similar items: "
                    a href=(Address::new("dead-letters").with("job", &item.job).with("signature", &failure.signature_id).and("state", (item.state == ItemState::Skipped).then_some("skipped")).text()) { (line(&failure.signature)) }
                }
            }
        }
        section.panel aria-labelledby="payload-heading" {
            h2 #payload-heading { "Payload" }
            @match &item.payload {
                Some(payload) => div #payload { (block(payload, "Payload")) },
                None => p.muted { "(purged)" }
            }
        }
        @if let Some(output) = &item.output {
            section.panel aria-labelledby="output-heading" {
                h2 #output-heading { "Output" }
                div #output { (block(output, "Output")) }
            }
        }
        section.panel #history aria-labelledby="history-heading" {
            h2 #history-heading { "Attempts" }
            (history(item))
        }
    }
}

fn failure_text(failure: &FailureText) -> Markup {
    html! {
        p { (badge::class(&failure.class)) }
        (block(&failure.message, "Message"))
        @for inner in &failure.chain {
            p.cause { "caused by" }
            (block(inner, "Cause"))
        }
        @if !failure.culprits.is_empty() {
            p { "Because of " (failure.culprits.iter().map(|task| line(task)).collect::<Vec<_>>().join(", ")) }
        }
        @for (name, written) in [("stdout", &failure.stdout), ("stderr", &failure.stderr)] {
            @if let Some(written) = written {
                p.cause { (name) }
                (block(written, name))
            }
        }
    }
}

fn history(item: &ItemPage) -> Markup {
    let runs: Vec<Vec<&AttemptLine>> = item
        .history
        .chunk_by(|one, other| one.run == other.run)
        .map(|run| run.iter().collect())
        .collect();
    html! {
        @if item.earlier_attempts > 0 {
            p.muted { (count(u64::try_from(item.earlier_attempts).unwrap_or(0), "earlier attempt")) " not shown" }
        }
        @if runs.is_empty() { p.muted { "No attempts are recorded." } }
        @for run in &runs {
            @let (redrives, attempts): (Vec<_>, Vec<_>) =
                run.iter().copied().partition(|row: &&AttemptLine| row.outcome == AttemptOutcome::Redriven);
            h3 { "Run " (run[0].run) }
            @for redrive in redrives {
                p.acted { "Re-driven by " strong { (line(&redrive.worker)) } ", " (time::at(redrive.started)) }
            }
            @if !attempts.is_empty() {
                (timeline::run(&attempts))
                ol.attempts {
                    @for attempt in attempts { (attempt_row(attempt)) }
                }
            }
        }
    }
}

fn attempt_row(attempt: &AttemptLine) -> Markup {
    html! {
        li data-attempt=(attempt.attempt) {
            p {
                span.ordinal { "attempt " (attempt.attempt) }
                (badge::outcome(attempt.outcome))
                @if attempt.times > 1 { " " (attempt.times) " times" }
                " after " (time::short(attempt.took())) ", " @if attempt.times > 1 { "the last time " } "started " (time::at(attempt.started)) ", by " code { (line(&attempt.worker)) }
                @if let Some(step) = &attempt.step { ", in " (line(step)) }
                @if attempt.wait > 0.0 {
                    @if attempt.outcome == AttemptOutcome::Postponed { "; waits of " } @else { "; then waited " }
                    (time::short(attempt.waited()))
                }
            }
            @if let Some(failure) = &attempt.failure {
                details {
                    summary { (badge::class(&failure.class)) " " (line(&retry_workflow::words::cut(&failure.message.text, 200))) }
                    (failure_text(failure))
                }
            }
        }
    }
}
