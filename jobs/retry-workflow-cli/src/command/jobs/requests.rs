//! `pause` and `cancel`: requests to the processes that work on a job.

use std::sync::Arc;

use serde_json::json;

use crate::command::audit::operator;
use crate::command::outcome::CommandError;
use crate::command::run::find;
use crate::command::screen::Screen;
use crate::runner;
use crate::terminal::text::{argument, count, one_line};
use retry_workflow::{Job, Store};

pub(crate) async fn pause(
    store: &Arc<dyn Store>,
    id: &str,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    unfinished(&**store, id).await?;
    let parts = runner::parts(&**store, id).await?;
    let was_sent = operator(Arc::clone(store)).pause(id, &parts).await?;
    let shown = one_line(id);
    let what = if was_sent {
        format!("{shown} stops when its running items have finished")
    } else {
        format!("no process works on {shown}")
    };
    let line = format!("{what}; to resume: retry-workflow{} resume {}", screen.flag, argument(id));
    screen.result(&json!({ "job": id, "requested": was_sent }), line)
}

pub(crate) async fn cancel(
    store: &Arc<dyn Store>,
    id: &str,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let job = unfinished(&**store, id).await?;
    if !screen.json && runner::live_worker(&**store, &job).await?.is_some() {
        screen.line(format_args!("cancelling {}: waiting for its running items", one_line(id)))?;
        screen.flush()?;
    }
    let skipped = runner::cancel(&operator(Arc::clone(store)), id).await?;
    screen.result(
        &json!({ "job": id, "skipped": skipped }),
        format_args!("{} is cancelled: {} skipped", one_line(id), count(skipped, "item")),
    )
}

async fn unfinished(store: &dyn Store, id: &str) -> Result<Job, CommandError> {
    let job = find(store, id).await?;
    if runner::is_unfinished(store, &job).await? {
        return Ok(job);
    }
    Err(CommandError::Usage(format!("{} has ended", one_line(id))))
}
