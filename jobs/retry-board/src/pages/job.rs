//! A job: its state, what it is waiting for, its recent progress, why items failed, and its tasks.

use axum::response::Response;
use maud::{Markup, html};
use retry_workflow::job::Request;
use retry_workflow::words::{count, in_a_while, thousands, total};

use super::{answer, buttons, dead_letters, jobs};
use crate::data::job::{JobPage, Tasks};
use crate::parts::layout::{NavSection, Page};
use crate::parts::text::{how_to_resume, line, name};
use crate::parts::{badge, chart, graph, table, time};
use crate::request::RequestContext;
use crate::request::query::Address;

pub(crate) fn page(context: &RequestContext, job: &JobPage, notice: Option<String>) -> Response {
    answer(context, job, || Page {
        title: "Job",
        section: NavSection::Jobs,
        live: Some(Address::new("live").with("topic", &format!("job/{}", job.job.id)).text()),
        notice,
        main: main(context, job),
    })
}

fn main(context: &RequestContext, page: &JobPage) -> Markup {
    let job = &page.job;
    let counts = &job.counts;
    let unit = page.unit().as_str();
    html! {
        nav.crumbs aria-label="Where this is" { a href="jobs" { "Jobs" } }
        div.title {
            h1 { (name(&job.id)) }
            (badge::job(job.status, counts.dead))
            @if let Some(pending) = page.requested {
                span.muted #requested { @match pending.request { Request::Pause => "pausing", _ => "cancelling" } }
            }
            (buttons::of_job(context, page))
        }
        @if let Some(reason) = &job.reason {
            p.reason #reason { "Stopped: " (line(reason)) }
        }
        section.panel aria-labelledby="progress-heading" {
            h2 #progress-heading { "Progress" }
            (chart::states(counts, true))
            ul.legend #states {
                @for (state, word, number) in [
                    ("succeeded", "succeeded", counts.succeeded),
                    ("dead", "dead", counts.dead),
                    ("skipped", "skipped", counts.skipped),
                    ("leased", "with a worker", counts.leased),
                    ("pending", "waiting", counts.pending),
                ] {
                    li {
                        span class=(format!("key {state}")) {}
                        a href=(Address::new("dead-letters").with("job", &job.id).with("state", state).text()) data-count=(state) { (thousands(number)) " " (word) }
                    }
                }
            }
            dl.facts {
                div { dt { (unit) "s" } dd { (thousands(counts.total())) @if !job.input_complete { "+" } } }
                div { dt { "done" } dd { (job.percent()) " %" } }
                div { dt { "rate" } dd #rate { (jobs::rate(job)) } }
                div { dt { "time left" } dd { (jobs::left(job)) } }
                div { dt { "attempts" } dd {
                    (thousands(counts.attempts))
                    @if counts.lost > 0 { ", " (thousands(counts.lost)) " lost with their workers" }
                } }
                div { dt { "worked" } dd { (total(counts.worked)) } }
                div { dt { "waited" } dd { (total(counts.waited)) } }
                div { dt { "started" } dd { (time::at(job.created)) } }
                @if let Some(ended) = job.ended.filter(|_| job.status != "running") {
                    div { dt { @if job.status == "stopped" { "stopped" } @else { "ended" } } dd { (time::at(ended)) } }
                }
            }
            @if !job.has_worker && (job.status == "running" || counts.unfinished() > 0) {
                p #no-worker { "No process is working on it. To resume it: " code { (how_to_resume(&context.board.command, &job.record)) } }
            }
        }
        @if !page.waiting.is_empty() || page.breaker.is_some() {
            section.panel #waiting aria-labelledby="waiting-heading" {
                h2 #waiting-heading { "Waiting for" }
                dl.lines {
                    @for wait in &page.waiting {
                        dt { (wait.what) } dd { (wait.text) }
                    }
                    @if let Some(breaker) = &page.breaker {
                        dt { "circuit breaker" }
                        dd {
                            (badge::breaker(breaker.state.as_str())) " "
                            (count(u64::from(breaker.consecutive_failures), "failure")) " in a row"
                            @if let Some(until) = breaker.open_until.filter(|until| *until > page.now) {
                                ", until " (in_a_while(until, page.now))
                            }
                            @if let Some(until) = breaker.held_until.filter(|until| *until > page.now) {
                                ", held until " (in_a_while(until, page.now))
                            }
                        }
                    }
                }
            }
        }
        @if counts.unfinished() > 0 || page.has_progress() {
            section.panel aria-labelledby="rate-heading" {
                h2 #rate-heading { "Last ten minutes" }
                @if page.samples.len() < 2 {
                    p.muted.under { "Counted while this page is open." }
                }
                (chart::progress(&page.samples, page.now))
            }
        }
        @if let Some(tasks) = &page.tasks { (task_section(&job.id, tasks)) }
        @if !page.groups.is_empty() {
            section.panel aria-labelledby="failures-heading" {
                h2 #failures-heading { "Failures" }
                (dead_letters::of_newest(page.groups_of_newest))
                (dead_letters::groups(&page.groups, Some(&job.id), page.now))
                @if page.more_groups > 0 {
                    p { a href=(Address::new("dead-letters").with("job", &job.id).text()) { (page.more_groups) " more groups" } }
                }
            }
        }
    }
}

fn task_section(job: &str, tasks: &Tasks) -> Markup {
    html! {
        section.panel #tasks aria-labelledby="tasks-heading" {
            h2 #tasks-heading { "Tasks" }
            @if let Some(picture) = graph::picture(tasks) { (picture) }
            table.cards {
                (table::head(&["Task", "State", "Needs", "Skipped because of"]))
                tbody {
                    @for task in &tasks.tasks {
                        tr data-task=(line(&task.name)) {
                            th scope="row" data-label="Task" {
                                @if task.state.is_some() {
                                    a href=(Address::new("item").with("job", job).with("id", &task.name).text()) { (name(&task.name)) }
                                } @else { (name(&task.name)) }
                            }
                            td data-label="State" {
                                @match task.state {
                                    Some(state) => { (badge::item(state)) }
                                    None => { (badge::badge(badge::QUIET, graph::state_text(task))) }
                                }
                            }
                            td data-label="Needs" { (names(&task.needs)) }
                            td data-label="Skipped because of" { (names(&task.culprits)) }
                        }
                    }
                }
            }
            @if tasks.left_out > 0 { p.muted { (tasks.left_out) " more tasks are not shown" } }
        }
    }
}

fn names(names: &[String]) -> Markup {
    html! {
        @if names.is_empty() { span.zero { "–" } }
        @for (at, one) in names.iter().enumerate() { @if at > 0 { ", " } (name(one)) }
    }
}
