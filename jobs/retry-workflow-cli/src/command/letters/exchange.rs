//! `dlq export` and `dlq import`: dead letters in files.

use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::Path;

use serde_json::json;

use crate::command::outcome::CommandError;
use crate::command::screen::Screen;
use crate::command::store::Address;
use crate::terminal::text::{count, one_line, thousands};
use retry_workflow::dead_letters::ImportError;
use retry_workflow::{DeadLetters, Filter};

pub(super) async fn export(
    letters: &DeadLetters,
    filter: &Filter,
    output: Option<&Path>,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let Some(path) = output else {
        letters.export(filter, screen.writer()).await?;
        return Ok(());
    };
    // Never overwrite a file: it may be an export that is still needed.
    let file = File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CommandError::Usage(format!(
            "{} already exists: name a new file, or remove it first",
            path.display()
        )),
        _ => CommandError::Usage(format!("cannot write {}: {error}", path.display())),
    })?;
    let written = letters.export(filter, BufWriter::new(&file)).await?;
    file.sync_all()?;
    let path = one_line(&path.display().to_string());
    screen.result(
        &json!({ "exported": written }),
        format_args!("{} written to {path}", count(written, "dead letter")),
    )
}

pub(super) async fn import(
    address: &Address,
    file: &Path,
    job: Option<&str>,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let imported = if file == Path::new("-") {
        let letters = DeadLetters::new(address.open_or_create().await?);
        let input = BufReader::new(io::stdin());
        letters.import(input, job).await.map_err(|error| at("standard input", error))?
    } else {
        let name = file.display().to_string();
        // Check the file before the store is created, so that a wrong name leaves nothing behind.
        DeadLetters::check(open(file)?).map_err(|error| at(&name, error))?;
        let letters = DeadLetters::new(address.open_or_create().await?);
        letters.import(open(file)?, job).await.map_err(|error| at(&name, error))?
    };
    let known = match imported.known {
        0 => String::new(),
        known => format!("; {} already existed", thousands(known)),
    };
    screen.result(
        &json!({ "new": imported.new, "known": imported.known }),
        format_args!("{} imported{known}", count(imported.new, "item")),
    )
}

fn open(path: &Path) -> Result<BufReader<File>, CommandError> {
    File::open(path)
        .map(BufReader::new)
        .map_err(|error| CommandError::Usage(format!("cannot read {}: {error}", path.display())))
}

/// Adds the file's name to an error about one of its lines.
fn at(name: &str, error: ImportError) -> CommandError {
    match error.into() {
        CommandError::Usage(text) => CommandError::Usage(format!("{name}: {text}")),
        other => other,
    }
}
