//! The command `retry-workflow`: arguments, tables for people, JSON for machines,
//! exit codes. What it does is in the library.

mod arguments;
mod arguments_explain;
mod beginning;
mod condition;
mod engine;
mod event_lines;
mod explain;
mod files;
mod items;
mod joblog;
mod jobs;
mod keeper;
mod manual;
mod letters;
mod outcome;
mod outputs;
mod progress;
mod recorders;
mod removal;
mod requests;
mod screen;
mod signals;
mod status;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Parser as _;

use self::arguments::{Arguments, Command};
use self::keeper::Role;
use self::outcome::{CommandError, Exit};
use self::recorders::Recorders;
use self::screen::Screen;
use crate::terminal::text::{lines, one_line};
use retry_workflow::SqliteStore;
use retry_workflow::store::SqliteOptions;

/// The name of a store in the current folder, where none is given.
const STORE: &str = "retry-workflow.db";
/// Names the store where `--store` does not.
const STORE_VARIABLE: &str = "RETRY_WORKFLOW_STORE";

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let duties = if arguments.command.works() {
        match keeper::begin() {
            Role::Keeper(code) => return code,
            Role::Worker(duties) => Some(duties),
        }
    } else {
        None
    };
    let mut screen = Screen::standard(arguments.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return ended(Err(CommandError::Stopped(format!("no threads to run on: {error}"))));
        }
    };
    if let Some(duties) = duties {
        duties.begin(&runtime);
    }
    let result = runtime.block_on(run(arguments, &mut screen));
    // A failure to write may show only now.
    let flushed = screen.flush();
    ended(result.and_then(|exit| flushed.map(|()| exit)))
}

fn ended(result: Result<Exit, CommandError>) -> ExitCode {
    match result {
        Ok(exit) => exit.code(),
        Err(error) => {
            report(&error);
            error.code()
        }
    }
}

/// Prints an error on standard error.
fn report(error: &CommandError) {
    if matches!(error, CommandError::BrokenPipe | CommandError::Reported) {
        return;
    }
    let message = lines(&error.to_string());
    let colour = std::io::stderr().is_terminal() && screen::wants_colour();
    let (on, off) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    // Standard error may be closed.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("{on}error:{off} {message}\n").as_bytes(),
    );
}

async fn run(arguments: Arguments, screen: &mut Screen) -> Result<Exit, CommandError> {
    let path = store_path(arguments.store);
    BUSY_TIMEOUT.get_or_init(|| arguments.busy_timeout);
    screen.flag = engine::flag(&path);
    if let Some(how) = arguments.command.runs() {
        screen.json |= how.events;
        screen.recorders = Arc::new(Recorders::open(how)?);
    }
    match arguments.command {
        Command::Explain(explain) => explain::explain(&explain, screen),
        Command::Check { files } => files::check(&files, screen),
        Command::Run { file, begin, how } => engine::run(&path, &file, begin, &how, screen).await,
        Command::Resume { job, file, how } => {
            engine::resume(
                &existing(&path)?,
                &path,
                (job.as_deref(), file.as_deref()),
                &how,
                screen,
            )
            .await
        }
        Command::Jobs { what: None } => jobs::jobs(&existing(&path)?, screen).await,
        Command::Jobs { what: Some(what) } => removal::run(what, &existing(&path)?, screen).await,
        Command::Pause { job } => requests::pause(&existing(&path)?, &job, screen).await,
        Command::Cancel { job } => requests::cancel(&existing(&path)?, &job, screen).await,
        Command::Status { job, watch } => {
            let watch = watch.then_some(status::EACH);
            status::status(&looked_at(&path)?, job.as_deref(), watch, screen).await
        }
        Command::Vacuum => removal::vacuum(&path, screen),
        Command::Items(items) => items::run(items, &looked_at(&path)?, screen).await,
        Command::Dlq(dlq) => letters::run(dlq, &path, screen).await,
        Command::Completions { shell } => manual::completions(shell, screen),
        Command::Man { folder } => manual::pages(&folder, screen),
    }
}

fn store_path(given: Option<PathBuf>) -> PathBuf {
    given
        .or_else(|| std::env::var_os(STORE_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from(STORE))
}

/// The store, which is not made if it is not there: the name is misspelt.
fn existing(path: &Path) -> Result<SqliteStore, CommandError> {
    if !path.exists() {
        return Err(CommandError::Usage(format!(
            "there is no store at {}: `retry-workflow run` makes one; name another with --store \
             PATH, or with {STORE_VARIABLE}",
            path.display()
        )));
    }
    options(path).must_exist(true).open(path).map_err(|error| CommandError::opening(&error))
}

/// The same, where nothing is to be changed: whoever may read its file may look at it.
fn looked_at(path: &Path) -> Result<SqliteStore, CommandError> {
    if !path.exists() {
        return existing(path);
    }
    options(path).read_only(true).open(path).map_err(|error| CommandError::opening(&error))
}

/// The store, made if it is not there.
fn opened(path: &Path) -> Result<SqliteStore, CommandError> {
    options(path).open(path).map_err(|error| CommandError::opening(&error))
}

/// How long whoever holds a store is waited for: one answer for the process.
static BUSY_TIMEOUT: OnceLock<Duration> = OnceLock::new();

/// How stores are opened: whoever waits for another process is told so.
fn options(path: &Path) -> SqliteOptions {
    let most = *BUSY_TIMEOUT.get_or_init(|| Duration::from_secs(60));
    let (path, is_told) = (path.display().to_string(), AtomicBool::new(false));
    let tell = move |_| {
        if !is_told.swap(true, Ordering::Relaxed) {
            let line = format!(
                "waiting for the store {}, which another process holds: for up to {} (--busy-timeout)\n",
                one_line(&path),
                retry_rules::duration::format(most)
            );
            // Standard error may be closed.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        }
    };
    SqliteStore::options().busy_timeout(most).on_wait(tell)
}
