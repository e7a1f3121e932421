//! What may be written after `retry-workflow`. The comments are the help texts.

mod begin;
#[cfg(feature = "board")]
mod board;
mod condition;
mod explain;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};

pub(crate) use self::begin::{BeginArguments, IfRunning};
#[cfg(feature = "board")]
pub(crate) use self::board::BoardArguments;
use self::condition::Condition;
pub(crate) use self::explain::ExplainArguments;
use crate::steps::stream::Excerpt;
use retry_workflow::{Cursor, InvalidTimestamp, ItemState, Rate, Timestamp};

/// Runs jobs of many work items, on a process that may be killed at any time.
///
/// Each settled attempt is kept in a store, one file: what ended is not done again, and what
/// failed for good is a dead letter to be looked at and taken back.
#[derive(Debug, Parser)]
#[command(
    name = "retry-workflow",
    version,
    arg_required_else_help = true,
    after_help = "\
Exit codes:
  0  all items succeeded, or what was asked for is done
  1  the job stopped before its end, or its store failed
  2  the arguments or a file cannot be used
  3  the job came to its end and left dead letters
  4  another process works on a job of the same file

Example:
  retry-workflow run job.yml; retry-workflow dlq stats"
)]
pub(crate) struct Arguments {
    #[arg(
        long,
        global = true,
        value_name = "STORE",
        help_heading = "Options of every command",
        help = "The store: FILE, sqlite:FILE or postgres://user@host/database?schema=retry [default: \
                $RETRY_WORKFLOW_STORE, else retry-workflow.db in this folder]"
    )]
    pub(crate) store: Option<OsString>,
    #[arg(
        long,
        global = true,
        value_name = "TIME",
        value_parser = retry_rules::duration::parse,
        default_value = "60s",
        help_heading = "Options of every command",
        help = "How long another process that holds the store is waited for"
    )]
    pub(crate) busy_timeout: Duration,
    /// Write JSON: an object a line for lists, one object for the rest
    #[arg(long, global = true, help_heading = "Options of every command")]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workflow file from its beginning
    #[command(after_help = "\
Ctrl-C lets running items end, and prints the line that resumes the job; a second one stops at once.

Example:
  retry-workflow run job.yml --max-parallel 8")]
    Run {
        /// The workflow file, in YAML
        file: PathBuf,
        #[command(flatten)]
        begin: BeginArguments,
        #[command(flatten)]
        how: RunArguments,
    },
    /// Resume a job that was stopped or killed
    #[command(after_help = "\
Only items that have not ended are worked on; attempts, waits, budgets and breakers go on as they were.

Example:
  retry-workflow resume import-1")]
    Resume {
        /// The job's id, as `jobs` shows it [default: the latest that has not ended]
        job: Option<String>,
        /// The workflow file, where it is another one by now, or the items came from elsewhere
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        how: RunArguments,
    },
    /// List the jobs of the store, or remove some
    #[command(after_help = "Example:\n  retry-workflow jobs --store /var/lib/shop/jobs.db")]
    Jobs {
        #[command(subcommand)]
        what: Option<Jobs>,
    },
    /// Stop a job that runs, so that it can be resumed
    #[command(after_help = "\
Whoever works on it starts nothing more, lets end what runs, and leaves with exit code 1.

Example:
  retry-workflow pause import-1; retry-workflow resume import-1")]
    Pause {
        /// The job's id
        job: String,
    },
    /// End a job before its end: what is left of it is skipped
    #[command(after_help = "\
What runs comes to its end, and is waited for. What was left out: items list JOB --state skipped

Example:
  retry-workflow cancel import-1")]
    Cancel {
        /// The job's id
        job: String,
    },
    /// Show how far a job is, and what it waits for
    #[command(after_help = "Example:\n  retry-workflow status import-1 --watch")]
    Status {
        /// The job's id [default: the latest]
        job: Option<String>,
        /// Show it again each second, until the job has ended
        #[arg(long)]
        watch: bool,
    },
    /// Look at items, whatever has become of them
    #[command(
        subcommand,
        after_help = "Example:\n  retry-workflow items list import-1 --state pending"
    )]
    Items(Items),
    /// Look at dead letters, take them back, carry them elsewhere
    #[command(subcommand, after_help = "Example:\n  retry-workflow dlq stats")]
    Dlq(Dlq),
    /// Serve pages that show jobs, dead letters and items
    #[cfg(feature = "board")]
    #[command(after_help = "\
Nothing can be changed without --allow-actions. Ctrl-C ends it.

Examples:
  retry-workflow board
  retry-workflow board --listen 0.0.0.0:7878 --token-file ~/.board-token --allow-actions")]
    Board(BoardArguments),
    /// Check workflow files without running anything
    #[command(after_help = "\
A mistake is shown with file:line:column and the line. The exit code is 2 if there is one.
The keys of workflow files: retry-workflow-cli/WORKFLOWS.md

Examples:
  retry-workflow check jobs/*.yml
  retry-workflow check --schema > ~/.local/share/retry-workflow.schema.json")]
    Check {
        /// The workflow files
        #[arg(required_unless_present = "schema", value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Write the JSON schema of workflow files instead, by which editors complete and check them
        #[arg(long, conflicts_with = "files")]
        schema: bool,
    },
    /// Show the waits of a policy as a table and a chart
    Explain(ExplainArguments),
    /// Look after a whole store, or move jobs to another one
    #[command(
        subcommand,
        after_help = "Example:\n  retry-workflow store copy import.db postgres://ada@db/jobs --job import-1"
    )]
    Store(Upkeep),
    /// Give the room of what was removed back to the disk
    #[command(after_help = "\
It needs as much room again while it works, and no other process may write to the store meanwhile.

Example:
  retry-workflow jobs prune --older-than 90d && retry-workflow vacuum")]
    Vacuum,
    /// Write what a shell needs to complete this command's arguments
    #[command(after_help = "\
Examples:
  retry-workflow completions bash > ~/.local/share/bash-completion/completions/retry-workflow
  retry-workflow completions fish > ~/.config/fish/completions/retry-workflow.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command
    #[command(after_help = "Example:\n  retry-workflow man ~/.local/share/man/man1")]
    Man {
        /// The folder for them, which is made if it is not there
        folder: PathBuf,
    },
}

impl Command {
    /// How it runs a job, if it does.
    pub(crate) fn runs(&self) -> Option<&RunArguments> {
        match self {
            Self::Run { how, .. }
            | Self::Resume { how, .. }
            | Self::Dlq(Dlq::Retry { how, .. }) => Some(how),
            _ => None,
        }
    }

    /// Whether it may run the commands of a job.
    pub(crate) fn works(&self) -> bool {
        matches!(self, Self::Run { .. } | Self::Resume { .. } | Self::Dlq(Dlq::Retry { .. }))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Upkeep {
    /// Say its layout and its size, and whether its counts are those of its items
    #[command(after_help = "\
Nothing is changed. The exit code is 1 if something is wrong.

Example:
  retry-workflow store check --store /var/lib/shop/jobs.db")]
    Check,
    /// Bring it to the newest layout, as every command that writes to it does
    #[command(after_help = "\
An older version of this program cannot use it afterwards.

Example:
  retry-workflow store migrate --store /var/lib/shop/jobs.db")]
    Migrate,
    /// Write the statements that make a store, for whoever runs them by hand
    #[command(after_help = "\
Workers need no more rights than these give to their role.

Example:
  retry-workflow store sql --store postgres://db/jobs --role worker | psql -d jobs")]
    Sql {
        /// Of Postgres: the role that the workers have
        #[arg(long, value_name = "NAME")]
        role: Option<String>,
    },
    /// Copy jobs to another store, with dead letters, histories and waits
    #[command(after_help = "\
Nobody may work on a job meanwhile. If this is killed, the same line completes it.

Example:
  retry-workflow store copy import.db postgres://ada@db/jobs --job import-1")]
    Copy {
        /// The store that has them: FILE, sqlite:FILE or postgres://…
        from: OsString,
        /// The store that gets them, which is made if it is not there
        to: OsString,
        /// This job [default: all]
        #[arg(long)]
        job: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// Remove jobs for good: items, dead letters, histories
    #[command(after_help = "Example:\n  retry-workflow jobs rm import-1 import-2")]
    Rm {
        /// The jobs' ids
        #[arg(required = true, value_name = "JOB")]
        jobs: Vec<String>,
        /// Those too that have not ended, or have dead letters
        #[arg(long)]
        force: bool,
    },
    /// Remove all jobs that ended long ago
    #[command(after_help = "\
Jobs that are not finished stay, and so do those that have dead letters.

Example:
  retry-workflow jobs prune --older-than 90d --dry-run")]
    Prune {
        /// That ended longer ago than this
        #[arg(long, value_name = "TIME", value_parser = duration)]
        older_than: Duration,
        /// Those too that have dead letters
        #[arg(long)]
        with_dead_letters: bool,
        /// Only list them
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one of them, in each process")]
pub(crate) enum Items {
    /// List items
    #[command(after_help = "\
With --json: an object a line; each names the cursor of what follows this list, `next`, or null where \
nothing does.

Examples:
  retry-workflow items list import-1 --state pending --state leased
  retry-workflow items list --item order-17 --json | jq .output")]
    List {
        #[command(flatten)]
        which: FilterArguments,
        /// In this state; may be given several times [default: any]
        #[arg(long = "state", value_name = "STATE", value_parser = state, action = ArgAction::Append)]
        states: Vec<ItemState>,
        #[command(flatten)]
        page: PageArguments,
    },
    /// Show an item: its payload, its output, all its runs and attempts
    #[command(
        allow_missing_positional = true,
        after_help = "\
Example:
  retry-workflow items show import-1 order-17"
    )]
    Show(ShowArguments),
}

/// Which item is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArguments {
    /// The job's id; not needed where one job alone has an item of this id
    pub(crate) job: Option<String>,
    /// The item's id
    #[arg(required = true)]
    pub(crate) item: String,
}

/// Which part of a list is shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PageArguments {
    /// So many
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Begin after this place, which the list before this one has shown
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    pub(crate) after: Option<Cursor>,
}

/// How a job is run.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunArguments {
    /// Items that are worked on at the same time [default: what the file says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_parallel: Option<u32>,
    #[arg(
        long,
        value_name = "TIME",
        value_parser = lease,
        default_value = "30s",
        help = "How long its items wait for this process, if that is killed, before another one \
                may have them"
    )]
    pub(crate) lease: Duration,
    /// Stop the job so long after this process has begun with it, so that it can be resumed
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// Plain lines instead of a progress bar
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Nothing but the report at the end
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print what commands write while they run, each line behind its item, on standard error
    #[arg(long, short, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    #[arg(
        long,
        value_name = "DIR",
        help = "Write all that commands write to files: DIR/ITEM/RUN-ATTEMPT.stdout and .stderr"
    )]
    pub(crate) results: Option<PathBuf>,
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = size,
        default_value = "64KiB",
        help = "So much of what a failed attempt writes stays in the store: the beginnings and the \
                ends of stdout and stderr together; 0 for nothing, at most 1MiB. Of one that succeeds \
                the last 1 KiB stay"
    )]
    pub(crate) keep_output: usize,
    #[arg(
        long,
        value_name = "FILE",
        help = "Add a line to this file for each attempt that has ended, in the columns of GNU \
                parallel's joblog"
    )]
    pub(crate) joblog: Option<PathBuf>,
    #[arg(
        long,
        help = "Print what happens as JSON, one event a line, and the report as the last one; \
                implies --json"
    )]
    pub(crate) events: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Dlq {
    /// List dead letters
    #[command(after_help = "\
With --json: an object a line; each names the cursor of what follows this list, `next`, or null where \
nothing does.

Examples:
  retry-workflow dlq list --class timeout --since '2h ago'
  retry-workflow dlq list import-1 --limit 50 --after 50")]
    List {
        #[command(flatten)]
        which: FilterArguments,
        #[command(flatten)]
        page: PageArguments,
    },
    /// Show an item: its payload, all its runs and attempts
    #[command(
        allow_missing_positional = true,
        after_help = "\
Example:
  retry-workflow dlq show import-1 order-17"
    )]
    Show(ShowArguments),
    /// Count dead letters, like failures together
    #[command(after_help = "\
The digits on the left name a signature; `--signature` takes them, or the beginning of them.

Example:
  retry-workflow dlq stats import-1")]
    Stats {
        #[command(flatten)]
        which: FilterArguments,
    },
    /// Take dead letters back and run them again
    #[command(after_help = "\
Each item begins a new run: all its attempts, a fresh budget, the same correlation id, its history kept.

Examples:
  retry-workflow dlq retry --signature 3f9a --dry-run
  retry-workflow dlq retry import-1 --rate 10/s")]
    Retry {
        #[command(flatten)]
        which: FilterArguments,
        #[command(flatten)]
        redrive: RedriveArguments,
        #[command(flatten)]
        how: RunArguments,
    },
    /// Empty dead letters for good: payload, history and failure
    #[command(after_help = "\
The ids of the items stay, as skipped ones, so that they are not added to the job again.

Example:
  retry-workflow dlq purge import-1 --until 2026-01-01 --yes")]
    Purge {
        #[command(flatten)]
        which: FilterArguments,
        /// All dead letters of the store
        #[arg(long)]
        all: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Only say how many it would be
        #[arg(long)]
        dry_run: bool,
    },
    /// Write dead letters with their histories, one JSON object a line
    #[command(after_help = "\
Examples:
  retry-workflow dlq export import-1 --output letters.jsonl
  retry-workflow dlq export | gzip > letters.jsonl.gz")]
    Export {
        #[command(flatten)]
        which: FilterArguments,
        /// A new file [default: standard output]
        #[arg(long, short, value_name = "PATH")]
        output: Option<PathBuf>,
    },
    /// Read what `export` wrote; items that are there already are left as they are
    #[command(after_help = "\
A file is checked to its end before anything is imported. Lines from standard input are imported \
as they come.

Examples:
  retry-workflow dlq import letters.jsonl
  zcat letters.jsonl.gz | retry-workflow dlq import - --job retried")]
    Import {
        /// The file; - for standard input
        file: PathBuf,
        /// Into this job, whatever the lines say
        #[arg(long)]
        job: Option<String>,
    },
}

impl PageArguments {
    /// How many items at the most.
    pub(crate) fn most(self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }
}

/// Which dead letters are meant; each condition has to hold.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Of this job
    #[arg(value_name = "JOB", conflicts_with = "job_option")]
    pub(crate) job: Option<String>,
    /// The same as JOB
    #[arg(long = "job", value_name = "JOB", id = "job_option")]
    pub(crate) job_option: Option<String>,
    /// With this signature: its text, its id, or the beginning of the id
    #[arg(long, value_name = "ID|TEXT")]
    pub(crate) signature: Option<String>,
    #[arg(
        long,
        help = "With this class: network, timeout, server_error, rate_limit, panic, lost, \
        payload, dependency, other"
    )]
    pub(crate) class: Option<String>,
    /// That ended then or later: 2026-11-21, 2026-11-21T08:00:00Z, or 2h for two hours ago
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Timestamp>,
    /// That ended before
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Timestamp>,
    /// Whose failure says this, in its message or in what led to it
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Whose payload is like this: 'item.priority >= 5 && item.region == "eu"'
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse)]
    pub(crate) condition: Option<Condition>,
    /// With this id, or with one of several: --item A --item B
    #[arg(long = "item", value_name = "ID", action = ArgAction::Append)]
    pub(crate) items: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RedriveArguments {
    /// All dead letters of the store
    #[arg(long)]
    pub(crate) all: bool,
    /// No more than this many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max: Option<u64>,
    /// No faster than this: 10/s, 600/m, 100/h
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    /// Only say how many it would be
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Give the item that is named the payload in this file, JSON; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) edit: Option<PathBuf>,
    /// Take them back, and leave running them to a worker or to `resume`
    #[arg(long)]
    pub(crate) later: bool,
    /// The workflow file, where it is another one by now, or the items came from elsewhere
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// A lease is renewed three times in its time: one that is shorter would be lost.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

impl Default for RunArguments {
    fn default() -> Self {
        Self {
            max_parallel: None,
            lease: Duration::from_secs(30),
            deadline: None,
            no_progress: false,
            quiet: false,
            verbose: false,
            results: None,
            keep_output: Excerpt::DEFAULT,
            joblog: None,
            events: false,
        }
    }
}

fn lease(text: &str) -> Result<Duration, String> {
    let lease = retry_rules::duration::parse(text).map_err(|error| error.to_string())?;
    if lease < SHORTEST_LEASE {
        return Err("it would end before it can be renewed: write 100ms or more".to_owned());
    }
    Ok(lease)
}

/// A point in time; a duration alone is how long ago it was.
fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().or_else(|error: InvalidTimestamp| {
        let ago = retry_rules::duration::parse(text.trim()).map_err(|_| error.to_string())?;
        Ok(Timestamp::now() - ago)
    })
}

fn duration(text: &str) -> Result<Duration, String> {
    retry_rules::duration::parse(text).map_err(|error| error.to_string())
}

/// Bytes: `4096`, `64KiB`, `1m`.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "k" | "kb" | "kib" => Some(1024),
        "m" | "mb" | "mib" => Some(1024 * 1024),
        _ => None,
    };
    let bytes = number.parse::<usize>().ok().zip(factor);
    let bytes = bytes.and_then(|(number, factor)| number.checked_mul(factor));
    bytes
        .filter(|bytes| *bytes <= Excerpt::MOST)
        .ok_or_else(|| "write bytes, KiB or MiB, such as 256KiB, and no more than 1MiB".to_owned())
}

fn state(text: &str) -> Result<ItemState, String> {
    ItemState::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(|| {
        let words: Vec<_> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
        format!("the states are {}", words.join(", "))
    })
}

fn cursor(text: &str) -> Result<Cursor, String> {
    text.parse().map(Cursor).map_err(|_| {
        format!(
            "\"{}\" is not a place in a list: write the number after `--after` of the list before",
            text.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests;
