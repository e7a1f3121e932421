//! `status`: the progress of a job, what it is waiting for, and what to do about it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::JobSummary;
use crate::command::outcome::CommandError;
use crate::command::run::find;
use crate::command::screen::{Screen, Tone};
use crate::runner::{self, Origin};
use crate::terminal::text::{argument, count, failed, moment, one_line, percent, thousands};
use retry_workflow::job::{PendingRequest, Unit};
use retry_workflow::words::total;
use retry_workflow::{Counts, Filter, ItemRecord, ItemState, Job, Store, work};

/// The refresh interval of `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// A job, its latest `reduce`, and whether the job can be resumed.
struct Status {
    job: JobSummary,
    reduce: Option<JobSummary>,
    is_unfinished: bool,
    /// The job has ended, and the steps of `on_finish` have not run to their end after that.
    is_finish_due: bool,
    /// The process that runs them.
    finishes: Option<u32>,
    /// `None` if they are not counted.
    postponed: Option<Postponed>,
}

/// The number of times that waiting items were postponed, by the class of the failure.
type Postponed = BTreeMap<String, u64>;

/// Among more waiting items, none are searched for postponed ones.
const MOST_SEARCHED: u64 = 1_000;

/// Shows a job; with `None`, the latest one that is not the `reduce` of another job. With `watch`,
/// refreshes the display until the job has ended.
pub(crate) async fn status(
    store: &dyn Store,
    id: Option<&str>,
    watch: bool,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let id = match id {
        Some(id) => find(store, id).await?.id,
        None => latest(store, &screen.flag).await?.id,
    };
    loop {
        let is_running = once(store, &id, screen).await?;
        if !(watch && is_running) {
            return Ok(());
        }
        screen.flush()?;
        tokio::time::sleep(WATCH_INTERVAL).await;
        screen.next()?;
    }
}

/// Returns the postponements of a job of which so many items wait; `None` if they are too many.
async fn postponed(
    store: &dyn Store,
    job: &str,
    waiting: u64,
) -> Result<Option<Postponed>, CommandError> {
    if waiting > MOST_SEARCHED {
        return Ok(None);
    }
    let mut postponed = Postponed::new();
    let waiting = Filter::job(job).states([ItemState::Pending]);
    let add = |item: ItemRecord| {
        if let Some(failure) = work::postponed(&item).and_then(|row| row.failure) {
            *postponed.entry(failure.class).or_default() += u64::from(failure.times);
        }
    };
    store.each_item(&waiting, add).await?;
    Ok(Some(postponed))
}

/// Shows the job once, and returns whether it is still running.
async fn once(store: &dyn Store, id: &str, screen: &mut Screen) -> Result<bool, CommandError> {
    // Timestamps come from the store's clock, which may differ from the local one.
    screen.now = store.now();
    let job = find(store, id).await?;
    let reduce = match runner::find_reduce(store, &job.id).await? {
        Some(reduce) => Some(JobSummary::load(store, &reduce).await?),
        None => None,
    };
    let is_finish_due = runner::is_finish_due(store, &job).await?;
    let job_summary = JobSummary::load(store, &job).await?;
    let status = Status {
        finishes: runner::live_worker(store, &job).await?,
        is_finish_due,
        is_unfinished: runner::is_unfinished(store, &job).await?,
        postponed: postponed(store, &job.id, job_summary.counts.pending).await?,
        job: job_summary,
        reduce,
    };
    if screen.json {
        let mut object = json!(status.job);
        if is_finish_due {
            object["on_finish"] = json!("due");
        }
        // `null` if they are not counted.
        if status.postponed.as_ref().is_none_or(|classes| !classes.is_empty()) {
            object["postponed"] = json!(status.postponed);
        }
        if let Some(reduce) = &status.reduce {
            object["reduce"] = json!(reduce);
        }
        screen.object(&object)?;
    } else {
        status.text(screen)?;
    }
    Ok(status.is_unfinished && status.job.status == "running")
}

async fn latest(store: &dyn Store, flag: &str) -> Result<Job, CommandError> {
    let jobs = Job::all(store).await?;
    let is_whole = |job: &Job| Origin::read(job).is_none_or(|origin| origin.reduces.is_none());
    jobs.into_iter().rfind(is_whole).ok_or_else(|| {
        CommandError::Usage(format!(
            "the store has no jobs yet: start one with `retry-workflow{flag} run FILE`"
        ))
    })
}

impl Status {
    fn text(&self, screen: &mut Screen) -> Result<(), CommandError> {
        let Self { job, reduce, is_unfinished, is_finish_due, finishes, postponed } = self;
        let flag = screen.flag.clone();
        let counts = &job.counts;
        screen.line(format_args!("job       {}", one_line(&job.id)))?;
        screen.line(format_args!("status    {}", when(job, screen)))?;
        if let Some(reason) = &job.reason {
            screen.line(format_args!("because   {}", one_line(reason)))?;
        }
        if let Some(PendingRequest { request, at, .. }) = job.requested {
            let (request, at) = (request.as_str(), moment(at));
            screen.line(format_args!("requested {request} at {at}: running items finish first"))?;
        }
        let unit = job.unit.as_str();
        screen.line(format_args!("{unit}s     {}: {}", job.items(), states(counts, job.unit)))?;
        if counts.total() > 0 {
            screen.line(format_args!("          {}", bar(counts, job.progress())))?;
        }
        let lost = match counts.lost {
            0 => String::new(),
            lost => format!(", {} lost with their workers", thousands(lost)),
        };
        screen.line(format_args!(
            "attempts  {}{lost}; worked {}, waited {}",
            thousands(counts.attempts),
            total(counts.worked),
            total(counts.waited)
        ))?;
        if let Some(reduce) = reduce {
            reduce_line(reduce, screen)?;
        }
        if postponed.is_none() {
            let waiting = count(counts.pending, "item");
            screen.line(format_args!("postponed not counted: {waiting} wait"))?;
        }
        for (class, times) in postponed.iter().flatten() {
            let times = count(*times, "time");
            screen.line(format_args!("postponed {times}: {}", one_line(class)))?;
        }
        for (word, text) in job.waits.lines(counts, job.unit, screen.now) {
            screen.line(format_args!("{word:<10}{text}"))?;
        }
        let id = argument(&job.id);
        if *is_unfinished {
            screen.line(format_args!("resume    retry-workflow{flag} resume {id}"))?;
        } else if *is_finish_due {
            let text = match finishes {
                Some(process) => format!("its steps run in process {process}"),
                None => {
                    format!("its steps have not run to their end: retry-workflow{flag} resume {id}")
                }
            };
            screen.line(format_args!("on_finish {text}"))?;
        }
        if counts.dead > 0 && job.unit == Unit::Item {
            screen.line(format_args!("letters   retry-workflow{flag} dlq stats {id}"))?;
        } else if counts.dead > 0 {
            screen.line(format_args!("failures  retry-workflow{flag} dlq list {id}"))?;
        }
        Ok(())
    }
}

fn reduce_line(reduce: &JobSummary, screen: &mut Screen) -> Result<(), CommandError> {
    let (when, items) = (when(reduce, screen), states(&reduce.counts, reduce.unit));
    screen.line(format_args!("reduce    {when}: {items}"))?;
    if let Some(reason) = &reduce.reason {
        screen.line(format_args!("          {}", one_line(reason)))?;
    }
    Ok(())
}

/// The status with its time: `finished at 2026-11-21 08:00:00Z`.
fn when(job: &JobSummary, screen: &Screen) -> String {
    let tone = match job.status {
        "finished" if job.counts.dead == 0 => Tone::Good,
        "stopped" | "finished" => Tone::Bad,
        _ => Tone::Heading,
    };
    let status = screen.paint(tone, job.status);
    match job.ended {
        Some(ended) if job.status != "running" => format!("{status} at {}", moment(ended)),
        // It was killed, and could not record when.
        None if job.status == "stopped" => status,
        _ => format!("{status} since {}", moment(job.created)),
    }
}

fn states(counts: &Counts, unit: Unit) -> String {
    let mut states = vec![format!("{} succeeded", thousands(counts.succeeded))];
    if counts.dead > 0 {
        states.push(failed(counts.dead, unit));
    }
    for (number, word) in
        [(counts.skipped, "skipped"), (counts.leased, "with a worker"), (counts.pending, "waiting")]
    {
        if number > 0 {
            states.push(format!("{} {word}", thousands(number)));
        }
    }
    states.join(", ")
}

/// A bar of what succeeded, what failed and what is left.
fn bar(counts: &Counts, (done, total): (u64, u64)) -> String {
    const CELLS: u64 = 40;
    let total = total.max(1);
    let cells = |number: u64| {
        let cells = u128::from(number) * u128::from(CELLS) / u128::from(total);
        usize::try_from(cells).unwrap_or(0)
    };
    let (ended, succeeded) = (cells(counts.ended()), cells(counts.succeeded));
    // Keep a few failures among many items visible.
    let failed = (ended - succeeded).max(usize::from(counts.failed() > 0));
    let left = 40_usize.saturating_sub(succeeded.saturating_add(failed));
    let succeeded = 40_usize.saturating_sub(failed + left);
    let percent = percent(done, total);
    format!("{}{}{} {percent} %", "█".repeat(succeeded), "▓".repeat(failed), "░".repeat(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shows_even_a_single_failure() {
        let counts = |succeeded, dead, pending| {
            let mut counts = Counts::default();
            (counts.succeeded, counts.dead, counts.pending) = (succeeded, dead, pending);
            counts
        };
        let bar = |counts: &Counts| bar(counts, (counts.ended(), counts.total()));
        assert_eq!(bar(&counts(0, 0, 4)), format!("{} 0 %", "░".repeat(40)));
        assert_eq!(bar(&counts(1_000, 1, 0)), format!("{}▓ 100 %", "█".repeat(39)));
        assert_eq!(bar(&counts(0, 3, 0)), format!("{} 100 %", "▓".repeat(40)));
        assert_eq!(
            bar(&counts(2, 1, 1)),
            format!("{}{}{} 75 %", "█".repeat(20), "▓".repeat(10), "░".repeat(10))
        );
        let stopped = super::bar(&counts(1, 1, 0), (1, 4));
        assert_eq!(stopped, format!("{}{}{} 25 %", "█".repeat(10), "▓".repeat(10), "░".repeat(20)));
        assert!(!bar(&counts(u64::MAX / 2, 1, 1)).is_empty());
    }
}
