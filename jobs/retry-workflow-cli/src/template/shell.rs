//! [`Script`]: a command for `sh` in which every placeholder is one word, or part of one, that the
//! shell never parses, whatever its value.
//!
//! Values never become part of the command's text. They are passed in variables, and the text
//! refers to these as each place requires: with quotes where nothing is quoted, bare inside double
//! quotes, and between closed and reopened quotes inside single quotes. A place where a reference
//! would not be such a word (a command's name, the code of `eval`) is rejected before anything runs,
//! and so is each placeholder of a script with a construct that `dash` and `bash` may read
//! differently (a here-document, arithmetic). A command substitution that contains a value is
//! treated like the value.
//!
//! The command's author is responsible for everything that a script then does with the value
//! through its own variables, functions and files, and a program with its arguments and its input.

pub(crate) mod variables;
mod word;
mod builtins;
mod command_list;
mod lexer;

pub(crate) use self::variables::{controls_shell, set_by_shell};
use crate::template::available::AvailableValues;
use crate::template::error::TemplateError;
use crate::template::placeholder::{Placeholder, Placeholders};

/// A command for `sh`, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// Refers to its values by [`variable`].
    pub(crate) text: String,
    /// A value that occurs several times is listed once, with its first place.
    pub(crate) values: Vec<Placeholder>,
    /// The variables that the shell inserts, written as in `${NIGHT}` and set nowhere in the script,
    /// each with its place in the text.
    pub(crate) variables: Vec<(String, usize)>,
    /// The values at the beginning of the target of a redirection.
    targets: Vec<Target>,
}

/// A value at the beginning of the target of a redirection.
#[derive(Clone, Debug)]
struct Target {
    /// The index of the value.
    value: usize,
    /// Set if more text follows it in the same word.
    goes_on: bool,
}

/// `bash` opens a network connection instead of a file with one of these prefixes.
const SOCKETS: [&str; 2] = ["/dev/tcp/", "/dev/udp/"];

impl Script {
    pub(crate) fn parse(
        text: &str,
        available: AvailableValues<'_>,
    ) -> Result<Self, Vec<TemplateError>> {
        let mut script = lexer::Lexer::new(text, available).run()?;
        script.variables.retain(|(name, _)| variables::only_inserted(name, text));
        Ok(script)
    }

    /// Returns whether `bash` would open a network connection if a redirection had the value with
    /// this index as its target.
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

/// The name of the variable with the value at this index.
pub(crate) fn variable(number: usize) -> String {
    format!("RETRY_WORKFLOW_VALUE_{}", number.saturating_add(1))
}

/// Returns the reference to that variable in the text.
fn reference(number: usize) -> String {
    format!("${{{}}}", variable(number))
}

#[cfg(all(test, unix))]
mod tests;
