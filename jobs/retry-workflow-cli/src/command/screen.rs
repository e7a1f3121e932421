//! [`Screen`]: where and how the command writes its output: for people or for programs, how wide,
//! and whether in colour.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;

use clap::builder::styling::{AnsiColor, Style};
use retry_rules::suggest::shortened_values;
use serde::Serialize;

use super::event_lines::EventLines;
use super::outcome::CommandError;
use crate::terminal::table::Table;
use crate::terminal::text::lines;
use retry_workflow::Timestamp;

/// Standard output, or what replaces it in a test.
pub(crate) struct Screen {
    out: Box<dyn Write + Send>,
    /// Write lines of JSON instead of tables.
    pub(crate) json: bool,
    /// The width in columns; `None` for a pipe or a file, where lines are not cut.
    pub(crate) width: Option<usize>,
    colour: bool,
    /// The time that ages are relative to.
    pub(crate) now: Timestamp,
    /// The `--store` option that the commands shown to the user need; empty if they find the store
    /// without it.
    pub(crate) flag: String,
    /// Prints the events of jobs, with `--events`.
    pub(super) events: Option<Arc<EventLines>>,
}

/// The role of a piece of text, shown as a colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    Heading,
    Good,
    Bad,
    Quiet,
}

impl Screen {
    pub(crate) fn standard(json: bool) -> Self {
        let out = io::stdout();
        let terminal = out.is_terminal();
        Self {
            json,
            width: terminal.then(|| terminal_width(io::stdout())),
            colour: terminal && !json && uses_colour(),
            out: Box::new(io::BufWriter::new(out)),
            now: Timestamp::now(),
            flag: String::new(),
            events: None,
        }
    }

    pub(crate) fn line(&mut self, line: impl fmt::Display) -> Result<(), CommandError> {
        Ok(writeln!(self.out, "{line}")?)
    }

    pub(crate) fn lines(
        &mut self,
        lines: impl IntoIterator<Item = String>,
    ) -> Result<(), CommandError> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints a result: an object for programs, a line for people.
    pub(crate) fn result(
        &mut self,
        object: &impl Serialize,
        line: impl fmt::Display,
    ) -> Result<(), CommandError> {
        if self.json { self.object(object) } else { self.line(line) }
    }

    /// Prints entries: an object for each, or a table; `none` if it would be empty.
    pub(crate) fn list<T, O: Serialize, R: IntoIterator<Item = String>>(
        &mut self,
        entries: &[T],
        object: impl Fn(&T) -> O,
        none: impl fmt::Display,
        (headings, row): (&[&'static str], impl Fn(&T) -> R),
    ) -> Result<(), CommandError> {
        if self.json {
            return entries.iter().try_for_each(|entry| self.object(&object(entry)));
        }
        if entries.is_empty() {
            return self.line(none);
        }
        let mut table = Table::new(headings);
        for entry in entries {
            table.row(row(entry));
        }
        for (i, line) in table.lines(self.width).into_iter().enumerate() {
            let line = if i == 0 { self.paint(Tone::Heading, line) } else { line };
            self.line(line)?;
        }
        Ok(())
    }

    /// Prints an object on one line.
    pub(crate) fn object(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.line(crate::terminal::text::json(&text))
    }

    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut self.out
    }

    /// Starts the next refresh of the same display: a terminal is cleared first.
    pub(crate) fn next(&mut self) -> Result<(), CommandError> {
        match (self.json, self.width) {
            (true, _) => Ok(()),
            // Cursor home, then erase the display.
            (false, Some(_)) => Ok(self.out.write_all(b"\x1b[H\x1b[2J")?),
            (false, None) => self.line(""),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), CommandError> {
        Ok(self.out.flush()?)
    }

    pub(crate) fn paint(&self, tone: Tone, text: impl fmt::Display) -> String {
        if !self.colour {
            return text.to_string();
        }
        let style = match tone {
            Tone::Heading => Style::new().bold(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Quiet => Style::new().dimmed(),
        };
        format!("{style}{text}{style:#}")
    }
}

/// <https://no-color.org>: any value except an empty one disables colour; so does `TERM=dumb`.
pub(crate) fn uses_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The terminal's width in columns; 80 if it is not known.
#[cfg(unix)]
pub(crate) fn terminal_width(terminal: impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(terminal);
    size.ok().map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0).unwrap_or(80)
}

/// The terminal's width in columns, which is known on Unix only.
#[cfg(not(unix))]
pub(crate) fn terminal_width<T>(_: T) -> usize {
    80
}

/// Prints an error on standard error.
pub(super) fn report(error: &CommandError) {
    if matches!(error, CommandError::BrokenPipe) {
        return;
    }
    let message = lines(&shortened_values(&error.to_string()));
    let colour = std::io::stderr().is_terminal() && uses_colour();
    let (on, off) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    // Ignore errors, because standard error may be closed.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("{on}error:{off} {message}\n").as_bytes(),
    );
}
