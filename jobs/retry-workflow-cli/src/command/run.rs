//! Starts and resumes the jobs of workflow files: the link between the command and the engine.

pub(crate) mod signals;
mod progress;
pub(super) mod keeper;
mod beginning;
mod outputs;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use self::beginning::Chosen;
use self::outputs::OutputTap;
use self::progress::ProgressReporter;
use self::signals::second_signal;
use super::arguments::{BeginArguments, RunArguments};
use super::files;
use super::outcome::{CommandError, Exit, cancelled};
use super::screen::{Screen, report};
use super::store::{self, Address};
use crate::file::input::{CheckedInput, InputReader};
use crate::file::{Schedule, WorkflowFile, names_file};
use crate::runner::{self, FileRun, JobListener, Origin, Reports, RunSettings, Tasks};
use crate::steps::notices::Notices;
use crate::steps::stream::Excerpt;
use crate::template::placeholder::{Meaning, Placeholder};
use crate::terminal::text::{argument, chain, count, one_line, thousands};
use retry_workflow::condition::path::at;
use retry_workflow::job::Unit;
use retry_workflow::{Job, JobEvent, JobReport, JobStatus, Store, StoreError, WorkflowError};

/// A job, and the workflow file that defines it.
pub(super) struct Work {
    pub(super) job: Job,
    pub(super) file: WorkflowFile,
    /// The check of an input that has not been copied to the store yet.
    checked: Option<CheckedInput>,
    /// Nothing new begins: no number of failures stops it.
    is_closing: bool,
}

/// Returns the first placeholder of a job's workflow file that this item has no value for.
pub(super) async fn lacking(
    store: &dyn Store,
    job: &str,
    file: Option<&Path>,
    item: &Value,
) -> Result<Option<String>, CommandError> {
    let origin = whole(store, job).await?.as_ref().and_then(Origin::read);
    let Some(path) = file.or(origin.as_ref().map(|origin| &*origin.file)) else { return Ok(None) };
    let placeholders = files::ready(path)?.reader().map(|reader| reader.placeholders);
    let is_lacking = |placeholder: &Placeholder| match &placeholder.meaning {
        Meaning::Item(path) => at(item, path).is_none(),
        _ => false,
    };
    let lacking = placeholders.unwrap_or_default().into_iter().find(is_lacking);
    Ok(lacking.map(|placeholder| placeholder.written))
}

/// The end of the work on a job in this process.
struct Ended {
    exit: Exit,
    /// A user or a deadline has asked for it, or the store cannot be used: nothing else is begun.
    is_requested: bool,
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
    let mut checked = checked_before(&file)?;
    let store = address.open_or_create().await?;
    let flag = screen.flag.clone();
    let json = screen.json;
    let notify = |text: &str| ProgressReporter::new(how, json).println(text);
    let mut closed = Vec::new();
    let mut exit = Exit::Success;
    let (job, other) = loop {
        let origin = Origin::file(&file);
        let is_unclosed = |job: &Job, of: &Origin| of.is_same(&origin) && !closed.contains(&job.id);
        let unfinished = latest_open(&*store, is_unclosed).await?.map(|job| job.id);
        let known = (unfinished.clone(), &*closed);
        let (job, is_shared) =
            match beginning::choose(&*store, &file, begin, known, &flag, notify).await? {
                Chosen::New(job) => break (job, unfinished),
                Chosen::Unfinished(job) => (job, false),
                Chosen::Shared(job) => (job, true),
                Chosen::Ended(job) => return report_end(&*store, &job, screen).await,
            };
        let closing = match begin {
            BeginArguments { continues: true, job_id: None, .. } => {
                Closing::of(&*store, &file, &job).await?
            }
            _ => None,
        };
        let Some(closing) = closing else {
            // The job follows the path: a link may be gone by the time of a `resume`.
            let file = (!is_shared).then_some(path);
            let found = ready(&*store, job, file, how.restart_items).await?;
            return Ok(exit.max(work(&store, found, how, screen).await?.exit));
        };
        let id = job.id.clone();
        notify(&closing.describe(&id));
        let ended = closing.close(&store, job, is_shared, how, screen).await?;
        exit = exit.max(ended.exit);
        // After a request to stop, do not start the next job.
        if ended.is_requested {
            return Ok(exit);
        }
        closed.push(id);
        // That took a while.
        checked = checked_before(&file)?;
    };
    if let Some(other) = other {
        notify(&format!(
            "this starts a new job, although {} of this file has not ended; to resume that one: \
             retry-workflow{flag} resume {}",
            one_line(&other),
            argument(&other)
        ));
    }
    if let Some(why) = left_behind(&*store, &file).await? {
        notify(&why);
    }
    let new = Work { job, file, checked, is_closing: false };
    Ok(exit.max(work(&store, new, how, screen).await?.exit))
}

/// Returns why a new job is started, although a job that has not ended was started from the same
/// path: the mode has changed, or the path leads to another file.
async fn left_behind(
    store: &dyn Store,
    file: &WorkflowFile,
) -> Result<Option<String>, CommandError> {
    let origin = Origin::file(file);
    let is_left = |_: &Job, of: &Origin| {
        let is_here = of.canonical == origin.canonical || of.file == origin.file;
        is_here && of.reduces.is_none() && !of.is_same(&origin)
    };
    let Some(job) = latest_open(store, is_left).await? else { return Ok(None) };
    let id = one_line(&job.id);
    Ok(Origin::read(&job).map(|of| match runner::fits(&of, file) {
        Err(why) => format!("this starts a new job, although {id} has not ended: {why}"),
        Ok(()) => format!(
            "this starts a new job, although {id} has not ended: {} led to {} when that one began; \
             to continue it with this file: --job-id {} --continue",
            of.file.display(),
            of.canonical.display(),
            argument(&job.id)
        ),
    }))
}

/// A reason for which `run --continue` only brings a job to its end, and then starts a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// Its `skip_after` has passed, and some of its items have begun or are known.
    Late,
    /// The same, and it has no items yet.
    NeverBegun,
    /// Nothing is left but the steps of `on_finish`.
    Finish,
}

impl Closing {
    async fn of(
        store: &dyn Store,
        file: &WorkflowFile,
        job: &Job,
    ) -> Result<Option<Self>, CommandError> {
        if !runner::is_unfinished(store, job).await? {
            return Ok(Some(Self::Finish));
        }
        let skip_after = file.schedule.skip_after.map(|moment| moment.of(job.created));
        if skip_after.is_none_or(|late| late > store.now()) {
            return Ok(None);
        }
        let has_items = job.input_complete || store.counts(&job.id).await?.total() > 0;
        Ok(Some(if has_items { Self::Late } else { Self::NeverBegun }))
    }

    fn describe(self, id: &str) -> String {
        let id = one_line(id);
        match self {
            Self::Late => format!(
                "the `skip_after` of {id} has passed: its items that have begun end, the others are \
                 skipped, and then a new job starts"
            ),
            Self::NeverBegun => format!(
                "the `skip_after` of {id} has passed before it had any items: it ends, and a new job \
                 starts"
            ),
            Self::Finish => {
                format!("the steps of on_finish of {id} run, and then a new job starts")
            }
        }
    }

    async fn close(
        self,
        store: &Arc<dyn Store>,
        mut job: Job,
        is_shared: bool,
        how: &RunArguments,
        screen: &mut Screen,
    ) -> Result<Ended, CommandError> {
        if self != Self::Finish && !is_shared {
            // The input already belongs to the next job.
            Job::cut_short(&**store, &job.id).await?;
            if self == Self::NeverBegun {
                Job::cancel(&**store, &job.id).await?;
                runner::end_reduce(&**store, &job.id).await?;
                Job::cancel_reservation(&**store, &job.id).await?;
            }
            job = find(&**store, &job.id).await?;
        }
        if self == Self::NeverBegun && !is_shared {
            report_end(&**store, &job, screen).await?;
            return Ok(Ended { exit: Exit::Late, is_requested: false });
        }
        let found =
            Work { is_closing: true, ..ready(&**store, job, None, how.restart_items).await? };
        work(store, found, how, screen).await
    }
}

/// `resume [JOB]`: resumes a job; with `None`, the latest that has not ended.
pub(super) async fn resume(
    store: &Arc<dyn Store>,
    (job, file): (Option<&str>, Option<&Path>),
    how: &RunArguments,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let job = match job {
        Some(id) => Some(find_parent(&**store, id).await?),
        None => latest_open(&**store, |_, origin| origin.reduces.is_none()).await?,
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
    let ready = ready(&**store, job, file, how.restart_items).await?;
    Ok(work(store, ready, how, screen).await?.exit)
}

/// Reports how a job has ended.
async fn report_end(
    store: &dyn Store,
    job: &Job,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let unknown = || CommandError::Usage(format!("there is no job {}", one_line(&job.id)));
    let report = JobReport::load(store, &job.id).await?.ok_or_else(unknown)?;
    let exit = Exit::of(&report);
    if screen.json {
        screen.object(&report)?;
    } else {
        let id = one_line(&job.id);
        screen.line(format_args!("{id} has ended: there is nothing to resume"))?;
        let unit = Origin::read(job).map_or(Unit::Item, |origin| origin.unit());
        let report = report.counted_in(unit, None);
        if report.dead() > 0 {
            screen.line(&report)?;
        }
        what_is_left(&report, screen)?;
    }
    Ok(exit)
}

/// Returns why nothing can be resumed although jobs have not ended: none of them was started from a
/// file.
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
    jobs: Vec<Work>,
    how: &RunArguments,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let mut worst = Exit::Success;
    for (place, mut job) in jobs.into_iter().enumerate() {
        if place > 0 {
            // Its file may have been edited in the meantime.
            let file = Some(job.file.path());
            job = prepare(&**store, &job.job.id, file, how.restart_items).await?;
        }
        let ended = work(store, job, how, screen).await?;
        // After a request to stop, do not start the next job.
        worst = worst.max(ended.exit);
        if ended.exit == Exit::Stopped {
            break;
        }
    }
    Ok(worst)
}

/// Pairs the job with this id, or the job that it is the `reduce` of, with its file, if it can be
/// resumed.
pub(super) async fn prepare(
    store: &dyn Store,
    id: &str,
    file: Option<&Path>,
    restarts: bool,
) -> Result<Work, CommandError> {
    let job = find_parent(store, id).await?;
    ready(store, job, file, restarts).await
}

/// Returns why a job cannot be resumed here, if its workflow file is not known.
pub(super) async fn without_file(
    store: &dyn Store,
    id: &str,
) -> Result<Option<String>, CommandError> {
    let job = whole(store, id).await?;
    let has_file = job.as_ref().is_some_and(|job| Origin::read(job).is_some());
    let id = job.as_ref().map_or(id, |job| &job.id);
    Ok((!has_file).then(|| runner::without_file(id)))
}

pub(super) async fn find(store: &dyn Store, id: &str) -> Result<Job, CommandError> {
    Job::get(store, id).await.map_err(|error| match error {
        WorkflowError::Store(error) => error.into(),
        _ if names_file(Path::new(id)) => CommandError::Usage(format!(
            "`{id}` is a file, but this command takes a job, such as `import-1`: `retry-workflow \
             jobs` lists them; to resume the latest job of the file, write `retry-workflow run \
             {id} --continue`"
        )),
        unknown => CommandError::Usage(chain(&unknown)),
    })
}

/// The job with this id, or the job that it is the `reduce` of.
async fn find_parent(store: &dyn Store, id: &str) -> Result<Job, CommandError> {
    parent_job(store, find(store, id).await?).await
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

/// The latest job that was started from a file that `is_meant`, and has not ended.
async fn latest_open(
    store: &dyn Store,
    is_meant: impl Fn(&Job, &Origin) -> bool,
) -> Result<Option<Job>, CommandError> {
    for job in Job::all(store).await?.into_iter().rev() {
        let is_meant = Origin::read(&job).is_some_and(|origin| is_meant(&job, &origin));
        if is_meant && runner::is_open(store, &job).await? {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

/// Pairs a job with the current contents of its file, or with the file that was named.
async fn ready(
    store: &dyn Store,
    job: Job,
    file: Option<&Path>,
    restarts: bool,
) -> Result<Work, CommandError> {
    let origin = Origin::read(&job);
    let file = match (file, &origin) {
        (Some(file), _) => files::ready(file)?,
        (None, Some(origin)) => files::ready(&origin.file)?,
        (None, None) => return Err(CommandError::Usage(runner::without_file(&job.id))),
    };
    if let Some(origin) = &origin {
        runner::fits(origin, &file).map_err(CommandError::Usage)?;
    }
    if let Some(why) = runner::changed(store, &job, &file, restarts).await? {
        return Err(CommandError::Usage(why));
    }
    let checked = if job.input_complete { None } else { checked_before(&file)? };
    Ok(Work { job, file, checked, is_closing: false })
}

/// Checks an input ahead of the job, which is possible if it is a file that no `setup` writes.
fn checked_before(file: &WorkflowFile) -> Result<Option<CheckedInput>, CommandError> {
    let is_there = |reader: &InputReader| reader.is_file() && reader.map.setup.is_none();
    let reader = file.reader().filter(is_there);
    reader
        .map(|reader| reader.check())
        .transpose()
        .map_err(|error| CommandError::Usage(format!("{error:#}")))
}

/// Works on a job until it ends or has to stop, and reports the result.
async fn work(
    store: &Arc<dyn Store>,
    work: Work,
    how: &RunArguments,
    screen: &mut Screen,
) -> Result<Ended, CommandError> {
    let Work { job, mut file, checked, is_closing } = work;
    let id = job.id.clone();
    let moved = runner::adopt(&**store, &job, &file).await?;
    let reporter =
        Arc::new(ProgressReporter::new(how, screen.json).expecting(&id, Tasks::in_file(&file)));
    if let Some(moved) = moved {
        reporter.println(&moved);
    }
    reporter.println(&format!("job {id}: {}", file.path().display()));
    print_hints(&file, checked.as_ref(), &reporter);
    if how.verbose || how.results.is_some() {
        let tap = OutputTap::new(how, Arc::clone(&reporter));
        Arc::make_mut(&mut file.workspace).tap = Some(Arc::new(tap));
    }
    let workspace = Arc::make_mut(&mut file.workspace);
    workspace.excerpt = Excerpt::of_both(how.keep_output);
    workspace.notices = {
        let reporter = Arc::clone(&reporter);
        Notices::new(move |notice| reporter.println(notice))
    };
    let _listening = {
        let reporter = Arc::clone(&reporter);
        store::on_wait(move |first| {
            if let Some(line) = first {
                reporter.print(line);
            }
            reporter.waits_for_store();
        })
    };
    let (request, requested) = watch::channel(false);
    let settings = RunSettings {
        max_parallel: how.max_parallel.and_then(|most| usize::try_from(most).ok()),
        rate: how.rate,
        lease: how.lease,
        deadline: how.deadline.map(|after| Instant::now() + after),
        stop_within: how.stop_within,
        listener: listener(&reporter, screen),
        notify: {
            let reporter = Arc::clone(&reporter);
            Arc::new(move |text: &str| reporter.println(text))
        },
        flag: screen.flag.clone(),
        schedule: Schedule::default(),
        is_closing,
        restart_items: how.restart_items,
    };
    let ended = {
        let run = FileRun { store, file: &file, settings: &settings, stop: &requested };
        let running = Box::pin(runner::run(run, job, checked));
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
            if let Some(wrong) = &reports.input {
                report(&CommandError::Stopped(wrong.clone()));
            }
            let again = if reports.job.job.input_complete { "" } else { input_again(&file) };
            let exit = print_reports(&reports, again, screen)?;
            Ok(Ended { exit, is_requested: reports.is_stop_requested() })
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
            Ok(Ended { exit: Exit::Stopped, is_requested: true })
        }
        Some(Err(error)) => Err(CommandError::Usage(chain(&error))),
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

/// Prints what may be a mistake in the file or in its input.
fn print_hints(file: &WorkflowFile, input: Option<&CheckedInput>, reporter: &ProgressReporter) {
    if let Some(hint) = input.and_then(|input| input.hint.as_ref()) {
        reporter.println(&format!("hint: {hint}"));
    }
    for (at, message) in file.unset().mistakes() {
        let line = at.map_or(1, |(line, _)| line);
        reporter.println(&format!("hint: line {line}: {}", one_line(message)));
    }
}

/// Shows the events of a job.
fn listener(reporter: &Arc<ProgressReporter>, screen: &Screen) -> JobListener {
    let (reporter, events) = (Arc::clone(reporter), screen.events.clone());
    Arc::new(move |event: &JobEvent<'_>| {
        reporter.on_event(event);
        if let Some(events) = &events {
            events.on_event(event);
        }
    })
}

/// Returns the further arguments needed to resume the job, if its items have not all been read.
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
    again: &str,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let Reports { job, setup, reduce, .. } = reports;
    let is_stopped = |report: &JobReport| matches!(report.job.status, JobStatus::Stopped { .. });
    let stopped = setup.is_some() || is_stopped(job) || reduce.as_ref().is_some_and(is_stopped);
    let exit = if stopped { Exit::Stopped } else { Exit::of(job) };
    if screen.json {
        let mut object = json!(job);
        if let Some(setup) = setup {
            object["setup"] = json!(setup);
        }
        if let Some(reduce) = reduce {
            object["reduce"] = json!(reduce);
        }
        if screen.events.is_some() {
            object["event"] = json!("report");
        }
        screen.object(&object)?;
        return Ok(exit);
    }
    for report in reports.printed() {
        screen.line(report)?;
    }
    if stopped {
        let (flag, id) = (&screen.flag, argument(&job.job.id));
        screen.line(format!("to resume: retry-workflow{flag} resume {id}{again}"))?;
    }
    if !stopped || job.more_groups() > 0 {
        what_is_left(job, screen)?;
    }
    Ok(exit)
}

/// Prints the commands for items that have not succeeded when their job ended.
fn what_is_left(report: &JobReport, screen: &mut Screen) -> Result<(), CommandError> {
    let (flag, id) = (screen.flag.clone(), argument(&report.job.id));
    if report.dead() > 0 {
        screen.line(letters_left(report.dead(), report.unit(), &id, &flag))?;
    }
    for (number, class) in [(cancelled(report), "cancelled"), (report.late(), "late")] {
        if number > 0 {
            let skipped = count(number, &format!("{class} {}", report.unit().as_str()));
            screen.line(format_args!(
                "to run {skipped} after all: retry-workflow{flag} dlq retry {id} --class {class}"
            ))?;
        }
    }
    Ok(())
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
