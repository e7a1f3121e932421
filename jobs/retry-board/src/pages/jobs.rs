//! All jobs: state, progress, rate, time left, age.

use std::time::Duration;

use axum::response::Response;
use maud::{Markup, html};
use retry_workflow::words::thousands;

use super::answer;
use crate::data::jobs::{JobLine, Jobs};
use crate::parts::layout::{NavSection, Page};
use crate::parts::text::{line, name};
use crate::parts::{badge, chart, table, time};
use crate::request::RequestContext;
use crate::request::query::Address;

pub(crate) fn page(context: &RequestContext, jobs: &Jobs, notice: Option<String>) -> Response {
    answer(context, jobs, || Page {
        title: "Jobs",
        section: NavSection::Jobs,
        live: Some("live?topic=jobs".to_owned()),
        notice,
        main: main(context, jobs),
    })
}

fn main(context: &RequestContext, jobs: &Jobs) -> Markup {
    let start =
        context.board.settings.name("retry-workflow run FILE", "Workflow::new(…).store(…).run(…)");
    html! {
        h1 { "Jobs" }
        @if jobs.jobs.is_empty() {
            @if jobs.is_later {
                p.empty { "There are no older jobs. " a href="jobs" { "Show the newest" } }
            } @else {
                div.empty #empty {
                    p { strong { "No jobs yet." } }
                    p { "Start one with " code { (start) } "; it appears here by itself." }
                }
            }
        } @else {
            table.cards #jobs {
                (table::head(&["Job", "Status", "+Progress", ">Succeeded", ">Dead", ">Skipped", ">Remaining", ">Rate", ">Time left", ">Started"]))
                tbody {
                    @for job in &jobs.jobs { (row(jobs, job)) }
                }
            }
        }
        nav.pages aria-label="More jobs" {
            @if jobs.is_later { a href="jobs" { "Newest" } }
            @if let Some(next) = jobs.next {
                a #older href=(Address::new("jobs").with("after", &next.to_string()).text()) { "Older" }
            }
        }
    }
}

fn row(jobs: &Jobs, job: &JobLine) -> Markup {
    let counts = &job.counts;
    let letters = Address::new("dead-letters").with("job", &job.id).text();
    html! {
        tr data-job=(line(&job.id)) {
            th scope="row" data-label="Job" { a href=(Address::new("job").with("id", &job.id).text()) { (name(&job.id)) } }
            td data-label="Status" {
                (badge::job(job.status, counts.dead))
                @if job.status == "running" && !job.has_worker { " " span.muted { "no worker" } }
            }
            td.wide data-label="Progress" { (progress(job)) }
            td.number data-label="Succeeded" { (thousands(counts.succeeded)) }
            td.number data-label="Dead" {
                @if counts.dead > 0 { a.dead href=(letters) { (thousands(counts.dead)) } } @else { span.zero { "0" } }
            }
            td.number data-label="Skipped" { (zero(counts.skipped)) }
            td.number data-label="Remaining" { (zero(counts.unfinished())) @if !job.input_complete && job.status == "running" { "+" } }
            td.number data-label="Rate" { (rate(job)) }
            td.number data-label="Time left" { (left(job)) }
            td.number data-label="Started" { (time::ago(jobs.now, job.created)) }
        }
    }
}

fn zero(number: u64) -> Markup {
    html! { @if number == 0 { span.zero { "0" } } @else { (thousands(number)) } }
}

/// A bar of the item states, and the percentage that has ended.
pub(crate) fn progress(job: &JobLine) -> Markup {
    html! {
        div.progress {
            (chart::states(&job.counts, false))
            span { (job.percent()) " %" }
        }
    }
}

pub(crate) fn rate(job: &JobLine) -> Markup {
    html! {
        @match job.items_per_minute {
            Some(rate) if rate >= 120.0 => { (format!("{:.0}/s", rate / 60.0)) }
            Some(rate) => { (format!("{rate}/min")) }
            None => span.zero { "–" }
        }
    }
}

pub(crate) fn left(job: &JobLine) -> Markup {
    html! {
        @match job.seconds_left {
            Some(seconds) => { (time::short(Duration::from_secs(seconds))) }
            None => span.zero { "–" }
        }
    }
}
