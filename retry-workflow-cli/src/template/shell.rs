//! [`Script`]: a command for `sh` in which every placeholder is one argument, or part of
//! one, and nothing else, whatever its value is.
//!
//! Values never become part of the command's text. They are handed over in
//! variables, and the text refers to these as the place asks for: quoted where
//! nothing is quoted, bare inside double quotes, with the single quotes closed and
//! opened again inside those. Where a reference would be no argument (the name of a command,
//! code for another shell, arithmetic) or where its quoting is not certain (a
//! here-document, backticks) it is refused before anything runs.
//!
//! What cannot be seen here, and is up to who writes the command:
//!
//! - What a program does with its arguments. `--` keeps a value that begins with `-` from
//!   being an option; `make X=${item}` expands `$(shell …)` in it, and `tar`, `find`, `vim` or
//!   a database's client have options and statements that run commands. Known are the shells,
//!   common interpreters, `awk`, `sed`, `ssh` and programs that run others (`programs`);
//!   one by another name, or behind a wrapper of another name, is not.
//! - What a script of one's own does with its arguments, and a command with files, or with
//!   variables that steer programs (`PATH=${item}`).
//! - Where a value goes by way of a variable, a function or a file: `x=${item}; eval "$x"`.

mod lexer;
mod programs;
mod words;

use crate::template::placeholder::{Fault, Offers, Placeholder, Placeholders};

/// A command for `sh`, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// Refers to its values by [`variable`].
    pub(crate) text: String,
    /// One that stands here several times is there once, with its first place.
    pub(crate) values: Vec<Placeholder>,
}

impl Script {
    pub(crate) fn parse(text: &str, offers: Offers<'_>) -> Result<Self, Vec<Fault>> {
        lexer::Lexer::new(text, offers).run()
    }
}

impl Placeholders for Script {
    fn placeholders_mut(&mut self) -> impl Iterator<Item = &mut Placeholder> {
        self.values.iter_mut()
    }
}

/// The name of the variable that holds the value with this number.
pub(crate) fn variable(number: usize) -> String {
    format!("RETRY_WORKFLOW_VALUE_{}", number.saturating_add(1))
}

#[cfg(all(test, unix))]
mod tests;
