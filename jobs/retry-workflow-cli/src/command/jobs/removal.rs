//! `jobs rm`, `jobs prune` and `vacuum`: the commands that delete jobs.

use serde_json::json;

use crate::command::arguments::Jobs;
use crate::command::outcome::CommandError;
use crate::command::run::find;
use crate::command::screen::Screen;
use crate::command::store::Address;
use crate::runner::{self, Origin};
use crate::terminal::text::{count, one_line, thousands};
use retry_workflow::{Job, JobStatus, Store};

pub(crate) async fn run(
    what: Jobs,
    store: &dyn Store,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    match what {
        Jobs::Rm { jobs, force } => {
            let mut found = Vec::new();
            for id in &jobs {
                let job = find(store, id).await?;
                if !force && let Some(why) = reason_to_keep(store, &job).await? {
                    return Err(CommandError::Usage(format!(
                        "{} {why}: write --force to remove it anyway",
                        one_line(id)
                    )));
                }
                found.push(job);
            }
            remove_all(store, found, screen).await
        }
        Jobs::Prune { older_than, with_dead_letters, dry_run } => {
            let before = store.now() - older_than;
            let mut old = Vec::new();
            for job in Job::all(store).await? {
                let is_whole = Origin::read(&job).is_none_or(|origin| origin.reduces.is_none());
                let is_old = job.status == JobStatus::Finished
                    && job.ended.is_some_and(|ended| ended < before);
                if is_whole
                    && is_old
                    && !runner::is_unfinished(store, &job).await?
                    && (with_dead_letters || store.counts(&job.id).await?.dead == 0)
                {
                    old.push(job);
                }
            }
            if dry_run { list(&old, screen) } else { remove_all(store, old, screen).await }
        }
    }
}

/// Returns why a job is not removed without `--force`.
async fn reason_to_keep(store: &dyn Store, job: &Job) -> Result<Option<String>, CommandError> {
    let counts = store.counts(&job.id).await?;
    Ok(if counts.leased > 0 {
        Some(format!("has {} that a worker is running", count(counts.leased, "item")))
    } else if runner::is_unfinished(store, job).await? {
        Some("has not ended".to_owned())
    } else if counts.dead > 0 {
        Some(format!("has {}", count(counts.dead, "dead letter")))
    } else {
        None
    })
}

fn list(jobs: &[Job], screen: &mut Screen) -> Result<(), CommandError> {
    for job in jobs {
        screen.result(&json!({ "dry_run": true, "job": job.id }), one_line(&job.id))?;
    }
    if screen.json {
        return Ok(());
    }
    let jobs = count(u64::try_from(jobs.len()).unwrap_or(u64::MAX), "job");
    screen.line(format_args!("{jobs} would be removed"))
}

/// Removes each job, its `reduce`s first: once the job is gone, nothing would lead to them.
async fn remove_all(
    store: &dyn Store,
    jobs: Vec<Job>,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let all = Job::all(store).await?;
    for job in jobs {
        let reduces = |one: &&Job| {
            Origin::read(one).and_then(|origin| origin.reduces).is_some_and(|id| id == job.id)
        };
        let mut items = 0_u64;
        for one in all.iter().filter(reduces).chain([&job]) {
            items = items.saturating_add(runner::remove(store, &one.id).await?);
        }
        screen.result(
            &json!({ "dry_run": false, "job": job.id, "items": items }),
            format_args!("{} removed, with {}", one_line(&job.id), count(items, "item")),
        )?;
    }
    Ok(())
}

pub(crate) async fn vacuum(address: &Address, screen: &mut Screen) -> Result<(), CommandError> {
    let (before, after) = address.vacuum().await?;
    let kib = |bytes: u64| thousands(bytes.div_ceil(1024));
    screen.result(
        &json!({ "before": before, "after": after }),
        format_args!("{} KiB before, {} KiB now", kib(before), kib(after)),
    )
}
