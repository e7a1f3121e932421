//! `completions` and `man`: shell completions and manual pages, generated from the arguments.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::arguments::Arguments;
use super::outcome::CommandError;
use super::screen::Screen;

const NAME: &str = "retry-workflow";

pub(super) fn completions(shell: Shell, screen: &mut Screen) -> Result<(), CommandError> {
    // `generate` panics if it cannot write, for example into a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut script);
    Ok(screen.writer().write_all(&script)?)
}

/// Writes `retry-workflow.1`, `retry-workflow-run.1`, ….
pub(super) fn pages(folder: &Path, screen: &mut Screen) -> Result<(), CommandError> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(|error| {
            CommandError::Usage(format!("cannot write {}: {error}", folder.display()))
        })?;
    if screen.json {
        return Ok(());
    }
    screen.line(format_args!("read the first with: man {}/{NAME}.1", folder.display()))
}
