//! Dead letters: in groups of similar failures, and one by one.

use axum::response::Response;
use maud::{Markup, html};
use retry_workflow::Timestamp;
use retry_workflow::words::{count, thousands};

use super::{answer, buttons};
use crate::actions::action::{Action, Target};
use crate::data::letters::{FilterFields, GroupLine, ItemLine, Letters};
use crate::parts::layout::{NavSection, Page};
use crate::parts::text::{line, name};
use crate::parts::{badge, chart, form, table, time};
use crate::request::RequestContext;
use crate::request::query::{Address, PICK, PICKED};

pub(crate) fn page(
    context: &RequestContext,
    letters: &Letters,
    notice: Option<String>,
) -> Response {
    answer(context, letters, || Page {
        title: "Dead letters",
        section: NavSection::Letters,
        live: Some("live?topic=jobs".to_owned()),
        notice,
        main: main(context, letters),
    })
}

/// Returns whether the list contains only dead letters.
fn is_dead(filter: &FilterFields) -> bool {
    filter.state.as_deref().is_none_or(|state| state == "dead")
}

/// The kind of the actions on rows of the list.
fn target(filter: &FilterFields) -> Target {
    match filter.state.as_deref() {
        Some("pending" | "leased") => Target::Items,
        _ => Target::Letters,
    }
}

fn main(context: &RequestContext, letters: &Letters) -> Markup {
    let filter = &letters.filter;
    let heading = if is_dead(filter) { "Dead letters" } else { "Items" };
    html! {
        div.title {
            h1 { (heading) }
            @if letters.count > 0 && !letters.is_later && filter.text.is_none() {
                span.muted #count {
                    (count(letters.count, if is_dead(filter) { "dead letter" } else { "failure" }))
                    @if letters.groups_of_newest.is_none() {
                        " in " (count(u64::try_from(letters.groups.len() + letters.more_groups).unwrap_or(0), "group"))
                    }
                }
            }
            (actions(context, letters))
        }
        (filter_form(filter))
        @if !letters.groups.is_empty() {
            section.panel aria-labelledby="groups-heading" {
                h2 #groups-heading { "By signature" }
                (of_newest(letters.groups_of_newest))
                (groups(&letters.groups, filter.job.as_deref(), letters.now))
                @if letters.more_groups > 0 { p.muted { (thousands(u64::try_from(letters.more_groups).unwrap_or(0))) " smaller groups are not shown: filter by job or class to see them" } }
            }
        }
        section aria-labelledby="items-heading" {
            h2 #items-heading { "Items" }
            (items(context, letters))
        }
    }
}

fn actions(context: &RequestContext, letters: &Letters) -> Markup {
    let filter = &letters.filter;
    html! {
        div.actions {
            @if letters.count > 0 || !letters.items.is_empty() {
                a.button #export href=(filter.address("export").text()) download { "Export" }
                @if context.shows_forms() && is_dead(filter) && !letters.is_later {
                    (buttons::of_items(context, Target::Letters, filter))
                }
            }
        }
    }
}

fn filter_form(filter: &FilterFields) -> Markup {
    let field = |name: &'static str, label: &str, hint: &str, value: Option<&str>| {
        html! {
            div.field.long[name == "text"] {
                label for=(format!("filter-{name}")) { (label) }
                input id=(format!("filter-{name}")) name=(name) value=(value.unwrap_or_default()) placeholder=(hint) autocomplete="off";
            }
        }
    };
    html! {
        // The script folds it where the screen is narrow, unless it filters.
        details.filters open data-fold[filter.is_empty()] {
            summary { "Filter" }
            form.filter #filter method="get" action="dead-letters" role="search" {
                (field("job", "Job", "any", filter.job.as_deref()))
                (field("class", "Class", "timeout", filter.class.as_deref()))
                (field("signature", "Signature", "id or text", filter.signature.as_deref()))
                (field("since", "Since", "2h ago", filter.since.as_deref()))
                (field("until", "Until", "2026-11-21", filter.until.as_deref()))
                div.field {
                    label for="filter-state" { "State" }
                    select #filter-state name="state" {
                        option value="" selected[is_dead(filter)] { "dead" }
                        @for state in ["skipped", "pending", "leased", "succeeded", "all"] {
                            option value=(state) selected[filter.state.as_deref() == Some(state)] { (state) }
                        }
                    }
                }
                (field("text", "Text", "in the message, or item.id >= 7", filter.text.as_deref()))
                div.field.buttons {
                    button { "Filter" }
                    @if !filter.is_empty() { a #clear href="dead-letters" { "Clear" } }
                }
            }
        }
    }
}

/// Says that groups are those of the newest failures, if there are more.
pub(crate) fn of_newest(newest: Option<usize>) -> Markup {
    html! {
        @if let Some(newest) = newest {
            p.muted.under { "Of the newest " (thousands(u64::try_from(newest).unwrap_or(u64::MAX))) " failures." }
        }
    }
}

/// A table of groups of similar failures.
pub(crate) fn groups(groups: &[GroupLine], job: Option<&str>, now: Timestamp) -> Markup {
    html! {
        table.cards.groups {
            (table::head(&[">Count", "+Signature", "Last 24 hours", ">First", ">Last", "Example"]))
            tbody {
                @for group in groups {
                    @let address = Address::new("dead-letters").and("job", job).with("signature", &group.id);
                    tr data-signature=(group.id) {
                        td.number.count data-label="Count" { (thousands(group.count)) }
                        td.wide data-label="Signature" {
                            a.signature href=(address.with("class", &group.class).text()) {
                                @if group.signature.is_empty() { "(no message)" } @else { (line(&group.signature)) }
                            }
                            div.under {
                                (badge::class(&group.class)) " " code { (group.id) }
                            }
                            p.advice { (group.advice) }
                        }
                        td data-label="Last 24 hours" { (chart::sparkline(&group.hours, now)) }
                        td.number data-label="First" { (time::ago(now, group.first)) }
                        td.number data-label="Last" { (time::ago(now, group.last)) }
                        td data-label="Example" {
                            @match job {
                                Some(job) => { a href=(Address::new("item").with("job", job).with("id", &group.example).text()) { (name(&group.example)) } }
                                None => { (name(&group.example)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn items(context: &RequestContext, letters: &Letters) -> Markup {
    let filter = &letters.filter;
    // Ids belong to one job.
    let can_pick = context.shows_forms()
        && filter.job.is_some()
        && letters.items.iter().any(|item| Target::of(item.state) == Some(target(filter)));
    // Show the job as a column only if the rows can differ in it.
    let has_jobs = filter.job.is_none();
    let goes_on = letters.searched.is_some() || letters.is_partial;
    html! {
        @if letters.items.is_empty() {
            (nothing(letters))
        } @else {
            table.cards #items {
                thead {
                    tr {
                        th scope="col" {
                            @if can_pick { input #pick-all type="checkbox" form="picked" aria-label="Select all items of this page" hidden; }
                            "Item"
                        }
                        @if has_jobs { th scope="col" { "Job" } }
                        th scope="col" { "State" }
                        th.number scope="col" { "Run" }
                        th.number scope="col" { "Attempts" }
                        th scope="col" { "Class" }
                        th.number scope="col" { "When" }
                        th.wide scope="col" { "Message" }
                    }
                }
                tbody { @for item in &letters.items { (item_row(item, has_jobs, can_pick.then(|| target(filter)), letters.now)) } }
            }
            @if can_pick { (picked(filter)) }
        }
        @if let Some(rows) = letters.searched {
            p.muted #searched {
                (count(u64::try_from(rows).unwrap_or(0), "item")) " searched"
                @if letters.next.is_some() { " so far" }
            }
        } @else if letters.is_partial {
            p.muted #searched { "The search is not finished." }
        }
        nav.pages aria-label="More items" {
            @if letters.is_later { a href=(filter.address("dead-letters").text()) { "First page" } }
            @if let Some(next) = letters.next {
                a #next href=(filter.address("dead-letters").with("after", &next.to_string()).text()) {
                    @if goes_on { "Continue the search" } @else { "Next page" }
                }
            }
        }
    }
}

/// Renders the actions for the selected rows.
fn picked(filter: &FilterFields) -> Markup {
    let (job, state) = (filter.job.as_deref(), filter.state.as_deref());
    let fields = [("job", job), ("state", state), (PICKED, Some("1"))];
    html! {
        form #picked method="get" {
            (form::hidden(fields.into_iter().filter_map(|(name, value)| Some((name, value?)))))
            div.buttons {
                @for Action { name, label, style, .. } in buttons::on(target(filter)) {
                    button id={ (name) "-picked" } class=(style) formaction=(name) { (label) " selected…" }
                }
            }
        }
    }
}

fn item_row(item: &ItemLine, has_jobs: bool, pick: Option<Target>, now: Timestamp) -> Markup {
    html! {
        tr data-item=(line(&item.id)) {
            th scope="row" data-label="Item" {
                @if pick.is_some() && pick == Target::of(item.state) {
                    input.pick type="checkbox" form="picked" name=(PICK) value=(item.id) aria-label={ "Select " (line(&item.id)) };
                }
                a href=(Address::new("item").with("job", &item.job).with("id", &item.id).text()) { (name(&item.id)) }
            }
            @if has_jobs {
                td data-label="Job" { a href=(Address::new("job").with("id", &item.job).text()) { (name(&item.job)) } }
            }
            td data-label="State" { (badge::item(item.state)) }
            td.number data-label="Run" { (item.run) }
            td.number data-label="Attempts" { (item.attempt) }
            td data-label="Class" { @if let Some(class) = &item.class { (badge::class(class)) } @else { span.zero { "–" } } }
            td.number data-label="When" { @match item.ended.or(item.due) { Some(at) => { (time::relative(now, at)) } None => span.zero { "–" } } }
            td.wide.message data-label="Message" { (item.message.as_deref().map(line).unwrap_or_default()) }
        }
    }
}

/// The empty list, with a hint at what to do next.
fn nothing(letters: &Letters) -> Markup {
    let filter = &letters.filter;
    html! {
        div.empty #empty {
            @if letters.is_partial {
                p { strong { "Nothing found so far." } " Continue the search below." }
            } @else if letters.is_later {
                p { "There are no more items." }
            } @else if filter.is_empty() {
                p { strong { "No dead letters." } }
                p { "Items that failed for good appear here, grouped by what went wrong." }
            } @else {
                p { strong { "Nothing matches this filter." } }
                p { a href="dead-letters" { "Clear the filter" } " to see all dead letters." }
            }
        }
    }
}
