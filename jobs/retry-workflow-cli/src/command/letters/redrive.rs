//! `dlq retry` and `dlq purge`: the commands that change dead letters.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use serde_json::json;

use crate::command::arguments::{RedriveArguments, RunArguments};
use crate::command::outcome::CommandError;
use crate::command::run::{self, Work};
use crate::command::screen::Screen;
use crate::file::input::read::reserved;
use crate::runner;
use crate::terminal::text::{argument, count, one_line};
use retry_workflow::{DeadLetters, Failure, Filter, Operator, Redrive, Store};

/// Re-drives dead letters; returns the jobs to run, which have pending items again.
pub(super) async fn retry(
    operator: &Operator,
    filter: &Filter,
    (arguments, how): (&RedriveArguments, &RunArguments),
    screen: &mut Screen,
) -> Result<Vec<Work>, CommandError> {
    let (letters, rate) = (operator.letters(), how.rate);
    let jobs = if arguments.later || (arguments.dry_run && filter.job.is_some()) {
        Jobs::default()
    } else {
        Jobs::find(letters, filter, arguments.file.as_deref()).await?
    };
    jobs.report();
    let redrive = Redrive::within(arguments.max, rate).from_failed(arguments.from_failed);
    if arguments.dry_run {
        let preview = letters.preview(&jobs.filters(filter), redrive).await?;
        let left_out = jobs.left_out();
        let object = json!({ "dry_run": true, "retried": preview.items(), "left_out": left_out });
        screen.result(&object, preview)?;
        return Ok(Vec::new());
    }
    // Report whatever prevents the jobs from running before anything is changed.
    let mut ready = Vec::new();
    for job in &jobs.able {
        let file = arguments.file.as_deref();
        let work = run::prepare(letters.store(), job, file, how.restart_items).await?;
        let of_job = of_job(filter, job);
        if arguments.from_failed
            && !how.restart_items
            && let Some(why) =
                runner::letters_changed(letters.store(), &work.job, &work.file, &of_job).await?
        {
            return Err(CommandError::Usage(why));
        }
        ready.push(work);
    }
    if let Some(file) = &arguments.edit {
        edit(operator, filter, file, arguments).await?;
    }
    let taken = operator.redrive(&jobs.filters(filter), redrive).await?;
    let is_own = |class: &&String| !Failure::CLASSES.contains(&class.as_str());
    if taken == 0
        && let Some(class) = filter.class.as_ref().filter(is_own)
    {
        return Err(CommandError::Usage(format!(
            "no dead letter has the class \"{}\": the classes are {}",
            one_line(class),
            Failure::CLASSES.join(", ")
        )));
    }
    let runs_now = taken > 0 && !arguments.later;
    if screen.json && !runs_now {
        screen.object(&json!({
            "dry_run": false, "retried": taken, "left_out": jobs.left_out(),
        }))?;
    } else if !screen.json {
        let rate = rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
        // Skipped items are selected by their class.
        let what = if filter.states.is_some() { "item" } else { "dead letter" };
        let from = if arguments.from_failed { ", from the failed step" } else { "" };
        screen.line(format_args!("{} re-driven{rate}{from}", count(taken, what)))?;
        if taken > 0 && arguments.later {
            let text = match &filter.job {
                Some(job) => run_later(letters.store(), job, &screen.flag).await?,
                None => format!(
                    "a running worker picks them up; if there is none: retry-workflow{} resume",
                    screen.flag
                ),
            };
            screen.line(text)?;
        }
    }
    // Let the reader see this before the work begins.
    screen.flush()?;
    Ok(if runs_now { ready } else { Vec::new() })
}

/// Returns a sentence that names the process that runs the pending items of a job, or the command
/// that starts one.
pub(crate) async fn run_later(
    store: &dyn Store,
    id: &str,
    flag: &str,
) -> Result<String, CommandError> {
    let job = run::whole(store, id).await?;
    let id = job.as_ref().map_or(id, |job| &job.id);
    let (name, id) = (one_line(id), argument(id));
    let process = match &job {
        Some(job) => crate::runner::live_worker(store, job).await?,
        None => None,
    };
    Ok(match process {
        Some(process) => format!("process {process}, which works on {name}, picks them up"),
        None => {
            format!("no process works on {name}; to run them: retry-workflow{flag} resume {id}")
        }
    })
}

/// Replaces the payload of the one selected item with the contents of a file.
async fn edit(
    operator: &Operator,
    filter: &Filter,
    file: &Path,
    arguments: &RedriveArguments,
) -> Result<(), CommandError> {
    let letters = operator.letters();
    let page = letters.list(filter, None, 2).await?;
    let [letter] = &page.items[..] else {
        let found = letters.count(filter).await?;
        return Err(CommandError::Usage(format!(
            "--edit is for one item, but {} selected: name the job and --item ID",
            if found == 1 { "1 is".to_owned() } else { format!("{found} are") }
        )));
    };
    let payload = if file == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let shown = file.display();
    let payload =
        payload.map_err(|error| CommandError::Usage(format!("cannot read {shown}: {error}")))?;
    if let Some((_, why)) = reserved(&payload) {
        return Err(CommandError::Usage(format!("{shown}: {why}")));
    }
    let item = serde_json::from_str(&payload)
        .map_err(|error| CommandError::Usage(format!("{shown} is not JSON: {error}")))?;
    let workflow = arguments.file.as_deref();
    match run::lacking(letters.store(), &letter.job, workflow, &item).await {
        Ok(None) => {}
        Ok(Some(placeholder)) => {
            return Err(CommandError::Usage(format!(
                "{shown} has nothing for `{placeholder}` of the workflow file: add it"
            )));
        }
        // The file may be on another machine.
        Err(CommandError::Usage(why)) if arguments.later => {
            note(format_args!(
                "{shown} is not checked for what the steps need: {}",
                one_line(&why)
            ));
        }
        Err(error) => return Err(error),
    }
    if !operator.edit(&letter.job, &letter.id, payload.trim()).await? {
        let id = one_line(&letter.id);
        return Err(CommandError::Usage(format!("{id} is no longer a dead letter")));
    }
    Ok(())
}

/// The jobs that have the selected dead letters.
#[derive(Debug, Default)]
struct Jobs {
    /// Their workflow files are known.
    able: Vec<String>,
    /// Jobs that cannot be resumed here, and why.
    unable: Vec<(String, String)>,
}

impl Jobs {
    /// Finds the jobs. A job that is named is always included, so that its problems are reported as
    /// errors; if none is named, jobs without a known file are left out.
    async fn find(
        letters: &DeadLetters,
        filter: &Filter,
        file: Option<&Path>,
    ) -> Result<Self, CommandError> {
        if let Some(job) = &filter.job {
            return Ok(Self { able: vec![job.clone()], unable: Vec::new() });
        }
        let mut found = Self::default();
        let mut jobs = BTreeSet::new();
        letters.store().each_item(filter, |item| jobs.extend([item.job])).await?;
        for job in jobs {
            let why = match file {
                Some(_) => None,
                None => run::without_file(letters.store(), &job).await?,
            };
            match why {
                Some(why) => found.unable.push((job, why)),
                None => found.able.push(job),
            }
        }
        if found.able.is_empty() && !found.unable.is_empty() {
            let whys: Vec<_> = found.unable.into_iter().map(|(_, why)| why).collect();
            return Err(CommandError::Usage(whys.join("\n")));
        }
        Ok(found)
    }

    /// The filters that select what is re-driven.
    fn filters(&self, filter: &Filter) -> Vec<Filter> {
        if self.unable.is_empty() {
            return vec![filter.clone()];
        }
        self.able.iter().map(|job| of_job(filter, job)).collect()
    }

    fn left_out(&self) -> Vec<&str> {
        self.unable.iter().map(|(job, _)| job.as_str()).collect()
    }

    /// Reports which jobs are left out, and why.
    fn report(&self) {
        for (_, why) in &self.unable {
            note(format_args!("left out: {}", one_line(why)));
        }
    }
}

fn note(text: fmt::Arguments<'_>) {
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// The same filter, for one job.
fn of_job(filter: &Filter, job: &str) -> Filter {
    let mut filter = filter.clone();
    filter.job = Some(job.to_owned());
    filter
}

/// The user's consent to a command that cannot be undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consent {
    pub(super) yes: bool,
    pub(super) dry_run: bool,
}

pub(super) async fn purge(
    operator: &Operator,
    filter: &Filter,
    consent: Consent,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let mut meant = operator.letters().count(filter).await?;
    if consent.dry_run {
        let line = format!("{} would be purged", count(meant, "dead letter"));
        return screen.result(&json!({ "dry_run": true, "purged": meant }), line);
    }
    if meant > 0 && !consent.yes && !agreed(meant)? {
        meant = 0;
    }
    let purged = if meant > 0 { operator.purge(filter).await? } else { 0 };
    let line = format!("{} purged", count(purged, "dead letter"));
    screen.result(&json!({ "dry_run": false, "purged": purged }), line)
}

/// Asks for confirmation on the terminal.
fn agreed(meant: u64) -> Result<bool, CommandError> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(CommandError::Usage(format!(
            "{} would be purged for good: confirm with --yes, or look first with --dry-run",
            count(meant, "dead letter")
        )));
    }
    let question = format!("Purge {} for good? [y/N] ", count(meant, "dead letter"));
    io::stderr().write_all(question.as_bytes())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
