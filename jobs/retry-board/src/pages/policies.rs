//! The retries of this process, and the form that changes them at runtime.

use std::time::Duration;

use axum::response::Response;
use maud::{Markup, html};
use retry_rules::file::KEYS;
use retry_workflow::Timestamp;
use retry_workflow::words::{count, thousands};

use super::answer;
use crate::actions::overrides::OverrideForm;
use crate::data::policies::{BreakerLine, Policies, QuotaLine, SiteLine};
use crate::parts::layout::{NavSection, Page};
use crate::parts::text::line;
use crate::parts::{badge, form, table, time, waits};
use crate::request::RequestContext;
use crate::request::query::Address;

/// A form that was rejected.
pub(crate) struct Refused<'a> {
    pub(crate) form: &'a OverrideForm,
    /// The rule's message.
    pub(crate) why: String,
}

pub(crate) fn page(
    context: &RequestContext,
    policies: &Policies,
    notice: Option<String>,
    refused: Option<&Refused<'_>>,
) -> Response {
    // The stream of the jobs, if there is one: a browser has one stream for all pages.
    let route = if context.board.mounted.has_jobs() { "live" } else { "live-policies" };
    answer(context, policies, || Page {
        title: "Policies",
        section: NavSection::Policies,
        // Do not reload, so that the contents of the form are kept.
        live: refused.is_none().then(|| Address::new(route).with("topic", "policies").text()),
        notice,
        main: main(context, policies, refused),
    })
}

fn main(context: &RequestContext, policies: &Policies, refused: Option<&Refused<'_>>) -> Markup {
    html! {
        h1 { "Policies" }
        section aria-labelledby="sites-heading" {
            h2 #sites-heading { "Functions" }
            @if policies.sites.is_empty() {
                div.empty #empty {
                    p { strong { "No function with #[retry] belongs to this process." } }
                    p { "This page shows the functions of the process that serves it. Mount " code { "retry_board::policies()" } " in your service to see its functions." }
                }
            } @else {
                table.cards #sites {
                    (table::head(&["+Function", "Waits", ">Attempts", ">Retries", ">Recovered", ">Gave up", ">Waited"]))
                    tbody { @for site in &policies.sites { (site_row(site)) } }
                }
                p.muted { "The functions of the process that serves this page. Only calls that failed at least once are counted." }
                @if policies.more_sites > 0 { p.muted { (policies.more_sites) " more functions are not shown" } }
            }
        }
        @if !policies.sites.is_empty() { (overrides(context, policies, refused)) }
        @if !policies.breakers.is_empty() {
            section aria-labelledby="breakers-heading" {
                h2 #breakers-heading { "Circuit breakers" }
                table.cards #breakers {
                    (table::head(&["+Breaker", "State", ">Consecutive", ">Failures", ">Rejected", "+Opened by"]))
                    tbody { @for breaker in &policies.breakers { (breaker_row(breaker)) } }
                }
            }
        }
        @if !policies.quotas.is_empty() {
            section aria-labelledby="quotas-heading" {
                h2 #quotas-heading { "Quotas" }
                table.cards #quotas {
                    (table::head(&["+Quota", "+Tokens"]))
                    tbody { @for quota in &policies.quotas { (quota_row(quota)) } }
                }
            }
        }
        section aria-labelledby="history-heading" {
            h2 #history-heading { "Recent events" }
            @if policies.history.is_empty() {
                p.muted { "No breaker has changed its state or held calls, no quota has run empty and no policy has been overridden since the board was mounted." }
            } @else {
                ol.events #events {
                    @for entry in &policies.history {
                        li {
                            (time::ago(Timestamp::now(), entry.at)) " "
                            @if let Some(state) = entry.state { (badge::breaker(state)) " " }
                            (line(&entry.text))
                        }
                    }
                }
            }
        }
    }
}

fn site_row(site: &SiteLine) -> Markup {
    html! {
        tr data-site=(line(&site.name)) {
            th.wide scope="row" data-label="Function" {
                span.name { (line(&site.name)) }
                @if site.compiled.is_some() { " " (badge::badge(badge::WAITING, "overridden")) }
                div.under { (line(site.file)) ":" (site.line) }
                p.policy { (line(&site.policy)) }
                @if let Some(compiled) = &site.compiled { p.muted { "in the source: " (line(compiled)) } }
            }
            td data-label="Waits" { @if let Some(policy) = &site.chart_policy { (waits::chart(policy)) } @else { span.zero { "–" } } }
            td.number data-label="Attempts" {
                (thousands(site.attempts))
                @if site.hedges > 0 {
                    div.under { (thousands(site.hedges)) " × hedged, " (thousands(site.hedge_wins)) " won" }
                }
            }
            td.number data-label="Retries" { (thousands(site.retries)) }
            td.number data-label="Recovered" { (thousands(site.recovered)) }
            td.number data-label="Gave up" {
                (thousands(site.gave_up()))
                @for (reason, times) in &site.gave_up { div.under { (thousands(*times)) " × " (reason) } }
            }
            td.number data-label="Waited" { (time::short(site.waited())) }
        }
    }
}

fn breaker_row(breaker: &BreakerLine) -> Markup {
    let number = |number: Option<u64>| match number {
        Some(number) => thousands(number),
        None => "–".to_owned(),
    };
    html! {
        tr data-breaker=(line(&breaker.name)) {
            th.wide scope="row" data-label="Breaker" { (line(&breaker.name)) }
            td data-label="State" {
                (badge::breaker(breaker.state))
                @if let Some(seconds) = breaker.open_for { " " span.muted { "for " (time::short(Duration::from_secs(seconds))) } }
                @if let Some(seconds) = breaker.held_for { " " span.muted { "held for " (time::short(Duration::from_secs(seconds))) } }
                @if breaker.forced { " " span.muted { "forced" } }
                @if breaker.led { " " span.muted { "by the fleet" } }
            }
            td.number data-label="Consecutive" { (number(breaker.consecutive_failures.map(u64::from))) }
            td.number data-label="Failures" { (number(breaker.failures)) }
            td.number data-label="Rejected" { (number(breaker.rejected)) }
            td.wide.message data-label="Opened by" { (breaker.opened_by.as_deref().map_or("–".into(), line)) }
        }
    }
}

fn quota_row(quota: &QuotaLine) -> Markup {
    html! {
        tr data-quota=(line(&quota.name)) {
            th.wide scope="row" data-label="Quota" { (line(&quota.name)) }
            td.wide data-label="Tokens" {
                @match (quota.available, quota.limit) {
                    (Some(available), Some(limit)) => {
                        div.progress {
                            meter min="0" max=(limit) value=(available) aria-label="tokens left" {}
                            span { (thousands(u64::from(available))) " of " (thousands(u64::from(limit))) }
                        }
                        @if available == 0 { (badge::badge(badge::BAD, "empty")) " " span.muted { "calls are not retried" } }
                    }
                    _ => span.muted { "has run empty" }
                }
            }
        }
    }
}

fn overrides(
    context: &RequestContext,
    policies: &Policies,
    refused: Option<&Refused<'_>>,
) -> Markup {
    let written = |field: fn(&OverrideForm) -> &crate::actions::Field| {
        refused.and_then(|refused| field(refused.form).text()).unwrap_or_default()
    };
    let (name, key) = (written(|form| &form.name), written(|form| &form.key));
    html! {
        section.panel #overrides aria-labelledby="overrides-heading" {
            h2 #overrides-heading { "Overrides" }
            @if policies.changed.is_empty() {
                p.muted {
                    "No policy has been overridden on this board."
                    @if policies.sites.iter().any(|site| site.compiled.is_some()) {
                        " The functions marked as overridden were changed by the program itself."
                    }
                }
            } @else {
                table.cards {
                    (table::head(&["Function", "Key", "Value", ""]))
                    tbody {
                        @for change in &policies.changed {
                            tr {
                                th scope="row" data-label="Function" { (line(&change.name)) }
                                td data-label="Key" { code { (change.key) } }
                                td data-label="Value" { code { (line(&change.value)) } }
                                td data-label="" {
                                    @if context.shows_forms() {
                                        form method="post" action="override-reset" {
                                            (form::proof(context)) (form::hidden([("name", change.name.as_str())]))
                                            button { "Remove" }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                p.muted { (count(u64::try_from(policies.changed.len()).unwrap_or(0), "override")) ", on top of those that the program itself has set." }
            }
            @if context.shows_forms() {
                form.filter #override-form method="get" action="override" autocomplete="off" {
                    div.field {
                        label for="override-name" { "Function" }
                        select #override-name name="name" {
                            @for site in &policies.sites { option value=(site.name) selected[site.name == name] { (line(&site.name)) } }
                            option value="*" selected[name == "*"] { "all functions" }
                        }
                    }
                    div.field {
                        label for="override-key" { "Key" }
                        select #override-key name="key" { @for one in KEYS.iter() { option value=(one) selected[*one == key] { (one) } } }
                    }
                    div.field.long {
                        label for="override-value" { "Value" }
                        input #override-value name="value" value=(written(|form| &form.value)) placeholder="2, 500ms, linear(increment = 2s)" autocomplete="off" required
                            aria-invalid=[refused.map(|_| "true")] aria-describedby=[refused.map(|_| "override-error")];
                        @if let Some(refused) = refused {
                            p.error #override-error role="alert" { @for text in refused.why.lines() { span { (line(text)) } br; } }
                        }
                    }
                    div.field.buttons { button.primary { "Override" } }
                }
            }
        }
    }
}
