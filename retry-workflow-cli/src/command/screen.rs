//! [`Screen`]: where the command writes to, and how: for people or for machines,
//! how wide, with colours or without.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::outcome::CommandError;
use super::recorders::Recorders;
use crate::terminal::text::lines;
use retry_workflow::Timestamp;

/// Standard output, or what stands for it in a test.
pub(crate) struct Screen {
    out: Box<dyn Write + Send>,
    /// Lines of JSON instead of tables.
    pub(crate) json: bool,
    /// Columns; `None` for a pipe or a file, whose lines are not cut.
    pub(crate) width: Option<usize>,
    colour: bool,
    /// What ages are counted from.
    pub(crate) now: Timestamp,
    /// Names the store on the command lines that are shown; empty for the one that is meant
    /// without it.
    pub(crate) flag: String,
    /// What writes down how a job goes.
    pub(super) recorders: Arc<Recorders>,
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen")
            .field("json", &self.json)
            .field("width", &self.width)
            .finish_non_exhaustive()
    }
}

/// What a piece of text is, for those who see colours.
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
            colour: terminal && !json && wants_colour(),
            out: Box::new(io::BufWriter::new(out)),
            now: Timestamp::now(),
            flag: String::new(),
            recorders: Arc::default(),
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

    /// A table: its first line is a heading.
    pub(crate) fn table(
        &mut self,
        table: &crate::terminal::table::Table,
    ) -> Result<(), CommandError> {
        for (i, line) in table.lines(self.width).into_iter().enumerate() {
            let line = if i == 0 { self.paint(Tone::Heading, line) } else { line };
            self.line(line)?;
        }
        Ok(())
    }

    /// One object on one line.
    pub(crate) fn object(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.line(crate::terminal::text::json(&text))
    }

    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut self.out
    }

    /// What follows is the same of a later moment: a terminal shows it in the place of what it
    /// shows now.
    pub(crate) fn next(&mut self) -> Result<(), CommandError> {
        match (self.json, self.width) {
            (true, _) => Ok(()),
            // Home, and nothing below.
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

/// <https://no-color.org>: any value but an empty one; and `TERM=dumb`.
pub(crate) fn wants_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// In columns; 80 where the terminal does not say.
#[cfg(unix)]
pub(crate) fn terminal_width(terminal: impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(terminal);
    size.ok().map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0).unwrap_or(80)
}

/// In columns: only a Unix terminal is asked.
#[cfg(not(unix))]
pub(crate) fn terminal_width<T>(_: T) -> usize {
    80
}

/// Prints an error on standard error.
pub(super) fn report(error: &CommandError) {
    if matches!(error, CommandError::BrokenPipe | CommandError::Reported) {
        return;
    }
    let message = lines(&error.to_string());
    let colour = std::io::stderr().is_terminal() && wants_colour();
    let (on, off) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    // Standard error may be closed.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("{on}error:{off} {message}\n").as_bytes(),
    );
}
