//! The `retry-workflow` command: arguments, tables for people, JSON for programs, and exit codes.
//! The library does the work.

mod outcome;
mod arguments;
mod event_lines;
mod screen;
mod store;
mod explain;
mod files;
mod audit;
mod run;
mod letters;
mod jobs;
mod upkeep;
#[cfg(feature = "board")]
mod board;
mod manual;

use std::process::ExitCode;
use std::sync::Arc;

use self::arguments::{Arguments, Command};
use self::outcome::{CommandError, Exit};
use self::run::keeper::{self, Role};
use self::screen::{Screen, report};
use self::store::Address;
use crate::steps::temporary::Temporary;

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    let arguments = arguments::parse();
    let tasks = if arguments.command.runs().is_some() {
        match keeper::begin() {
            Role::Keeper(code) => return code,
            Role::Worker(tasks) => Some(tasks),
        }
    } else {
        None
    };
    audit::print_events();
    let mut screen = Screen::standard(arguments.json);
    // Removed after the runtime, and all commands with it.
    let _temporary = Temporary;
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return exit_code(Err(CommandError::Stopped(format!("cannot start threads: {error}"))));
        }
    };
    if let Some(tasks) = tasks {
        tasks.begin(&runtime);
    }
    let result = runtime.block_on(execute(arguments, &mut screen));
    // A write error may only surface when the output is flushed.
    let flushed = screen.flush();
    exit_code(result.and_then(|exit| flushed.map(|()| exit)))
}

fn exit_code(result: Result<Exit, CommandError>) -> ExitCode {
    match result {
        Ok(exit) => exit.code(),
        Err(error) => {
            report(&error);
            error.code()
        }
    }
}

async fn execute(arguments: Arguments, screen: &mut Screen) -> Result<Exit, CommandError> {
    let address = Address::choose(arguments.store)?;
    store::BUSY_TIMEOUT.get_or_init(|| arguments.busy_timeout);
    screen.flag = address.flag();
    if let Some(how) = arguments.command.runs() {
        screen.json |= how.events;
        screen.events = how.events.then(Arc::default);
        if let Some(folder) = &how.results {
            std::fs::create_dir_all(folder).map_err(|error| {
                let folder = folder.display();
                CommandError::Usage(format!("cannot write results to {folder}: {error}"))
            })?;
        }
    }
    match arguments.command {
        Command::Explain(explain) => explain::explain(&explain, screen)?,
        Command::Check { schema: true, .. } => files::schema(screen)?,
        Command::Check { files, .. } => return files::check(&files, screen),
        Command::Run { file, begin, how } => {
            return run::run(&address, &file, &begin, &how, screen).await;
        }
        Command::Resume { job, file, how } => {
            let (store, of) = (address.open().await?, (job.as_deref(), file.as_deref()));
            return run::resume(&store, of, &how, screen).await;
        }
        Command::Jobs { what: None } => {
            jobs::jobs(&*address.open_read_only().await?, screen).await?;
        }
        Command::Jobs { what: Some(what) } => {
            jobs::removal::run(what, &*address.open().await?, screen).await?;
        }
        Command::Pause { job } => {
            jobs::requests::pause(&address.open().await?, &job, screen).await?;
        }
        Command::Cancel { job } => {
            jobs::requests::cancel(&address.open().await?, &job, screen).await?;
        }
        Command::Status { job, watch } => {
            let store = address.open_read_only().await?;
            jobs::status::status(&*store, job.as_deref(), watch, screen).await?;
        }
        Command::Store(what) => return upkeep::run(what, &address, screen).await,
        Command::Vacuum => jobs::removal::vacuum(&address, screen).await?,
        Command::Items(items) => jobs::items::run(items, &address, screen).await?,
        #[cfg(feature = "board")]
        Command::Board(arguments) => board::board(&address, &arguments, screen).await?,
        Command::Dlq(dlq) => return letters::run(dlq, &address, screen).await,
        Command::Completions { shell } => manual::completions(shell, screen)?,
        Command::Man { folder } => manual::pages(&folder, screen)?,
    }
    Ok(Exit::Success)
}
