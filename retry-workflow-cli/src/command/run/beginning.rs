//! Which job `run` works on: a new one, or one of the same file that has not ended; and what it
//! does where another process works on one.

use std::time::Duration;

use crate::command::arguments::{BeginArguments, IfRunning};
use crate::command::outcome::CommandError;
use crate::file::WorkflowFile;
use crate::runner::Origin;
use crate::terminal::text::one_line;
use retry_workflow::{Job, JobStatus, Store, Timestamp};

/// How often another process is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// So long this process has to begin what it has chosen.
const SHORTEST: Duration = Duration::from_secs(30);

/// Chooses the job of a `run`, or creates it, and says whether it is new. `unfinished` has not
/// ended, though its record says so; `tell` is told what is waited for.
pub(super) async fn choose<S: Store>(
    store: &S,
    file: &WorkflowFile,
    begin: BeginArguments,
    unfinished: Option<String>,
    tell: impl Fn(&str),
) -> Result<(Job, bool), CommandError> {
    let origin = Origin::file(file);
    let mut is_told = false;
    loop {
        let now = store.now();
        let until = now + SHORTEST;
        let (mine, unfinished) = (origin.clone(), unfinished.clone());
        let choose = move |jobs: &[Job]| {
            let running = running(jobs, &mine, now).map(|(id, _)| id);
            running.or_else(|| {
                let has_not_ended = |job: &&Job| {
                    job.status != JobStatus::Finished || unfinished.as_ref() == Some(&job.id)
                };
                let of_file = jobs.iter().rev().filter(|job| is_of(job, &mine));
                of_file.filter(|_| begin.continues).find(has_not_ended).map(|job| job.id.clone())
            })
        };
        let created = Job::choose_or_create(store, file.name(), origin.to_json(), until, choose);
        let (job, is_new) = created.await?;
        if is_new {
            return Ok((job, true));
        }
        let others = running(&Job::all(store).await?, &origin, now);
        match (others, begin.if_running) {
            // Between the two another one may have been quicker.
            (None, _) if Job::reserve(store, &job.id, now, until).await? => {
                return Ok((job, false));
            }
            (None, _) => {}
            (Some(_), IfRunning::Join) => return Ok((job, false)),
            (Some((id, process)), IfRunning::Refuse) => {
                return Err(CommandError::Running(format!(
                    "{} of this file is running, in process {process}: wait for its end by \
                     --if-running wait, or work on it as well by --if-running join",
                    one_line(&id)
                )));
            }
            (Some((id, process)), IfRunning::Wait) => {
                if !is_told {
                    let id = one_line(&id);
                    tell(&format!("waiting for {id}, on which process {process} works"));
                    is_told = true;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

fn is_of(job: &Job, origin: &Origin) -> bool {
    Origin::read(job).as_ref() == Some(origin)
}

/// The job of a file that another process works on, or on whose `reduce` it does; and who.
fn running(jobs: &[Job], origin: &Origin, now: Timestamp) -> Option<(String, u32)> {
    jobs.iter().rev().find_map(|job| {
        let worker = job.workers.iter().find(|worker| worker.is_live(now))?;
        let of = Origin::read(job)?;
        let id = match of.reduces {
            Some(reduced) if of.file == origin.file => reduced,
            None if of == *origin => job.id.clone(),
            _ => return None,
        };
        Some((id, worker.process))
    })
}
