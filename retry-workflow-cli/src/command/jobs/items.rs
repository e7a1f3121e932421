//! `items …`: items in any state.

use std::sync::Arc;

use crate::command::arguments::{Items, PageArguments};
use crate::command::letters::{ListedItem, Shows, show};
use crate::command::outcome::{CommandError, Exit};
use crate::command::screen::Screen;
use crate::terminal::table::Table;
use crate::terminal::text::age;
use retry_workflow::{DeadLetters, Filter, ItemRecord, ItemState, Store, Timestamp};

pub(crate) async fn run(
    items: Items,
    store: &Arc<dyn Store>,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    screen.now = store.now();
    let letters = DeadLetters::new(Arc::clone(store));
    match items {
        Items::List { which, states, page } => {
            let states = if states.is_empty() { ItemState::ALL.to_vec() } else { states };
            let filter = which.filter(&letters, Some(states)).await?;
            list(&letters, &filter, page, screen).await
        }
        Items::Show(which) => show(Shows::Items, &letters, &which, screen).await,
    }
}

async fn list(
    letters: &DeadLetters,
    filter: &Filter,
    shown: PageArguments,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let page = letters.list(filter, shown.after, shown.most()).await?;
    if screen.json {
        return ListedItem::print(&page, screen);
    }
    if page.items.is_empty() {
        screen.line("no items match")?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&["item", "job", "state", ">run", ">attempts", "when", "said"]);
    for item in &page.items {
        table.row([
            item.id.clone(),
            item.job.clone(),
            item.state.to_string(),
            item.run.to_string(),
            item.attempt.to_string(),
            when(item, screen.now),
            said(item),
        ]);
    }
    screen.table(&table)?;
    if let Some(next) = page.next {
        screen.line(format_args!("more: --after {next}"))?;
    }
    Ok(Exit::Success)
}

/// How long ago the item ended, or how long until it is due or its lease expires.
fn when(item: &ItemRecord, now: Timestamp) -> String {
    match (item.ended, item.due) {
        (Some(ended), _) => format!("{} ago", age(now, ended)),
        (None, Some(due)) if due > now => format!("in {}", age(due, now)),
        (None, Some(_)) => "now".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

/// The item's failure, or its output.
fn said(item: &ItemRecord) -> String {
    let failure = item.failure.as_ref().map(ToString::to_string);
    failure.or_else(|| item.output.clone()).unwrap_or_default()
}
