//! The part of the grammar of `sh` that it takes to know how each place is quoted.
//!
//! Where `dash` and `bash` might disagree, the lexer gives up and refuses all placeholders from
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
use crate::template::placeholder::{Fault, Offers};

const IN_BACKTICKS: &str = "inside backticks: write `$( … )` instead of them";
const IN_EXPANSION: &str = "inside another `${…}`: assign it to a variable first";
const IN_ARITHMETIC: &str = "inside arithmetic, which reads it as code: check it with `case` and assign it to a variable first";
const CONTINUED: &str = "after a line that continues inside an operator";

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    offers: Offers<'a>,
    script: Script,
    /// The values that have been inserted.
    placed: Vec<Value>,
    faults: Vec<Fault>,
    stack: Vec<Context>,
    heredocs: Vec<Heredoc>,
    /// The reason why the quoting is uncertain from here on.
    lost: Option<&'static str>,
    /// The reason why no value is safe anywhere in the script.
    spoiled: Option<&'static str>,
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
enum Found {
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
    pub(super) fn new(text: &'a str, offers: Offers<'a>) -> Self {
        let script = Script {
            text: String::with_capacity(text.len()),
            values: Vec::new(),
            targets: Vec::new(),
        };
        Self {
            text,
            at: 0,
            offers,
            script,
            placed: Vec::new(),
            faults: Vec::new(),
            stack: vec![Context::Commands(Box::default())],
            heredocs: Vec::new(),
            lost: None,
            spoiled: None,
        }
    }

    pub(super) fn run(mut self) -> Result<Script, Vec<Fault>> {
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
        if let Some(why) = self.spoiled {
            let why = format!("no value is safe {why}");
            self.faults.extend(self.placed.iter().map(|value| value.refused(&why).0));
        }
        self.faults.sort_by_key(|fault| fault.at);
        // A value that is refused itself is not refused again as part of its command's output.
        self.faults.dedup_by_key(|fault| fault.at);
        if self.faults.is_empty() { Ok(self.script) } else { Err(self.faults) }
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
        self.faults.append(&mut commands.faults);
        self.script.targets.append(&mut commands.targets);
        self.lost = self.lost.or(commands.lost);
        self.spoiled = self.spoiled.or(commands.spoiled);
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
            self.lose("after a here-document whose line continues in quotes");
        }
    }

    fn lose(&mut self, why: &'static str) {
        self.lost.get_or_insert(why);
    }

    /// Returns why the quoting is uncertain at the current position.
    fn lost(&self) -> Option<&'static str> {
        self.lost.or_else(|| {
            self.stack.iter().find_map(|context| match context {
                Context::Commands(commands) => commands.lost,
                _ => None,
            })
        })
    }
}
