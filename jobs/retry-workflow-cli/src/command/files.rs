//! Workflow files: `check FILE…`, their schema, and the policies that `explain FILE` shows.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::outcome::{CommandError, Exit};
use super::screen::{Screen, Tone};
use crate::file::{self, FileError, WorkflowFile};
use crate::terminal::text::{count, one_line};

/// Reads a workflow file.
pub(super) fn read(path: &Path) -> Result<WorkflowFile, CommandError> {
    WorkflowFile::read(path).map_err(|error| CommandError::Usage(format!("{error:#}")))
}

/// Reads a workflow file that is to run here, with its environment.
pub(super) fn ready(path: &Path) -> Result<WorkflowFile, CommandError> {
    let file = read(path)?.with_environment();
    file.map_err(|error| CommandError::Usage(format!("{error:#}")))
}

/// Reports all mistakes in all files.
pub(super) fn check(files: &[PathBuf], screen: &mut Screen) -> Result<Exit, CommandError> {
    let mut pictures = Vec::new();
    for path in files {
        let checked = WorkflowFile::read(path)
            .and_then(|mut file| file.check_input().map(|found| (file, found)));
        match checked {
            Ok((file, (items, unseen))) if screen.json => {
                let (name, mode) = (file.name(), file.mode());
                screen.object(&json!({
                    "file": path.display().to_string(), "ok": true, "name": name, "mode": mode,
                    "items": items, "unseen": unseen, "mistakes": [],
                    "hints": places(&file.hints()),
                }))?;
            }
            Ok((file, (items, unseen))) => {
                let ok = screen.paint(Tone::Good, "ok");
                let path = one_line(&path.display().to_string());
                let name = one_line(file.name());
                let items = items.map(|items| format!(", {}", count(items, "item")));
                let items = items.unwrap_or_default();
                screen.line(format_args!("{path}: {ok} ({name}, mode {}{items})", file.mode()))?;
                for what in unseen {
                    screen.line(format_args!("  not checked: {}", one_line(&what)))?;
                }
                for (at, message) in file.hints().mistakes() {
                    let line = at.map_or(1, |(line, _)| line);
                    let message = one_line(message);
                    screen.line(format_args!("  hint, not an error: line {line}: {message}"))?;
                }
            }
            Err(error) => {
                if screen.json {
                    screen.object(&mistakes(path, &error))?;
                }
                let is_first = pictures.is_empty();
                pictures.push(if is_first { format!("{error:#}") } else { error.to_string() });
            }
        }
    }
    match pictures.len() {
        0 => Ok(Exit::Success),
        _ if screen.json => Ok(Exit::BadFiles),
        _ => Err(CommandError::Usage(pictures.join("\n\n"))),
    }
}

/// Writes the JSON schema that editors use to complete and check workflow files.
pub(super) fn schema(screen: &mut Screen) -> Result<(), CommandError> {
    let schema = file::schema();
    screen.result(&schema, format_args!("{schema:#}"))
}

fn mistakes(path: &Path, error: &FileError) -> serde_json::Value {
    // The mistake may be in the file's input rather than in the file itself.
    let wrong = error.path().display().to_string();
    json!({
        "file": path.display().to_string(), "ok": false, "in": wrong, "mistakes": places(error),
    })
}

fn places(error: &FileError) -> Vec<serde_json::Value> {
    let place = |(at, message): (Option<(usize, usize)>, &str)| {
        let (line, column) = at.unzip();
        json!({ "line": line, "column": column, "message": message })
    };
    error.mistakes().map(place).collect()
}
