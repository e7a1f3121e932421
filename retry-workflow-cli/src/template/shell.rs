//! [`Script`]: a command for `sh` in which every placeholder is one word, or part of one, that
//! the shell never parses, whatever its value is.
//!
//! Values never become part of the command's text. They are handed over in
//! variables, and the text refers to these as the place asks for: quoted where
//! nothing is quoted, bare inside double quotes and here-documents, with the single quotes closed
//! and opened again inside those. Where a reference would be no such word (a command's name,
//! arithmetic, the code of `eval`), or where `dash` and `bash` may read its quoting in two
//! ways, it is refused before anything runs. A command substitution that holds a value counts
//! as the value.
//!
//! What a script then does with it by way of its own variables, functions and files, and what a
//! program makes of its arguments and its input, is up to who writes the command.

mod variables;
mod builtins;
mod words;
mod lexer;

pub(crate) use self::variables::steers;
use crate::template::placeholder::{Fault, Offers, Placeholder, Placeholders};

/// A command for `sh`, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// Refers to its values by [`variable`].
    pub(crate) text: String,
    /// One that occurs several times is listed once, with its first place.
    pub(crate) values: Vec<Placeholder>,
    /// Those that the target of a redirection begins with.
    targets: Vec<Target>,
}

/// A value that the target of a redirection begins with.
#[derive(Clone, Debug)]
struct Target {
    /// Its number among the values.
    value: usize,
    /// Something follows it in the same word.
    goes_on: bool,
}

/// Files of these names are none to `bash`: it connects to a machine.
const SOCKETS: [&str; 2] = ["/dev/tcp/", "/dev/udp/"];

impl Script {
    pub(crate) fn parse(text: &str, offers: Offers<'_>) -> Result<Self, Vec<Fault>> {
        lexer::Lexer::new(text, offers).run()
    }

    /// Whether the value with this number would be the target of a redirection that `bash` opens
    /// a connection for.
    pub(crate) fn connects(&self, number: usize, value: &str) -> bool {
        let is_this = |target: &&Target| target.value == number;
        self.targets.iter().filter(is_this).any(|target| {
            SOCKETS.iter().any(|socket| {
                value.starts_with(socket) || target.goes_on && socket.starts_with(value)
            })
        })
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

/// How the text refers to that.
fn reference(number: usize) -> String {
    format!("${{{}}}", variable(number))
}

#[cfg(all(test, unix))]
mod tests;
