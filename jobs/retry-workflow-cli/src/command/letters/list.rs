//! `dlq list` and `dlq stats`.

use std::fmt;

use serde::Serialize;
use serde_json::json;

use crate::command::arguments::PageArguments;
use crate::command::outcome::CommandError;
use crate::command::screen::Screen;
use crate::terminal::text::{age, count, one_line, thousands};
use retry_workflow::store::{Cursor, Group, Page};
use retry_workflow::{DeadLetters, Filter, ItemRecord, Signature, Timestamp};

pub(super) async fn list(
    letters: &DeadLetters,
    filter: &Filter,
    page_arguments: PageArguments,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let after = page_arguments.after;
    let page = letters.list(filter, after, page_arguments.most()).await?;
    // Show the job as a column only if the rows can differ in it.
    let (jobs, now) = (filter.job.is_none(), screen.now);
    let headings = ["item", "job", ">run", ">attempts", "class", ">age", "message"];
    let headings: Vec<_> = headings.into_iter().filter(|one| jobs || *one != "job").collect();
    let row = |item: &ItemRecord| row(item, jobs, now);
    print_items(&page, none(filter, after), (&headings, row), screen)?;
    let Some(next) = page.next.filter(|_| !screen.json) else { return Ok(()) };
    let total = letters.count(filter).await?;
    let shown = u64::try_from(page.items.len()).unwrap_or(u64::MAX);
    let more = if after.is_none() {
        format!("{} more", thousands(total.saturating_sub(shown)))
    } else {
        format!("more, of {} in all", thousands(total))
    };
    screen.line(format_args!("{more}: --after {next}"))
}

/// Prints a page of items; in machine-readable form, each with the cursor of the next page.
pub(crate) fn print_items<R: IntoIterator<Item = String>>(
    page: &Page<ItemRecord>,
    none: impl fmt::Display,
    table: (&[&'static str], impl Fn(&ItemRecord) -> R),
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let object = |item: &ItemRecord| {
        let mut object = json!(item);
        object["next"] = json!(page.next);
        object
    };
    screen.list(&page.items, object, none, table)
}

fn row(item: &ItemRecord, jobs: bool, now: Timestamp) -> Vec<String> {
    let failure = item.failure.as_ref();
    let mut cells = vec![item.id.clone()];
    if jobs {
        cells.push(item.job.clone());
    }
    cells.extend([
        item.run.to_string(),
        item.attempt.to_string(),
        failure.map_or_else(|| "-".to_owned(), |failure| failure.class.clone()),
        item.ended.map_or_else(|| "-".to_owned(), |ended| age(now, ended)),
        failure.map(ToString::to_string).unwrap_or_default(),
    ]);
    cells
}

/// A message that there is nothing to list.
fn none(filter: &Filter, after: Option<Cursor>) -> String {
    if after.is_some() {
        return "no more dead letters".to_owned();
    }
    let mut bare = Filter::default();
    bare.job.clone_from(&filter.job);
    match &filter.job {
        _ if *filter != bare => "no dead letters match".to_owned(),
        Some(job) => format!("no dead letters in job {}", one_line(job)),
        None => "no dead letters".to_owned(),
    }
}

#[derive(Serialize)]
struct GroupLine<'a> {
    id: String,
    #[serde(flatten)]
    group: &'a Group,
}

pub(super) async fn stats(
    letters: &DeadLetters,
    filter: &Filter,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let groups = letters.stats(filter).await?;
    let now = screen.now;
    let row = |group: &Group| {
        [
            group.signature.id(),
            thousands(group.count),
            group.class.clone(),
            age(now, group.first),
            age(now, group.last),
            group.example.clone(),
            signature(&group.signature),
        ]
    };
    let headings = &["id", ">count", "class", ">first", ">last", "example", "signature"];
    let object = |group: &Group| json!(GroupLine { id: group.signature.id(), group });
    screen.list(&groups, object, none(filter, None), (headings, row))?;
    if groups.is_empty() || screen.json {
        return Ok(());
    }
    let total = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.count));
    let kinds = u64::try_from(groups.len()).unwrap_or(u64::MAX);
    screen.line(format_args!("{} in {}", count(total, "dead letter"), count(kinds, "group")))
}

fn signature(signature: &Signature) -> String {
    let text = signature.as_str();
    if text.is_empty() { "(no message)".to_owned() } else { text.to_owned() }
}
