//! Starts and resumes the jobs of workflow files: the link between the command and the engine.

mod signals;
mod progress;
pub(super) mod keeper;
mod beginning;
mod outputs;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use self::beginning::Chosen;
use self::outputs::Outputs;
use self::progress::ProgressReporter;
use self::signals::second_signal;
use super::arguments::{BeginArguments, RunArguments};
use super::files;
use super::outcome::{CommandError, Exit};
use super::screen::{Screen, report};
use super::store::{self, Address};
use crate::file::input::{CheckedInput, InputReader};
use crate::file::{FileError, Schedule, WorkflowFile};
use crate::runner::{self, JobListener, Origin, Reports, RunSettings, StopSignal, Tasks};
use crate::steps::stream::Excerpt;
use crate::terminal::text::{argument, chain, count, one_line, thousands};
use retry_workflow::job::Unit;
use retry_workflow::{Job, JobEvent, JobReport, JobStatus, Store, StoreError, WorkflowError};

/// A job, and the workflow file that defines it.
struct Work {
    job: Job,
    file: WorkflowFile,
    /// What is known about an input that has not been copied to the store yet.
    checked: Option<CheckedInput>,
    /// The file is not the one that the job was started with.
    is_moved: bool,
}

/// `run FILE`: starts a new job, or continues the one that has not ended.
pub(super) async fn run(
    address: &Address,
    path: &Path,
    begin: &BeginArguments,
    how: &RunArguments,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    // Report everything that can be wrong with the file before a job is created.
    let file = files::ready(path)?;
    let checked = checked_before(&file)?;
    let store = address.open_or_create().await?;
    let unfinished = unfinished_job(&store, &file).await?;
    let tell = |text: &str| ProgressReporter::new(how, screen.json).println(text);
    let flag = &screen.flag;
    let chosen = beginning::choose(&*store, &file, begin, unfinished.clone(), flag, tell);
    let job = match chosen.await? {
        Chosen::New(job) => job,
        Chosen::Unfinished(job) => {
            let found = ready(&*store, job, None).await?;
            return work(&store, found, how, screen).await;
        }
        Chosen::Ended(job) => return report_end(&*store, &job, screen).await,
    };
    if let Some(begun) = unfinished {
        tell(&format!(
            "this starts a new job, although {} of this file has not ended; to resume that one: \
             retry-workflow{flag} resume {}",
            one_line(&begun),
            argument(&begun)
        ));
    }
    let new = Work { job, file, checked, is_moved: false };
    work(&store, new, how, screen).await
}

/// `resume [JOB]`: resumes a job; with `None`, the latest that has not ended.
pub(super) async fn resume(
    store: &Arc<dyn Store>,
    (job, file): (Option<&str>, Option<&Path>),
    how: &RunArguments,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let job = match job {
        Some(id) => Some(parent_job(&**store, find(&**store, id).await?).await?),
        None => latest(&**store).await?,
    };
    let Some(job) = job else {
        if let Some(why) = left_to_programs(&**store).await? {
            return Err(CommandError::Usage(why));
        }
        if screen.json {
            screen.object(&json!({ "job": null }))?;
        } else {
            screen.line("every job in this store has ended: there is nothing to resume")?;
        }
        return Ok(Exit::Success);
    };
    if !runner::is_open(&**store, &job).await? {
        return report_end(&**store, &job, screen).await;
    }
    let ready = ready(&**store, job, file).await?;
    work(store, ready, how, screen).await
}

/// Reports how a job has ended.
async fn report_end(
    store: &dyn Store,
    job: &Job,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let dead = store.counts(&job.id).await?.dead;
    if screen.json {
        screen.object(&JobReport::load(store, &job.id).await?)?;
    } else {
        let id = one_line(&job.id);
        screen.line(format_args!("{id} has ended: there is nothing to resume"))?;
        if dead > 0 {
            let unit = Origin::read(job).map_or(Unit::Item, |origin| origin.unit());
            screen.line(letters_left(dead, unit, &argument(&job.id), &screen.flag))?;
        }
    }
    Ok(if dead > 0 { Exit::DeadLetters } else { Exit::Success })
}

/// Why nothing can be resumed although jobs have not ended: none of them was started from a file.
async fn left_to_programs(store: &dyn Store) -> Result<Option<String>, CommandError> {
    let mut unfinished = Vec::new();
    for job in Job::all(store).await?.into_iter().rev() {
        if Origin::read(&job).is_none() && runner::is_unfinished(store, &job).await? {
            unfinished.push(job);
        }
    }
    let Some(latest) = unfinished.first() else { return Ok(None) };
    let counts = store.counts(&latest.id).await?;
    let (left, all) = (thousands(counts.unfinished()), thousands(counts.total()));
    let others = match unfinished.len() - 1 {
        0 => String::new(),
        others => {
            format!(" (and {} more)", count(u64::try_from(others).unwrap_or(u64::MAX), "job"))
        }
    };
    Ok(Some(format!(
        "{} has not ended: {left} of {all} items are left{others}; {}",
        one_line(&latest.id),
        runner::without_file(&latest.id)
    )))
}

/// After `dlq retry`: runs what was re-driven, job by job.
pub(super) async fn run_again(
    store: &Arc<dyn Store>,
    (jobs, file): (&[String], Option<&Path>),
    how: &RunArguments,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let mut worst = Exit::Success;
    for id in jobs {
        let job = parent_job(&**store, find(&**store, id).await?).await?;
        let ended = work(store, ready(&**store, job, file).await?, how, screen).await?;
        // After a request to stop, do not start the next job.
        if ended == Exit::Stopped {
            return Ok(ended);
        }
        if ended == Exit::DeadLetters {
            worst = ended;
        }
    }
    Ok(worst)
}

/// Whether a job can be resumed: its file exists, and is valid.
pub(super) async fn check(
    store: &dyn Store,
    id: &str,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    ready(store, parent_job(store, find(store, id).await?).await?, file).await.map(drop)
}

/// Why a job cannot be resumed here, if its workflow file is not known.
pub(super) async fn without_file(
    store: &dyn Store,
    id: &str,
) -> Result<Option<String>, CommandError> {
    let job = match Job::find(store, id).await? {
        Some(job) => parent_job(store, job).await?,
        None => return Ok(Some(runner::without_file(id))),
    };
    Ok(Origin::read(&job).is_none().then(|| runner::without_file(&job.id)))
}

pub(super) async fn find(store: &dyn Store, id: &str) -> Result<Job, CommandError> {
    Job::get(store, id).await.map_err(|error| match error {
        WorkflowError::Store(error) => error.into(),
        unknown => CommandError::Usage(chain(&unknown)),
    })
}

/// The job itself, or the job that it is the `reduce` of.
async fn parent_job(store: &dyn Store, job: Job) -> Result<Job, CommandError> {
    match Origin::read(&job).and_then(|origin| origin.reduces) {
        Some(reduced) => find(store, &reduced).await,
        None => Ok(job),
    }
}

/// The job with this id, or the job that it is the `reduce` of; `None` if its items came without a
/// job.
pub(super) async fn whole(store: &dyn Store, id: &str) -> Result<Option<Job>, CommandError> {
    match Job::find(store, id).await? {
        Some(job) => Ok(Some(parent_job(store, job).await?)),
        None => Ok(None),
    }
}

/// The latest job that was started from a file and has not ended.
async fn latest(store: &dyn Store) -> Result<Option<Job>, CommandError> {
    for job in Job::all(store).await?.into_iter().rev() {
        let is_parent = Origin::read(&job).is_some_and(|origin| origin.reduces.is_none());
        if is_parent && runner::is_open(store, &job).await? {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

/// A job of this file that has not ended.
async fn unfinished_job(
    store: &Arc<dyn Store>,
    file: &WorkflowFile,
) -> Result<Option<String>, CommandError> {
    let origin = Origin::file(file);
    for job in Job::all(&**store).await?.into_iter().rev() {
        if Origin::read(&job).as_ref() == Some(&origin) && runner::is_open(&**store, &job).await? {
            return Ok(Some(job.id));
        }
    }
    Ok(None)
}

/// Pairs a job with the current contents of its file, or with the file that was named.
async fn ready(store: &dyn Store, job: Job, file: Option<&Path>) -> Result<Work, CommandError> {
    let origin = Origin::read(&job);
    let (file, is_moved) = match (file, &origin) {
        (Some(file), _) => (files::ready(file)?, true),
        (None, Some(origin)) => (files::ready(&origin.file)?, false),
        (None, None) => return Err(CommandError::Usage(runner::without_file(&job.id))),
    };
    if let Some(origin) = &origin {
        runner::fits(origin, &file).map_err(CommandError::Usage)?;
    }
    if let Some(why) = runner::changed(store, &job, &file).await? {
        return Err(CommandError::Usage(why));
    }
    let checked = if job.input_complete { None } else { checked_before(&file)? };
    Ok(Work { job, file, checked, is_moved })
}

/// Checks an input ahead of the job, which is possible if it is a file that no `setup` writes.
fn checked_before(file: &WorkflowFile) -> Result<Option<CheckedInput>, CommandError> {
    let is_there = |reader: &InputReader| reader.is_file() && !file.has_setup();
    let reader = file.reader().filter(is_there);
    reader
        .map(|reader| reader.check())
        .transpose()
        .map_err(|error| CommandError::File(format!("{error:#}")))
}

/// Works on a job until it ends or has to stop, and reports the result.
async fn work(
    store: &Arc<dyn Store>,
    work: Work,
    how: &RunArguments,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let Work { job, mut file, checked, is_moved } = work;
    let id = job.id.clone();
    if is_moved {
        runner::adopt(&**store, &id, &file).await?;
    }
    let reporter =
        Arc::new(ProgressReporter::new(how, screen.json).expecting(&id, Tasks::in_file(&file)));
    reporter.println(&format!("job {id}: {}", file.path().display()));
    if let Some(hint) = checked.as_ref().and_then(|checked| checked.hint.as_ref()) {
        reporter.println(&format!("hint: {hint}"));
    }
    if how.verbose || how.results.is_some() {
        let tap = Outputs::new(how, Arc::clone(&reporter));
        Arc::make_mut(&mut file.workspace).tap = Some(Arc::new(tap));
    }
    Arc::make_mut(&mut file.workspace).excerpt = Excerpt::of_both(how.keep_output);
    let _hears = {
        let reporter = Arc::clone(&reporter);
        store::on_wait(move |first| {
            if let Some(line) = first {
                reporter.print(line);
            }
            reporter.waits_for_store();
        })
    };
    let (request, requested) = watch::channel(false);
    let listener: JobListener = {
        let reporter = Arc::clone(&reporter);
        let recorders = Arc::clone(&screen.recorders);
        Arc::new(move |event: &JobEvent<'_>| {
            reporter.on_event(event);
            recorders.on_event(event, |text| reporter.print(text));
        })
    };
    let way = RunSettings {
        max_parallel: how.max_parallel.and_then(|most| usize::try_from(most).ok()),
        rate: how.rate,
        lease: how.lease,
        deadline: how.deadline.map(|after| Instant::now() + after),
        listener,
        tell: {
            let reporter = Arc::clone(&reporter);
            Arc::new(move |text: &str| reporter.println(text))
        },
        flag: screen.flag.clone(),
        schedule: Schedule::default(),
    };
    let stop = StopSignal(requested);
    let ended = {
        let running = Box::pin(runner::run(store, job, &file, checked, &way, &stop));
        tokio::select! {
            ended = running => Some(ended),
            () = second_signal(&request, &reporter) => None,
        }
    };
    reporter.finish();
    if let Some(Ok(Reports { unfinished: Some(why), .. })) = &ended {
        reporter.print(&format!("on_finish failed, and the job's result stands: {why}"));
    }
    let flag = screen.flag.clone();
    let shown = argument(&id);
    match ended {
        Some(Ok(reports)) => {
            let again = if reports.job.job.input_complete { "" } else { input_again(&file) };
            print_reports(&reports, &flag, again, screen)
        }
        Some(Err(WorkflowError::Store(error @ StoreError::Replaced { .. }))) => {
            Err(CommandError::Stopped(chain(&error)))
        }
        Some(Err(WorkflowError::Store(error))) => {
            // Report it now: closing the store may take a while.
            report(&CommandError::Stopped(format!(
                "{}\ncompleted work is kept; to resume: retry-workflow{flag} resume {shown}",
                chain(&error)
            )));
            Err(CommandError::Reported)
        }
        Some(Err(error)) => match input_error(&error) {
            Some(wrong) => Err(CommandError::File(format!(
                "{wrong:#}\n\nthe job has started; to resume: retry-workflow{flag} resume \
                 {shown}{}",
                input_again(&file)
            ))),
            None => Err(CommandError::Usage(chain(&error))),
        },
        None => {
            wait_for_release(&**store, &id).await;
            Err(CommandError::Stopped(format!(
                "stopped at once; to resume, and restart what was running: retry-workflow{flag} \
                 resume {shown}{}",
                Job::find(&**store, &id)
                    .await?
                    .filter(|job| !job.input_complete)
                    .map_or("", |_| input_again(&file))
            )))
        }
    }
}

/// The mistake in the input of a job that has started, if that is what stopped it.
fn input_error(error: &WorkflowError) -> Option<&FileError> {
    match error {
        WorkflowError::Input(error) => error.downcast_ref(),
        _ => None,
    }
}

/// What else it takes to resume the job, if its items have not all been read.
fn input_again(file: &WorkflowFile) -> &'static str {
    match file.reader() {
        Some(reader) if reader.is_stdin() => ", with its whole input on stdin again",
        Some(reader) if !reader.is_file() => ", which runs the command of its input again",
        _ => "",
    }
}

/// Waits a moment for dropped leases to be released in the background.
async fn wait_for_release(store: &dyn Store, job: &str) {
    for _ in 0..20 {
        match store.counts(job).await {
            Ok(counts) if counts.leased > 0 => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            _ => break,
        }
    }
}

/// Reports what became of a job, and what to do next.
fn print_reports(
    reports: &Reports,
    flag: &str,
    again: &str,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let Reports { job, setup, reduce, .. } = reports;
    let is_stopped = |report: &JobReport| matches!(report.job.status, JobStatus::Stopped { .. });
    let stopped = setup.is_some() || is_stopped(job) || reduce.as_ref().is_some_and(is_stopped);
    let exit = if stopped {
        Exit::Stopped
    } else if job.dead() > 0 {
        Exit::DeadLetters
    } else {
        Exit::Success
    };
    if screen.json {
        let mut object = json!(job);
        if let Some(setup) = setup {
            object["setup"] = json!(setup);
        }
        if let Some(reduce) = reduce {
            object["reduce"] = json!(reduce);
        }
        if screen.recorders.has_events() {
            object["event"] = json!("report");
        }
        screen.object(&object)?;
        return Ok(exit);
    }
    for report in reports.printed() {
        screen.line(report)?;
    }
    let id = argument(&job.job.id);
    if stopped {
        screen.line(format_args!("to resume: retry-workflow{flag} resume {id}{again}"))?;
    } else if job.dead() > 0 {
        screen.line(letters_left(job.dead(), job.unit(), &id, flag))?;
    }
    Ok(exit)
}

fn letters_left(dead: u64, unit: Unit, id: &str, flag: &str) -> String {
    match unit {
        Unit::Item => {
            let letters = count(dead, "dead letter");
            format!("to inspect {letters}: retry-workflow{flag} dlq stats {id}")
        }
        unit => {
            let failed = count(dead, unit.as_str());
            format!("{failed} failed; to inspect: retry-workflow{flag} dlq list {id}")
        }
    }
}
