//! `dlq show` and `items show`: an item in full, with all its runs and attempts, and their output.

use crate::command::arguments::ShowArguments;
use crate::command::outcome::CommandError;
use crate::command::screen::{Screen, Tone};
use crate::terminal::text::{duration, lines, moment, one_line, thousands};
use retry_workflow::store::{AttemptOutcome, AttemptRecord};
use retry_workflow::{DeadLetters, Failure, Filter, ItemRecord, ItemState, work};

pub(crate) async fn show(
    letters: &DeadLetters,
    ShowArguments { job, item: id }: &ShowArguments,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let job = match job {
        Some(job) => job.clone(),
        None => find_job(letters, id, &screen.flag).await?,
    };
    let Some(item) = letters.show(&job, id).await? else {
        return Err(no_item(&job, id, &screen.flag));
    };
    if screen.json {
        let mut item = item;
        item.history.extend(work::postponed(&item));
        screen.object(&item)
    } else {
        text(&item, screen)
    }
}

/// The error for an item that a job does not have.
pub(crate) fn no_item(job: &str, id: &str, flag: &str) -> CommandError {
    CommandError::Usage(format!(
        "job {} has no item {}: `retry-workflow{flag} items list` shows its items",
        one_line(job),
        one_line(id)
    ))
}

/// Finds the job that has an item with this id, if there is exactly one.
async fn find_job(letters: &DeadLetters, id: &str, flag: &str) -> Result<String, CommandError> {
    let any = Filter::default().ids([id]).states(ItemState::ALL);
    let mut jobs: Vec<_> =
        letters.list(&any, None, 10).await?.items.into_iter().map(|item| item.job).collect();
    let shown = one_line(id);
    match jobs.len() {
        0 => Err(CommandError::Usage(format!(
            "no job has an item {shown}: `retry-workflow{flag} items list` shows the items"
        ))),
        1 => Ok(jobs.swap_remove(0)),
        _ => {
            let jobs: Vec<_> = jobs.iter().map(|job| one_line(job)).collect();
            Err(CommandError::Usage(format!(
                "several jobs have items {shown}: name one of {}, as in `retry-workflow{flag} \
                 items show {} {shown}`",
                jobs.join(", "),
                jobs[0]
            )))
        }
    }
}

fn text(item: &ItemRecord, screen: &mut Screen) -> Result<(), CommandError> {
    let tone = match item.state {
        ItemState::Dead => Tone::Bad,
        ItemState::Succeeded => Tone::Good,
        _ => Tone::Quiet,
    };
    let state = screen.paint(tone, item.state);
    screen.line(format_args!("item         {}", one_line(&item.id)))?;
    screen.line(format_args!("job          {}", one_line(&item.job)))?;
    screen.line(format_args!("correlation  {}", one_line(&item.correlation)))?;
    screen
        .line(format_args!("state        {state}, run {}, attempt {}", item.run, item.attempt))?;
    if item.priority != 0 {
        screen.line(format_args!("priority     {}", item.priority))?;
    }
    if let Some(due) = item.due {
        let word = if item.state == ItemState::Leased { "leased until" } else { "due" };
        screen.line(format_args!("{word:<12} {}", moment(due)))?;
    }
    if let Some(ended) = item.ended {
        screen.line(format_args!("ended        {}", moment(ended)))?;
    }
    if let Some(step) = work::failed_step(item) {
        screen.line(format_args!("continues    at {}, with --from-failed", one_line(&step)))?;
    }
    if let Some(failure) = &item.failure {
        screen.line(format_args!(
            "signature    {}  {}",
            failure.signature.id(),
            one_line(failure.signature.as_str())
        ))?;
    }
    screen.line("")?;
    section("payload", &payload(&item.payload), screen)?;
    // A command may have written nothing.
    if let Some(output) = item.output.as_ref().filter(|output| !output.is_empty()) {
        section("output", &payload(output), screen)?;
    }
    if let Some(failure) = &item.failure {
        let heading = format!("failure ({})", one_line(&failure.class));
        section(&heading, &failure_text(failure), screen)?;
    }
    history(item, screen)
}

fn section(heading: &str, text: &str, screen: &mut Screen) -> Result<(), CommandError> {
    let heading = screen.paint(Tone::Heading, heading);
    screen.line(heading)?;
    screen.lines(indented(text, "  "))?;
    screen.line("")
}

/// Sanitizes text for the terminal and indents each line.
fn indented(text: &str, space: &str) -> Vec<String> {
    lines(text).lines().map(|line| format!("{space}{line}").trim_end().to_owned()).collect()
}

/// JSON in a readable form; unchanged if it is not JSON.
fn payload(text: &str) -> String {
    if text.is_empty() {
        return "(purged)".to_owned();
    }
    serde_json::from_str::<serde_json::Value>(text)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| text.to_owned())
}

/// The message and its causes, each on its own line, without the causes that the output below
/// already contains.
fn failure_text(failure: &Failure) -> String {
    let mut text_of_failure = failure.message.clone();
    let is_below = |inner: &str| {
        let streams = failure.output.as_ref().map(|output| [&output.stdout, &output.stderr]);
        streams.is_some_and(|streams| streams.iter().any(|text| text.contains(inner)))
    };
    for inner in failure.chain.iter().filter(|inner| !is_below(inner)) {
        text_of_failure.push_str("\ncaused by: ");
        text_of_failure.push_str(inner);
    }
    text_of_failure
}

fn history(item: &ItemRecord, screen: &mut Screen) -> Result<(), CommandError> {
    // Includes the row of postponed attempts, which the history has only once another attempt has
    // ended.
    let history: Vec<_> = item.history.iter().cloned().chain(work::postponed(item)).collect();
    if history.is_empty() {
        return screen.line("no attempts recorded");
    }
    let mut run = None;
    for attempt in &history {
        if run != Some(attempt.run) {
            if run.is_some() {
                screen.line("")?;
            }
            let heading = screen.paint(Tone::Heading, format_args!("run {}", attempt.run));
            screen.line(heading)?;
            run = Some(attempt.run);
        }
        screen.line(attempt_line(attempt, screen))?;
        if let Some(failure) = &attempt.failure {
            screen.lines(indented(
                &format!("{}: {}", one_line(&failure.class), failure_text(failure)),
                "      ",
            ))?;
            output(failure, screen)?;
        }
        // Do not repeat the item's output, which is shown above.
        if let Some(printed) = &attempt.output
            && item.output.as_ref() != Some(printed)
        {
            stream("printed", printed, screen)?;
        }
    }
    Ok(())
}

/// Shows the output of the attempt below it.
fn output(failure: &Failure, screen: &mut Screen) -> Result<(), CommandError> {
    let Some(output) = &failure.output else { return Ok(()) };
    stream("stdout", &output.stdout, screen)?;
    stream("stderr", &output.stderr, screen)
}

fn stream(name: &str, text: &str, screen: &mut Screen) -> Result<(), CommandError> {
    if text.is_empty() {
        return Ok(());
    }
    let heading = screen.paint(Tone::Quiet, name);
    screen.line(format_args!("      {heading}"))?;
    screen.lines(indented(text, "        "))
}

fn attempt_line(attempt: &AttemptRecord, screen: &Screen) -> String {
    let (tone, word) = match attempt.outcome {
        AttemptOutcome::Redriven => {
            let (user, at) = (one_line(&attempt.worker), moment(attempt.started));
            return format!("  re-driven by {user}, {at}");
        }
        AttemptOutcome::Postponed => (Tone::Quiet, "postponed"),
        AttemptOutcome::Succeeded => (Tone::Good, "succeeded"),
        AttemptOutcome::Failed => (Tone::Bad, "failed"),
        AttemptOutcome::Lost => (Tone::Bad, "lost"),
    };
    let times = attempt.failure.as_ref().map_or(1, |failure| failure.times);
    let (times, started) = match times {
        1 => (String::new(), "started"),
        times => (format!(" {} times", thousands(times.into())), "the last time started"),
    };
    let mut line = format!(
        "  {:>2}. {}{times} after {}, {}, by {}",
        attempt.attempt,
        screen.paint(tone, word),
        duration(attempt.duration),
        format_args!("{started} {}", moment(attempt.started)),
        one_line(&attempt.worker)
    );
    if let Some(step) = &attempt.step {
        line.push_str(", in ");
        line.push_str(&one_line(step));
    }
    if !attempt.wait.is_zero() {
        let is_one = attempt.outcome != AttemptOutcome::Postponed;
        line.push_str(if is_one { "; then waited " } else { "; waits of " });
        line.push_str(&duration(attempt.wait));
    }
    line
}
