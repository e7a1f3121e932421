//! The progress of a job: a bar on a terminal, plain lines elsewhere, and nothing with `--json` or
//! `--quiet`. All of it goes to standard error.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::command::arguments::RunArguments;
use crate::command::screen::terminal_width;
use crate::runner::{Tasks, TasksOfFile};
use crate::terminal::text::{count, failed, one_line, percent, thousands};
use retry_workflow::job::Unit;
use retry_workflow::{Counts, ItemFailure, JobEvent, StopReason, WaitReason};

/// The state of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) counts: Counts,
    /// Set if all items are known.
    pub(super) total_known: bool,
    /// The number of tasks, if the file defines it.
    pub(super) tasks: Option<Tasks>,
    /// The number of items that this process is running.
    pub(super) running: usize,
    /// The cause for which the job waits.
    pub(super) waits_for: Option<WaitReason>,
    /// Another process has locked the store, or its server cannot be used.
    pub(super) waits_for_store: bool,
}

/// Describes a wait; `running` is the number of handlers that run here.
fn describe(reason: WaitReason, running: usize) -> Option<String> {
    let what = match reason {
        WaitReason::Due { wait, .. } => format!("next attempt in {}", in_seconds(wait)),
        WaitReason::Lease { wait, .. } => {
            format!("waiting for another worker, whose lease lasts {}", in_seconds(wait))
        }
        WaitReason::Breaker { wait, .. } => format!("breaker open for {}", in_seconds(wait)),
        WaitReason::Start { wait, .. } => format!("starts in {}", in_seconds(wait)),
        // A rate of many a second would only flicker.
        WaitReason::Rate { limit, wait, .. } if wait < Duration::from_secs(1) => {
            format!("at {limit}")
        }
        WaitReason::Rate { limit, wait, .. } => {
            format!("at {limit}, next start in {}", in_seconds(wait))
        }
        WaitReason::Alone => "a suspect item waits to run alone".to_owned(),
        WaitReason::NewWorker { wait, .. } => {
            format!(
                "a suspect item waits for {} more, so that kills in a row blame none",
                in_seconds(wait)
            )
        }
        WaitReason::Resources => "waiting for resources".to_owned(),
        WaitReason::Throttled(throttle) => format!("{throttle} at the same time"),
        WaitReason::Suspect => "a suspect item runs alone".to_owned(),
        WaitReason::OtherJob => "waiting for another job".to_owned(),
        WaitReason::Stop => {
            let runs = if running == 1 { "runs" } else { "run" };
            format!("waiting for {running} that {runs}")
        }
        // A reason of a later version of the library.
        _ => return None,
    };
    Some(what)
}

impl Progress {
    /// Returns the noun for its items.
    fn unit(&self) -> Unit {
        self.tasks.map_or(Unit::Item, Tasks::unit)
    }

    const fn is_total_known(&self) -> bool {
        self.total_known || self.tasks.is_some()
    }

    /// Returns how many have ended, and how many there are.
    fn ended_and_total(&self) -> (u64, u64) {
        match self.tasks {
            Some(tasks) => tasks.progress(&self.counts),
            None => (self.counts.ended(), self.counts.total()),
        }
    }
}

/// Shows the progress of a job. Events may come from any thread.
#[derive(Debug)]
pub(super) struct ProgressReporter {
    output: Output,
    /// The expected job, and the tasks of its parts.
    job: String,
    tasks: TasksOfFile,
    state: Mutex<JobState>,
}

#[derive(Debug)]
enum Output {
    Silent,
    Bar(ProgressBar),
    Lines,
}

/// The events of a job so far, and the part that was shown.
#[derive(Debug, Default)]
struct JobState {
    progress: Progress,
    since: Option<Since>,
}

/// The state when the job began here, and what was shown last.
#[derive(Clone, Debug)]
struct Since {
    begun: Instant,
    ended: u64,
    shown_at: Instant,
    shown: String,
}

/// The shortest time between two plain lines.
const PAUSE: Duration = Duration::from_secs(5);

impl ProgressReporter {
    pub(super) fn new(how: &RunArguments, json: bool) -> Self {
        let output = if json || how.quiet {
            Output::Silent
        } else if std::io::stderr().is_terminal() && !how.no_progress {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            // Draw nothing before there are items.
            match ProgressStyle::with_template("{msg}") {
                Ok(style) => Output::Bar(bar.with_style(style)),
                Err(_) => Output::Lines,
            }
        } else {
            Output::Lines
        };
        let (job, tasks) = (String::new(), TasksOfFile::default());
        Self { output, job, tasks, state: Mutex::default() }
    }

    /// Sets the tasks of a job and of its `reduce`.
    pub(super) fn expecting(self, job: &str, tasks: TasksOfFile) -> Self {
        Self { job: job.to_owned(), tasks, ..self }
    }

    /// Shows an event of a job: for [`Workflow::on_event`](retry_workflow::Workflow::on_event).
    pub(super) fn on_event(&self, event: &JobEvent<'_>) {
        match *event {
            JobEvent::Started { job, counts, .. } => {
                let mut state = self.state.lock();
                *state = JobState::default();
                let tasks = self.tasks.of(job, &self.job);
                self.update(&mut state, Progress { counts, tasks, ..Progress::default() });
            }
            JobEvent::Progress { counts, input_complete, running, waits_for, .. } => {
                let mut state = self.state.lock();
                let progress = Progress {
                    counts,
                    total_known: input_complete,
                    tasks: state.progress.tasks,
                    running,
                    waits_for,
                    waits_for_store: false,
                };
                self.update(&mut state, progress);
            }
            JobEvent::Failures(failures) => {
                let unit = self.state.lock().progress.unit();
                for failure in failures {
                    let ItemFailure { item, attempt, state, .. } = failure;
                    let state = if unit == Unit::Item { state.as_str() } else { "failed" };
                    let attempts = count(u64::from(*attempt), "attempt");
                    self.println(&format!("{item}: {state} after {attempts}: {}", failure.failure));
                }
            }
            JobEvent::Input { new, changed, gone, .. } => {
                let parts = [
                    (new, "new"),
                    (changed, "changed, which stay as they were"),
                    (gone, "no longer in the input, which stay in the job"),
                ];
                let parts = parts.iter().filter(|(number, _)| *number > 0);
                let parts: Vec<_> =
                    parts.map(|(number, what)| format!("{} {what}", thousands(*number))).collect();
                if !parts.is_empty() {
                    self.println(&format!("items: {}", parts.join(", ")));
                }
            }
            JobEvent::Breaker(transition) => self.println(&transition.to_string()),
            JobEvent::NotBegun { why, max_parallel, .. } => {
                self.println(&format!("warning: {why}"));
                self.println(&format!(
                    "items that could not begin are put back, and fewer run at the same time: \
                     {max_parallel} for now"
                ));
            }
            // A requested stop has already been reported.
            JobEvent::Stopping { reason: StopReason::Requested, .. } => {}
            JobEvent::Stopping { reason, .. } => self.println(&format!("stopping: {reason}")),
            _ => {}
        }
    }

    /// Shows, until the next event, that the job waits for the store.
    pub(super) fn waits_for_store(&self) {
        let mut state = self.state.lock();
        let progress = Progress { waits_for_store: true, ..state.progress };
        self.update(&mut state, progress);
    }

    /// Takes over the new state and shows it.
    fn update(&self, state: &mut JobState, progress: Progress) {
        let now = Instant::now();
        // Show the beginning of a wait at once.
        let begins_to_wait = progress.waits_for.is_some() && state.progress.waits_for.is_none();
        state.progress = progress;
        // The first items have not been read yet.
        if progress.counts.total() == 0 {
            return;
        }
        let (ended, total) = progress.ended_and_total();
        let since = state.since.get_or_insert_with(|| Since {
            begun: now,
            ended,
            shown_at: now,
            shown: String::new(),
        });
        let rate = rate(ended.saturating_sub(since.ended), now - since.begun);
        let line = line(&progress, rate);
        match &self.output {
            Output::Silent => {}
            Output::Bar(bar) => {
                let template = template(&progress, terminal_width(std::io::stderr()));
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏░"));
                }
                bar.set_message(line);
                bar.set_length(total);
                bar.set_position(ended);
                // Draw position and text together: indicatif may skip the last of several quick
                // updates.
                bar.force_draw();
            }
            Output::Lines => {
                let is_due =
                    since.shown.is_empty() || begins_to_wait || now - since.shown_at >= PAUSE;
                if is_due && line != since.shown {
                    print_line(&line);
                    since.shown = line;
                    since.shown_at = now;
                }
            }
        }
    }

    /// Prints a separate line, above the bar. The text may come from outside, so it is sanitized.
    pub(super) fn println(&self, text: &str) {
        let text = one_line(text);
        match &self.output {
            Output::Silent => {}
            Output::Bar(bar) => bar.suspend(|| print_line(&text)),
            Output::Lines => print_line(&text),
        }
    }

    /// Like `println`, but even in quiet mode: the user asked for this text.
    pub(super) fn print(&self, text: &str) {
        match &self.output {
            Output::Silent => print_line(&one_line(text)),
            _ => self.println(text),
        }
    }

    /// Removes the bar, because the job has ended.
    pub(super) fn finish(&self) {
        if let Output::Bar(bar) = &self.output {
            bar.finish_and_clear();
        }
    }
}

/// A template that is never wider than the terminal: a line that wraps would not be erased.
const fn template(progress: &Progress, columns: usize) -> &'static str {
    match (progress.is_total_known(), columns) {
        (true, 72..) => "{bar:32.green} {wide_msg}",
        (true, 40..) => "{bar:8.green} {wide_msg}",
        (true, _) => "{wide_msg}",
        (false, _) => "{spinner} {wide_msg}",
    }
}

/// Ignores errors, because standard error may be closed.
fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Items per second; `None` at first, while the rate would mean little.
fn rate(ended: u64, time: Duration) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a rate is no exact number")]
    let ended = ended as f64;
    (time >= Duration::from_secs(2) && ended > 0.0).then(|| ended / time.as_secs_f64())
}

/// `412 of 1,000 items (41 %), 3 dead letters, 12.3/s, 48s left, breaker open for 12s`.
fn line(progress: &Progress, rate: Option<f64>) -> String {
    let counts = &progress.counts;
    let (ended, total) = progress.ended_and_total();
    let unit = progress.unit();
    let mut line = if progress.is_total_known() {
        let (shown, percent) = (thousands(ended), percent(ended, total));
        format!("{shown} of {} ({percent} %)", count(total, unit.as_str()))
    } else {
        format!("{} of {} so far", thousands(ended), count(total, unit.as_str()))
    };
    if counts.dead > 0 {
        let _ = write!(line, ", {}", failed(counts.dead, unit));
    }
    if counts.skipped > 0 {
        let _ = write!(line, ", {} skipped", thousands(counts.skipped));
    }
    if let Some(rate) = rate {
        let _ = if rate >= 10.0 {
            write!(line, ", {rate:.0}/s")
        } else {
            write!(line, ", {rate:.1}/s")
        };
        #[expect(clippy::cast_precision_loss, reason = "an estimate is no exact number")]
        let left = Duration::try_from_secs_f64(total.saturating_sub(ended) as f64 / rate);
        if let Ok(left) = left
            && progress.is_total_known()
            && !left.is_zero()
        {
            let _ = write!(line, ", {} left", in_seconds(left));
        }
    }
    let waits_for = progress.waits_for.and_then(|reason| describe(reason, progress.running));
    if progress.waits_for_store {
        line += ", waiting for the store";
    } else if let Some(waits_for) = waits_for {
        let _ = write!(line, ", {waits_for}");
    }
    line
}

/// Rounds up, so that the time left is never shown as nothing.
fn in_seconds(duration: Duration) -> String {
    let more = u64::from(duration.subsec_nanos() > 0);
    let seconds = duration.as_secs().saturating_add(more);
    retry_rules::duration::format(Duration::from_secs(seconds)).to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::command::arguments::Arguments;

    fn at(succeeded: u64, dead: u64, pending: u64, total_known: bool) -> Progress {
        let mut counts = Counts::default();
        (counts.pending, counts.succeeded, counts.dead) = (pending, succeeded, dead);
        Progress { counts, total_known, ..Progress::default() }
    }

    #[test]
    fn a_progress_line_shows_counts_rate_and_time_left() {
        let known = at(409, 3, 588, true);
        assert_eq!(line(&known, None), "412 of 1,000 items (41 %), 3 dead letters");
        assert_eq!(
            line(&known, Some(12.0)),
            "412 of 1,000 items (41 %), 3 dead letters, 12/s, 49s left"
        );
        assert_eq!(line(&at(1, 0, 1, false), Some(0.5)), "1 of 2 items so far, 0.5/s");
        let chain = Tasks { number: 3, is_chain: true };
        let stopped = Progress { tasks: Some(chain), ..at(1, 1, 0, false) };
        assert_eq!(line(&stopped, None), "1 of 3 steps (33 %), 1 failed");
        let graph = Tasks { number: 4, is_chain: false };
        let failed = Progress { tasks: Some(graph), ..stopped };
        assert_eq!(line(&failed, None), "2 of 4 tasks (50 %), 1 failed");
        assert_eq!(line(&at(0, 0, 0, true), Some(f64::MIN_POSITIVE)), "0 of 0 items (0 %), 0.0/s");
    }

    #[test]
    fn a_progress_line_names_the_reason_for_a_wait() {
        let waits = |waits_for, running| {
            let progress = Progress { waits_for: Some(waits_for), running, ..at(0, 0, 2, true) };
            line(&progress, None)
        };
        assert_eq!(
            waits(WaitReason::Alone, 1),
            "0 of 2 items (0 %), a suspect item waits to run alone"
        );
        assert_eq!(waits(WaitReason::Stop, 2), "0 of 2 items (0 %), waiting for 2 that run");
        assert_eq!(waits(WaitReason::Stop, 1), "0 of 2 items (0 %), waiting for 1 that runs");
        let store = Progress { waits_for_store: true, ..at(0, 0, 2, true) };
        assert_eq!(line(&store, None), "0 of 2 items (0 %), waiting for the store");
    }

    fn reporter(line: &str, json: bool) -> ProgressReporter {
        let words = std::iter::once("retry-workflow").chain(line.split(' '));
        let arguments = Arguments::try_parse_from(words).unwrap();
        ProgressReporter::new(arguments.command.runs().unwrap(), json)
    }

    #[test]
    fn nothing_is_shown_to_machines_or_with_quiet() {
        assert!(matches!(reporter("run job.yml --quiet", false).output, Output::Silent));
        assert!(matches!(reporter("run job.yml", true).output, Output::Silent));
        let reporter = reporter("run job.yml --no-progress", false);
        assert!(matches!(reporter.output, Output::Lines));
        reporter.update(&mut reporter.state.lock(), at(1, 0, 1, true));
        reporter.on_event(&JobEvent::Failures(&[]));
        reporter.println("order-\x1b[2J failed");
        reporter.finish();
    }
}
