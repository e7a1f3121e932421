//! The audit: who has changed what.

use axum::response::Response;
use maud::{Markup, html};
use retry_workflow::words::thousands;

use super::answer;
use crate::data::audit::{AuditLine, AuditPage};
use crate::parts::layout::{NavSection, Page};
use crate::parts::text::line;
use crate::parts::{table, time};
use crate::request::RequestContext;
use crate::request::query::Address;

pub(crate) fn page(context: &RequestContext, audit: &AuditPage) -> Response {
    answer(context, audit, || Page {
        title: "Audit",
        section: NavSection::Audit,
        live: None,
        notice: None,
        main: main(audit),
    })
}

fn main(audit: &AuditPage) -> Markup {
    html! {
        h1 { "Audit" }
        @if audit.entries.is_empty() {
            div.empty #empty {
                p { strong { "No user has changed anything yet." } }
                p { "Re-drives, purges, ends of waits, pauses, cancellations and overrides appear here, with who made them: on this board, and with " code { "retry-workflow" } "." }
            }
        } @else {
            table.cards #audit {
                (table::head(&["When", "Who", "Action", "Job", "+What", ">Items"]))
                tbody {
                    @for entry in &audit.entries { (row(entry)) }
                }
            }
            @if audit.is_partial { p.muted { "Older entries are not shown: " code { "retry-workflow audit --limit 10000" } } }
        }
    }
}

fn row(entry: &AuditLine) -> Markup {
    html! {
        tr data-action=(line(&entry.action)) {
            th scope="row" data-label="When" { (time::at(entry.at)) }
            td data-label="Who" { (line(&entry.who)) }
            td data-label="Action" { (line(&entry.action)) }
            td data-label="Job" {
                @match &entry.job {
                    Some(job) => a href=(Address::new("job").with("id", job).text()) { (line(job)) },
                    None => span.zero { "–" }
                }
            }
            td.wide data-label="What" {
                @if let (Some(job), Some(item)) = (&entry.job, &entry.item) {
                    a href=(Address::new("item").with("job", job).with("id", item).text()) { (line(item)) } " "
                }
                (line(&entry.what))
            }
            td.number data-label="Items" {
                @match entry.items {
                    Some(items) => (thousands(items)),
                    None => span.muted { "not known to have ended" }
                }
            }
        }
    }
}
