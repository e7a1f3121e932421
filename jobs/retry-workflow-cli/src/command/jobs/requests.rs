//! `pause` and `cancel`: requests to the processes that work on a job.

use std::time::Duration;

use serde_json::json;

use crate::command::audit::user;
use crate::command::outcome::CommandError;
use crate::command::run::find;
use crate::command::screen::Screen;
use crate::runner;
use crate::terminal::text::{argument, count, one_line};
use retry_workflow::audit::record;
use retry_workflow::job::Request;
use retry_workflow::{Job, Store};

/// The interval at which a job that is expected to end is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) async fn pause(
    store: &dyn Store,
    id: &str,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    unfinished(store, id).await?;
    let was_sent = request(store, id, Request::Pause).await?;
    record(&user(), "pause", &format!("job {id}"), 0);
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
    store: &dyn Store,
    id: &str,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    unfinished(store, id).await?;
    let mut has_notified = false;
    while request(store, id, Request::Cancel).await? {
        if !has_notified && !screen.json {
            screen
                .line(format_args!("cancelling {}: waiting for its running items", one_line(id)))?;
            screen.flush()?;
            has_notified = true;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    let skipped = runner::cancel(store, id).await?;
    record(&user(), "cancel", &format!("job {id}"), skipped);
    screen.result(
        &json!({ "job": id, "skipped": skipped }),
        format_args!("{} is cancelled: {} skipped", one_line(id), count(skipped, "item")),
    )
}

/// Sends the request to the workers of the job and of its `reduce`; returns `false` if there are
/// none.
async fn request(store: &dyn Store, id: &str, what: Request) -> Result<bool, CommandError> {
    let mut was_sent = Job::request(store, id, what).await?;
    if let Some(reduce) = runner::find_reduce(store, id).await? {
        was_sent |= Job::request(store, &reduce.id, what).await?;
    }
    Ok(was_sent)
}

async fn unfinished(store: &dyn Store, id: &str) -> Result<(), CommandError> {
    let job = find(store, id).await?;
    if runner::is_unfinished(store, &job).await? {
        return Ok(());
    }
    Err(CommandError::Usage(format!("{} has ended", one_line(id))))
}
