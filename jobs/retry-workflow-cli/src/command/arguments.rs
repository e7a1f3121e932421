//! The command line of `retry-workflow`. The doc comments here are the help texts.

mod begin;
#[cfg(feature = "board")]
mod board;
mod explain;
mod usage_errors;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};

pub(crate) use self::begin::{BeginArguments, IfEnded, IfRunning};
#[cfg(feature = "board")]
pub(crate) use self::board::BoardArguments;
pub(crate) use self::explain::ExplainArguments;
pub(crate) use self::usage_errors::parse;
use crate::steps::stream::Excerpt;
use crate::yaml::node::known_here;
use retry_rules::foreign_names::{ForeignName, cures};
use retry_workflow::job::InvalidTimestamp;
use retry_workflow::store::Cursor;
use retry_workflow::{ItemState, Rate, Search, Timestamp};

/// Runs jobs of many work items, in a process that may be killed at any time.
///
/// Each completed attempt is recorded in a store. Items that have ended are not run again. Items
/// that have failed permanently become dead letters, which can be inspected and re-driven.
#[derive(Debug, Parser)]
#[command(
    name = "retry-workflow",
    version,
    arg_required_else_help = true,
    after_help = "\
Exit codes:
  0  all items succeeded, or the request was completed
  1  the job stopped early, or its store failed
  2  the arguments or a file are not valid
  3  the job finished and left dead letters or cancelled items
  4  another process is working on a job of the same file
  5  the job finished without dead letters or cancelled items, but items were late

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
        help = "The time to wait for another process that holds the store"
    )]
    pub(crate) busy_timeout: Duration,
    /// Write JSON: one object per line for lists, one object otherwise
    #[arg(long, global = true, help_heading = "Options of every command")]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workflow file from its beginning
    #[command(after_help = "\
Ctrl-C lets running items finish, then prints the command that resumes the job; a second Ctrl-C stops at once.

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
Only items that have not ended are run; attempts, waits, budgets and breakers continue unchanged.

Example:
  retry-workflow resume import-1")]
    Resume {
        /// The job's id, as `jobs` shows it [default: the latest that has not ended]
        job: Option<String>,
        /// The workflow file, if it has moved, or if a program or an import added the items
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
    /// Stop a running job, so that it can be resumed
    #[command(after_help = "\
Its workers start nothing new, let running items finish, and exit with code 1.

Example:
  retry-workflow pause import-1; retry-workflow resume import-1")]
    Pause {
        /// The job's id
        job: String,
    },
    /// End a job early: its remaining items are skipped
    #[command(after_help = "\
Waits for running items to finish. To list the skipped items: items list JOB --state skipped

Example:
  retry-workflow cancel import-1")]
    Cancel {
        /// The job's id
        job: String,
    },
    /// Show the progress of a job, and the reason why it waits
    #[command(after_help = "Example:\n  retry-workflow status import-1 --watch")]
    Status {
        /// The job's id [default: the latest]
        job: Option<String>,
        /// Refresh every second, until the job has ended
        #[arg(long)]
        watch: bool,
    },
    /// Inspect items in any state, or end their waits
    #[command(
        subcommand,
        after_help = "Example:\n  retry-workflow items list import-1 --state pending"
    )]
    Items(Items),
    /// Inspect, re-drive, purge, export or import dead letters
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
Each mistake is shown with its line and file:line:column. The exit code is 2 if there are mistakes.
The keys of workflow files: https://docs.rs/retry-workflow-cli/latest/retry_workflow_cli/guide/

Examples:
  retry-workflow check jobs/*.yml
  retry-workflow check --schema > ~/.local/share/retry-workflow.schema.json")]
    Check {
        /// The workflow files
        #[arg(required_unless_present = "schema", value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Write the JSON schema of workflow files instead, which lets editors complete and check
        /// them
        #[arg(long, conflicts_with = "files")]
        schema: bool,
    },
    /// Show the waits of a policy as a table and a chart
    Explain(ExplainArguments),
    /// Maintain a whole store, or copy jobs to another one
    #[command(
        subcommand,
        after_help = "Example:\n  retry-workflow store copy import.db postgres://ada@db/jobs --job import-1"
    )]
    Store(Upkeep),
    /// Return the space of removed data to the disk
    #[command(after_help = "\
While it works, it needs as much free space as the store has, and no other process may write to the store.

Example:
  retry-workflow jobs prune --older-than 90d && retry-workflow vacuum")]
    Vacuum,
    /// Write the completion script for a shell
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
        /// The folder for them, created if it does not exist
        folder: PathBuf,
    },
}

impl Command {
    /// Returns the arguments with which this command runs a job, if it does.
    pub(crate) fn runs(&self) -> Option<&RunArguments> {
        match self {
            Self::Run { how, .. }
            | Self::Resume { how, .. }
            | Self::Dlq(Dlq::Retry { how, .. }) => Some(how),
            _ => None,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Upkeep {
    /// Show the layout and the size of the store, and check its counts against its items
    #[command(after_help = "\
Nothing is changed. The exit code is 1 if a check fails.

Example:
  retry-workflow store check --store /var/lib/shop/jobs.db")]
    Check,
    /// Migrate the store to the newest layout, as every command that writes to a store does
    #[command(after_help = "\
Older versions of this program cannot use the store afterwards.

Example:
  retry-workflow store migrate --store /var/lib/shop/jobs.db")]
    Migrate,
    /// Write the SQL statements that create a store, so that an administrator can run them
    #[command(after_help = "\
Workers need no more privileges than these grant to their role.

Example:
  retry-workflow store sql --store postgres://db/jobs --role worker | psql -d jobs")]
    Sql {
        /// For Postgres: the role of the workers
        #[arg(long, value_name = "NAME")]
        role: Option<String>,
    },
    /// Copy jobs to another store, with dead letters, histories and waits
    #[command(after_help = "\
No process may work on the jobs in the meantime. If the copy is interrupted, the same command completes it.

Example:
  retry-workflow store copy import.db postgres://ada@db/jobs --job import-1")]
    Copy {
        /// The store to copy from: FILE, sqlite:FILE or postgres://…
        from: OsString,
        /// The store to copy to, created if it does not exist
        to: OsString,
        /// Only this job [default: all]
        #[arg(long)]
        job: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// Remove jobs permanently, with their items, dead letters and histories
    #[command(after_help = "Example:\n  retry-workflow jobs rm import-1 import-2")]
    Rm {
        /// The jobs' ids
        #[arg(required = true, value_name = "JOB")]
        jobs: Vec<String>,
        /// Also remove jobs that have not ended, or that have dead letters
        #[arg(long)]
        force: bool,
    },
    /// Remove all jobs that ended long ago
    #[command(after_help = "\
Jobs that are not finished are kept, and so are those with dead letters.

Example:
  retry-workflow jobs prune --older-than 90d --dry-run")]
    Prune {
        /// Only jobs that ended longer ago than this
        #[arg(long, value_name = "TIME", value_parser = retry_rules::duration::parse)]
        older_than: Duration,
        /// Also remove jobs that have dead letters
        #[arg(long)]
        with_dead_letters: bool,
        /// Only list the jobs that would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Items {
    /// List items
    #[command(after_help = "\
With --json: one object per line; each has `next`, the cursor of the next page, or null on the last page.

Examples:
  retry-workflow items list import-1 --state pending --state leased
  retry-workflow items list --item order-17 --json | jq .output")]
    List {
        #[command(flatten)]
        which: FilterArguments,
        /// Only in this state; can be repeated [default: any]
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
    /// Make items due now that wait for their next attempt, for example after an outage
    #[command(after_help = "\
Attempts and budgets stay unchanged. An open breaker, `not_before` and limits still apply.

Example:
  retry-workflow items due import-1")]
    Due {
        /// The job's id
        job: String,
    },
    /// Cancel items: skip those that wait, and end what runs for them
    #[command(after_help = "\
Their class is `cancelled`; `dlq retry --class cancelled` runs them after all. The commands of an item that runs are
killed within seconds. Items that have ended are left unchanged.

Example:
  retry-workflow items cancel import-1 order-17 order-18")]
    Cancel {
        /// The job's id
        job: String,
        /// The items' ids
        #[arg(required = true, value_name = "ITEM")]
        items: Vec<String>,
    },
}

/// The item to show.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArguments {
    /// The job's id; optional if only one job has an item with this id
    #[arg(value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// The item's id
    #[arg(required = true)]
    pub(crate) item: String,
}

/// The part of a list to show.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PageArguments {
    /// The number of entries to show
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = positive::<u32>)]
    pub(crate) limit: u32,
    /// Start after this cursor, which the previous page has shown
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    pub(crate) after: Option<Cursor>,
}

/// The options for running a job.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunArguments {
    /// The number of items that run at the same time [default: as in the file]
    #[arg(long, value_name = "N", value_parser = positive::<u32>)]
    pub(crate) max_parallel: Option<u32>,
    /// The number of attempts that start per unit of time, in all processes together, such as 10/s
    /// or 600/m, in place of the file's rates without `per` and `cost` [default: as in the file]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    #[arg(
        long,
        value_name = "TIME",
        value_parser = lease,
        default_value = "30s",
        help = "The time for which the items of this process stay reserved if it is killed; then \
                another process may run them"
    )]
    pub(crate) lease: Duration,
    /// Stop the job this long after this process has started it, so that it can be resumed
    #[arg(long, value_name = "TIME", value_parser = retry_rules::duration::parse)]
    pub(crate) deadline: Option<Duration>,
    /// The time for which running items may end after SIGTERM, Ctrl-C or anything else that stops
    /// the job; then they are released, and start again with `resume` [default: 30s after the
    /// deadline, otherwise no limit]
    #[arg(long, value_name = "TIME", value_parser = retry_rules::duration::parse)]
    pub(crate) stop_within: Option<Duration>,
    /// Let items start over, finished steps included, if they cannot continue because steps that
    /// they have finished were edited. Each starts when its wait ends; `items due` ends all waits
    #[arg(long)]
    pub(crate) restart_items: bool,
    /// Print plain lines instead of a progress bar
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Print only the report at the end
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the output of commands on standard error while they run, each line prefixed with its
    /// item
    #[arg(long, short, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    #[arg(
        long,
        value_name = "DIR",
        help = "Save all output of commands to files: DIR/ITEM/RUN-ATTEMPT.stdout and .stderr"
    )]
    pub(crate) results: Option<PathBuf>,
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = size,
        default_value = "64KiB",
        help = "The amount of a failed attempt's output to keep in the store: the beginning and the \
                end of stdout and stderr together; 0 for nothing, at most 1MiB. \
                Of a successful attempt, the last 1 KiB is kept"
    )]
    pub(crate) keep_output: usize,
    #[arg(
        long,
        help = "Print events as JSON, one per line, and the report as the last line; implies \
                --json"
    )]
    pub(crate) events: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Dlq {
    /// List dead letters
    #[command(after_help = "\
With --json: one object per line; each has `next`, the cursor of the next page, or null on the last page.

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
    /// Count dead letters, grouped by similar failures
    #[command(after_help = "\
The digits on the left are the id of a signature; `--signature` takes them, or their beginning.

Example:
  retry-workflow dlq stats import-1")]
    Stats {
        #[command(flatten)]
        which: FilterArguments,
    },
    /// Re-drive dead letters: run them again
    #[command(after_help = "\
Each item starts a new run, with all its attempts, a fresh budget, the same correlation id and its history.

Examples:
  retry-workflow dlq retry --signature 3f9a --dry-run
  retry-workflow dlq retry import-1 --rate 10/s
  retry-workflow dlq retry import-1 --from-failed")]
    Retry {
        #[command(flatten)]
        which: FilterArguments,
        #[command(flatten)]
        redrive: RedriveArguments,
        #[command(flatten)]
        how: RunArguments,
    },
    /// Purge dead letters: delete payload, history and failure permanently
    #[command(after_help = "\
The ids of the items are kept, as skipped ones, so that the items are not added to the job again.

Example:
  retry-workflow dlq purge import-1 --until 2026-01-01 --yes")]
    Purge {
        #[command(flatten)]
        which: FilterArguments,
        /// All dead letters of the store
        #[arg(long)]
        all: bool,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
        /// Only print the number of dead letters that would be purged
        #[arg(long)]
        dry_run: bool,
    },
    /// Write dead letters with their histories, one JSON object per line
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
    /// Import dead letters that `export` has written; existing items are left unchanged
    #[command(after_help = "\
A file is checked completely before anything is imported. Lines from standard input are imported as they arrive.

Examples:
  retry-workflow dlq import letters.jsonl
  zcat letters.jsonl.gz | retry-workflow dlq import - --job retried")]
    Import {
        /// The file; - for standard input
        file: PathBuf,
        /// Import into this job, not into the jobs that the lines name
        #[arg(long)]
        job: Option<String>,
    },
}

impl PageArguments {
    /// The largest number of items on a page.
    pub(crate) fn most(self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }
}

/// The conditions of dead letters; each has to hold.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Only of this job
    #[arg(value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Only with this signature: its text, its id, or the beginning of the id
    #[arg(long, value_name = "ID|TEXT")]
    pub(crate) signature: Option<String>,
    #[arg(
        long,
        help = "Only with this class: network, timeout, server_error, rate_limit, conflict, panic, lost, \
        payload, dependency, cancelled, late, postponed, other"
    )]
    pub(crate) class: Option<String>,
    /// Only if they ended at this time or later: 2026-11-21, 2026-11-21T08:00:00Z, or 2h for two
    /// hours ago
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Timestamp>,
    /// Only if they ended before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Timestamp>,
    /// Only if the message of the failure, or of one of its causes, contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Only if the payload matches, such as 'item.priority >= 5 && item.region == "eu"'
    #[arg(long = "where", value_name = "CONDITION", value_parser = Search::condition)]
    pub(crate) condition: Option<Search>,
    /// Only with this id; can be repeated: --item A --item B
    #[arg(long = "item", value_name = "ID", action = ArgAction::Append)]
    pub(crate) items: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RedriveArguments {
    /// All dead letters of the store
    #[arg(long)]
    pub(crate) all: bool,
    /// Items that were skipped, as by `on_item_failure: skip`, in place of dead letters
    #[arg(long)]
    pub(crate) skipped: bool,
    /// The largest number of items to re-drive
    #[arg(long, value_name = "N", value_parser = positive::<u64>)]
    pub(crate) max: Option<u64>,
    /// Only print the number of dead letters that would be re-driven
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace the payload of the item with the JSON in this file; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) edit: Option<PathBuf>,
    /// Continue at the step that failed: the steps before it do not run again. Not with --edit,
    /// because their results belong to the old payload
    #[arg(long, conflicts_with = "edit")]
    pub(crate) from_failed: bool,
    /// Only make the items pending: a running worker or `resume` runs them
    #[arg(long)]
    pub(crate) later: bool,
    /// The workflow file, if it has moved, or if a program or an import added the items
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// A lease is renewed three times per period; with a shorter one, a worker could lose its items.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

fn lease(text: &str) -> Result<Duration, String> {
    let lease = retry_rules::duration::parse(text).map_err(|error| error.to_string())?;
    if lease < SHORTEST_LEASE {
        return Err(
            "a lease this short would end before it can be renewed: write 100ms or more".to_owned()
        );
    }
    Ok(lease)
}

/// Parses a point in time; a bare duration means that long ago.
fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().or_else(|error: InvalidTimestamp| {
        let ago = retry_rules::duration::parse(text.trim()).map_err(|_| error.to_string())?;
        Ok(Timestamp::now() - ago)
    })
}

/// Parses a size in bytes: `4096`, `64KiB`, `1m`.
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

/// Parses a whole number from 1 on.
fn positive<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, &'static str> {
    let number = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or("write a whole number, 1 or more")
}

/// States of items in other tools, and what is written here.
const STATES: &[ForeignName] = &[
    ("failed failure error", "`dead`, or `pending` for those that are to be retried"),
    ("running active inprogress started", "`leased`"),
    ("done ok success successful completed finished", "`succeeded`"),
    ("waiting queued new retrying scheduled", "`pending`"),
];

fn state(text: &str) -> Result<ItemState, String> {
    let known = ItemState::ALL.into_iter().find(|state| state.as_str() == text);
    known.ok_or_else(|| match cures(text, "", STATES).next() {
        Some(meant) => format!("write {meant}"),
        None => known_here(text, &ItemState::ALL.map(ItemState::as_str)).split_off(": ".len()),
    })
}

fn cursor(text: &str) -> Result<Cursor, String> {
    text.parse().map(Cursor).map_err(|_| {
        format!(
            "\"{}\" is not a cursor: write the number after `--after` from the previous page",
            text.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests;
