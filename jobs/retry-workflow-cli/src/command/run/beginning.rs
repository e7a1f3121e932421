//! The choice of the job that `run` works on: a new one, or an unfinished one of the same file; and
//! the action if another process is working on one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::keeper::is_ending;
use crate::command::arguments::{BeginArguments, IfEnded, IfRunning};
use crate::command::outcome::CommandError;
use crate::file::WorkflowFile;
use crate::runner::{self, Origin};
use crate::terminal::text::{argument, one_line};
use retry_workflow::job::WorkerRecord;
use retry_workflow::{Job, JobStatus, Store, Timestamp};

/// The interval at which the other process is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The time that a worker has to end after its keeper was killed.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// The interval at which such a worker is checked.
const END_INTERVAL: Duration = Duration::from_millis(20);
/// The time in which this process has to start the job that it has reserved.
const SHORTEST: Duration = Duration::from_secs(30);

/// The job of a `run`.
pub(super) enum Chosen {
    New(Job),
    /// It has not ended, and no other process works on it: this one continues it.
    Unfinished(Job),
    /// Other processes work on it: this one joins them.
    Shared(Job),
    /// There is nothing to do but to report how it ended.
    Ended(Job),
}

/// Chooses or creates the job of a `run`. `unfinished` is a job that has not ended although its
/// record has it as ended; jobs that are `closed` are not continued; `flag` names the store in
/// hints; `notify` receives messages about what `run` is waiting for.
pub(super) async fn choose(
    store: &dyn Store,
    file: &WorkflowFile,
    begin: &BeginArguments,
    (unfinished, closed): (Option<String>, &[String]),
    flag: &str,
    notify: impl Fn(&str),
) -> Result<Chosen, CommandError> {
    let origin = Origin::file(file);
    // `--job-id ID --continue` takes over a job of this name that another path has started.
    let (mine, name) = (origin.clone(), file.name().to_owned());
    let taken = begin.job_id.clone().filter(|_| begin.continues);
    let is_mine = move |job: &Job| {
        let is_taken = taken.as_ref() == Some(&job.id) && job.name == name;
        Origin::read(job).is_some_and(|of| {
            of.is_same(&mine) || is_taken && of.mode == mine.mode && of.reduces.is_none()
        })
    };
    let mut has_notified = false;
    let started = Instant::now();
    loop {
        let now = store.now();
        let until = now + SHORTEST;
        let (is_my_job, open, closed) = (is_mine.clone(), unfinished.clone(), closed.to_owned());
        let (wanted, continues) = (begin.job_id.clone(), begin.continues);
        // The jobs that the choice has seen: there may be others a moment later.
        let others = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&others);
        let choose = move |jobs: &[Job]| {
            let running = running(jobs, &is_my_job, now);
            seen.lock().clone_from(&running);
            running.map(|(id, _)| id).or_else(|| wanted.clone()).or_else(|| {
                let has_not_ended = |job: &&Job| {
                    (job.status != JobStatus::Finished || open.as_ref() == Some(&job.id))
                        && !closed.contains(&job.id)
                };
                let of_file = jobs.iter().rev().filter(|job| is_my_job(job));
                of_file.filter(|_| continues).find(has_not_ended).map(|job| job.id.clone())
            })
        };
        let name = file.name();
        let created = Job::choose_or_create(store, name, origin.to_json(), until, choose);
        let (job, is_new) = created.await?;
        if is_new {
            return Ok(Chosen::New(job));
        }
        let others = others.lock().take();
        let is_wanted = begin.job_id.as_ref().is_none_or(|wanted| *wanted == job.id);
        let (notice, interval) = match (others, begin.if_running) {
            (None, _) => {
                if begin.job_id.is_some() {
                    if begin.if_ended == IfEnded::Report
                        && is_mine(&job)
                        && !runner::is_open(store, &job).await?
                    {
                        return Ok(Chosen::Ended(job));
                    }
                    check(store, &job, file, is_mine(&job), begin.continues, flag).await?;
                }
                // Another process may have reserved the job in between.
                if Job::reserve(store, &job.id, now, until).await? {
                    return Ok(Chosen::Unfinished(job));
                }
                continue;
            }
            (Some(_), IfRunning::Join) if is_wanted => return Ok(Chosen::Shared(job)),
            (Some((id, worker)), IfRunning::Join) => {
                return Err(CommandError::Running(format!(
                    "{} of this file is running in process {}, and it is not the job of this \
                     --job-id: wait until it is done with --if-running wait, or remove --job-id",
                    one_line(&id),
                    worker.process
                )));
            }
            // A worker whose keeper was killed ends its commands, and then itself. It may end between
            // these questions.
            (Some((id, worker)), IfRunning::Refuse)
                if is_ending(&worker) && started.elapsed() < ENDS_WITHIN =>
            {
                let (id, process) = (one_line(&id), worker.process);
                (format!("waiting for process {process} of {id} to end"), END_INTERVAL)
            }
            (Some((id, worker)), IfRunning::Refuse) => {
                return Err(CommandError::Running(format!(
                    "{} of this file is running in process {}: wait until it is done with \
                     --if-running wait, or work on it too with --if-running join",
                    one_line(&id),
                    worker.process
                )));
            }
            (Some((id, worker)), IfRunning::Wait) => {
                let (id, process) = (one_line(&id), worker.process);
                let notice = format!("waiting for {id}, which process {process} is working on");
                (notice, POLL_INTERVAL)
            }
        };
        if !std::mem::replace(&mut has_notified, true) {
            notify(&notice);
        }
        tokio::time::sleep(interval).await;
    }
}

/// Checks that the job with the given id can be resumed.
async fn check(
    store: &dyn Store,
    job: &Job,
    file: &WorkflowFile,
    is_mine: bool,
    continues: bool,
    flag: &str,
) -> Result<(), CommandError> {
    let id = one_line(&job.id);
    let why = if !is_mine {
        let why = Origin::read(job).map_or(Ok(()), |of| runner::fits(&of, file));
        let cure = match why {
            Err(why) => return Err(CommandError::Usage(format!("{id}: {why}"))),
            Ok(()) if job.name == file.name() && !continues => {
                "continue it with this one by --continue, or choose another --job-id"
            }
            Ok(()) => "choose another --job-id",
        };
        format!("there is already a job {id}, which belongs to another file: {cure}")
    } else if !runner::is_open(store, job).await? {
        format!(
            "{id} has ended: choose another --job-id, have its end reported with --if-ended report, \
             or remove the job and all its data with: retry-workflow{flag} jobs rm {}",
            argument(&job.id)
        )
    } else if !continues {
        format!(
            "there is already a job {id} of this file, which has not ended: resume it with \
             --continue, or choose another --job-id"
        )
    } else {
        return Ok(());
    };
    Err(CommandError::Usage(why))
}

/// The job that another process is working on, directly or through its `reduce`, with the worker in
/// that process.
fn running(
    jobs: &[Job],
    is_mine: &impl Fn(&Job) -> bool,
    now: Timestamp,
) -> Option<(String, WorkerRecord)> {
    jobs.iter().rev().find_map(|job| {
        let worker = job.workers.iter().find(|worker| worker.is_live(now))?;
        let whole = match Origin::read(job)?.reduces {
            Some(reduced) => jobs.iter().find(|job| job.id == reduced)?,
            None => job,
        };
        is_mine(whole).then(|| (whole.id.clone(), worker.clone()))
    })
}
