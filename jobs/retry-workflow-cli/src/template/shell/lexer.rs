//! The part of the grammar of `sh` that it takes to know how each place is quoted.
//!
//! If `dash` and `bash` might disagree, the lexer gives up and refuses all placeholders from
//! there on: a rejected file is a nuisance, but a wrong quote is a security hole.

mod commands;
mod quotes;
mod expansions;
mod placeholders;
mod heredocs;

use std::ops::Range;

use super::Script;
use super::command_list::Commands;
use super::word::Value;
use crate::template::available::AvailableValues;
use crate::template::error::TemplateError;

const IN_BACKTICKS: &str = "inside backticks: write `$( … )` instead of them";
const IN_EXPANSION: &str = "inside another `${…}`: assign it to a variable first";
const IN_ARITHMETIC: &str = "inside arithmetic, which reads it as code: check it with `case` and assign it to a variable first";
const CONTINUED: &str = "after a line that continues inside an operator";

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    available: AvailableValues<'a>,
    script: Script,
    /// The values that have been inserted.
    inserted: Vec<Value>,
    errors: Vec<TemplateError>,
    stack: Vec<Context>,
    heredocs: Vec<Heredoc>,
    /// The reason why the quoting is uncertain from here on.
    uncertain_reason: Option<&'static str>,
    /// The reason why no value is safe anywhere in the script.
    unsafe_reason: Option<&'static str>,
}

enum Context {
    Commands(Box<Commands>),
    Double,
    /// `${NAME…}`, and whether it is inside double quotes.
    Expansion {
        double: bool,
    },
    /// `$((…))` or `((…))`, with this many open parentheses.
    Arithmetic {
        open: usize,
        /// `((…))`, which `dash` reads as nested subshells.
        command: bool,
        /// The current word.
        word: String,
    },
}

/// The meaning of a `${…}`.
enum Braces {
    /// An expansion of the shell.
    Shells,
    Refused,
    /// A value, and how the script refers to it.
    Value(Value, String),
}

struct Heredoc {
    delimiter: String,
    /// `<<-`.
    tabs: bool,
    quoted: bool,
    /// The range of the delimiter in the script.
    written: Range<usize>,
    /// The depth of the context stack where it began.
    depth: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, available: AvailableValues<'a>) -> Self {
        let script = Script {
            text: String::with_capacity(text.len()),
            values: Vec::new(),
            variables: Vec::new(),
            targets: Vec::new(),
        };
        Self {
            text,
            at: 0,
            available,
            script,
            inserted: Vec::new(),
            errors: Vec::new(),
            stack: vec![Context::Commands(Box::default())],
            heredocs: Vec::new(),
            uncertain_reason: None,
            unsafe_reason: None,
        }
    }

    pub(super) fn run(mut self) -> Result<Script, Vec<TemplateError>> {
        while let Some(next) = self.rest().chars().next() {
            match self.stack.last() {
                Some(Context::Double) => self.in_double(next),
                Some(Context::Expansion { double }) => self.in_expansion(next, *double),
                Some(Context::Arithmetic { .. }) => self.in_arithmetic(next),
                Some(Context::Commands(_)) | None => self.in_commands(next),
            }
        }
        while let Some(context) = self.stack.pop() {
            if let Context::Commands(mut commands) = context {
                commands.end_command();
                self.gather(*commands);
            }
        }
        if let Some(why) = self.unsafe_reason {
            let why = format!("no value is safe {why}");
            self.errors.extend(self.inserted.iter().map(|value| value.refused(&why)));
        }
        self.errors.sort_by_key(|error| error.at);
        // A value that is refused itself is not refused again as part of its command's output.
        self.errors.dedup_by_key(|error| error.at);
        if self.errors.is_empty() { Ok(self.script) } else { Err(self.errors) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The innermost list of commands, quoted or not.
    fn commands(&mut self) -> &mut Commands {
        let found = self.stack.iter().rposition(|context| matches!(context, Context::Commands(_)));
        let Some(Context::Commands(commands)) = found.and_then(|at| self.stack.get_mut(at)) else {
            unreachable!("the text itself is a list of commands, and stays on the stack");
        };
        commands
    }

    /// Collects the findings of a list of commands that has ended.
    fn gather(&mut self, mut commands: Commands) {
        self.errors.append(&mut commands.errors);
        self.script.targets.append(&mut commands.targets);
        self.uncertain_reason = self.uncertain_reason.or(commands.uncertain_reason);
        self.unsafe_reason = self.unsafe_reason.or(commands.unsafe_reason);
    }

    fn copy(&mut self, bytes: usize) -> &'a str {
        let part = &self.rest()[..bytes];
        self.script.text.push_str(part);
        self.at += bytes;
        part
    }

    /// Copies a character and the one after it.
    fn copy_pair(&mut self) -> &'a str {
        let bytes = self.rest().chars().take(2).map(char::len_utf8).sum();
        self.copy(bytes)
    }

    /// Copies part of a word.
    fn word(&mut self, bytes: usize) {
        let part = self.copy(bytes);
        self.commands().word().text.push_str(part);
        if !self.heredocs.is_empty() && part.contains('\n') {
            self.mark_uncertain("after a here-document whose line continues in quotes");
        }
    }

    fn mark_uncertain(&mut self, why: &'static str) {
        self.uncertain_reason.get_or_insert(why);
    }

    /// Returns why the quoting is uncertain at the current position.
    fn uncertain_reason(&self) -> Option<&'static str> {
        self.uncertain_reason.or_else(|| {
            self.stack.iter().find_map(|context| match context {
                Context::Commands(commands) => commands.uncertain_reason,
                _ => None,
            })
        })
    }
}
