//! `items …`: items in any state, and the end of their waits.

use std::sync::Arc;

use serde_json::json;

use crate::command::arguments::{Items, PageArguments};
use crate::command::audit::operator;
use crate::command::letters::{no_item, print_items, run_later, show};
use crate::command::outcome::CommandError;
use crate::command::run::find;
use crate::command::screen::Screen;
use crate::command::store::Address;
use crate::runner;
use crate::terminal::text::{age, count};
use retry_workflow::{DeadLetters, Filter, ItemRecord, ItemState, Store, Timestamp};

pub(crate) async fn run(
    items: Items,
    address: &Address,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let store = match items {
        Items::Due { .. } | Items::Cancel { .. } => address.open().await?,
        Items::List { .. } | Items::Show(_) => address.open_read_only().await?,
    };
    screen.now = store.now();
    let letters = DeadLetters::new(Arc::clone(&store));
    match items {
        Items::List { which, states, page } => {
            let states = if states.is_empty() { ItemState::ALL.to_vec() } else { states };
            let filter = which.filter(&letters, Some(states)).await?;
            list(&letters, &filter, page, screen).await
        }
        Items::Show(which) => show(&letters, &which, screen).await,
        Items::Due { job } => make_due(&store, &job, screen).await,
        Items::Cancel { job, items } => cancel(&store, &job, &items, screen).await,
    }
}

/// Cancels items of a job.
async fn cancel(
    store: &Arc<dyn Store>,
    job: &str,
    items: &[String],
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let job = find(&**store, job).await?.id;
    for item in items {
        if store.item(&job, item).await?.is_none() {
            return Err(no_item(&job, item, &screen.flag));
        }
    }
    let cancelled = operator(Arc::clone(store)).cancel_items(&job, items).await?;
    screen.result(
        &json!({ "job": job, "cancelled": cancelled }),
        format_args!("{} cancelled, of {}", count(cancelled, "item"), items.len()),
    )
}

/// Makes the waiting items of a job and of its parts due now.
async fn make_due(
    store: &Arc<dyn Store>,
    id: &str,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let job = find(&**store, id).await?;
    let parts = runner::parts(&**store, &job.id).await?;
    let due = operator(Arc::clone(store)).make_due(&job.id, &parts).await?;
    let are = if due == 1 { "is" } else { "are" };
    screen.result(
        &json!({ "job": job.id, "due": due }),
        format_args!("{} {are} due now", count(due, "waiting item")),
    )?;
    if due > 0 && !screen.json {
        let text = run_later(&**store, &job.id, &screen.flag).await?;
        screen.line(text)?;
    }
    Ok(())
}

async fn list(
    letters: &DeadLetters,
    filter: &Filter,
    page_arguments: PageArguments,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let page = letters.list(filter, page_arguments.after, page_arguments.most()).await?;
    let now = screen.now;
    let row = |item: &ItemRecord| {
        let failure = item.failure.as_ref().map(ToString::to_string);
        [
            item.id.clone(),
            item.job.clone(),
            item.state.to_string(),
            item.run.to_string(),
            item.attempt.to_string(),
            when(item, now),
            failure.or_else(|| item.output.clone()).unwrap_or_default(),
        ]
    };
    let headings = &["item", "job", "state", ">run", ">attempts", "when", "said"];
    print_items(&page, "no items match", (headings, row), screen)?;
    match page.next.filter(|_| !screen.json) {
        Some(next) => screen.line(format_args!("more: --after {next}")),
        None => Ok(()),
    }
}

/// Returns how long ago the item ended, or how long until it is due or its lease expires.
fn when(item: &ItemRecord, now: Timestamp) -> String {
    match (item.ended, item.due) {
        (Some(ended), _) => format!("{} ago", age(now, ended)),
        (None, Some(due)) if due > now => format!("in {}", age(due, now)),
        (None, Some(_)) => "now".to_owned(),
        (None, None) => "-".to_owned(),
    }
}
