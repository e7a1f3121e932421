//! The part of the grammar of `sh` that it takes to know how each place is quoted.
//!
//! If the script contains a construct that is rare beside placeholders and hard to read as both
//! `dash` and `bash` do, all its placeholders are refused: a rejected file is a nuisance, but a
//! wrong quote is a security hole.

mod commands;
mod quotes;
mod expansions;
mod placeholders;

use super::Script;
use super::command_list::{Commands, without_placeholders};
use super::word::Value;
use crate::template::available::AvailableValues;
use crate::template::error::TemplateError;

const CONTINUED: &str = "a line that continues inside an operator";

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    available: AvailableValues<'a>,
    script: Script,
    /// The values that have been inserted.
    inserted: Vec<Value>,
    errors: Vec<TemplateError>,
    stack: Vec<Context>,
    /// The reason why no placeholder is allowed in the script.
    unsafe_reason: Option<String>,
}

enum Context {
    Commands(Box<Commands>),
    Double,
    /// `${NAME…}`, and whether it is inside double quotes.
    Expansion {
        double: bool,
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
            unsafe_reason: None,
        }
    }

    pub(super) fn run(mut self) -> Result<Script, Vec<TemplateError>> {
        // The position from which on the quoting may be wrong.
        let mut uncertain_from = None;
        while let Some(next) = self.rest().chars().next() {
            let at = self.at;
            match self.stack.last() {
                Some(Context::Double) => self.in_double(next),
                Some(Context::Expansion { double }) => self.in_expansion(next, *double),
                Some(Context::Commands(_)) | None => self.in_commands(next),
            }
            if self.unsafe_reason.is_some() || self.commands().unsafe_reason.is_some() {
                uncertain_from.get_or_insert(at);
            }
        }
        while let Some(context) = self.stack.pop() {
            if let Context::Commands(mut commands) = context {
                commands.end_command();
                self.gather(*commands);
            }
        }
        if let Some(why) = self.unsafe_reason.take() {
            // Errors that were found after that position may be wrong as well.
            let found = std::mem::take(&mut self.errors);
            self.errors.extend(self.inserted.iter().map(|value| value.refused(&why)));
            self.refuse_from(uncertain_from.unwrap_or(self.text.len()), &why);
            self.errors.extend(found);
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

    /// Refuses all placeholders of a script that contains this.
    fn refuse_all(&mut self, what: &str) {
        self.unsafe_reason.get_or_insert_with(|| without_placeholders(what));
    }

    /// Collects the findings of a list of commands that has ended.
    fn gather(&mut self, mut commands: Commands) {
        self.errors.append(&mut commands.errors);
        self.script.targets.append(&mut commands.targets);
        self.unsafe_reason = self.unsafe_reason.take().or(commands.unsafe_reason);
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
    }
}
