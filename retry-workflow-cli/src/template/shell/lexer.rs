//! As much of the grammar of `sh` as it takes to know how each place is quoted.
//!
//! Where `dash` and `bash` might read it in two ways it gives up, and refuses the placeholders
//! from there on: a refused file is a nuisance, a wrong quote an open door.

mod commands;
mod quotes;
mod expansions;
mod placeholders;
mod heredocs;

use std::ops::Range;

use super::Script;
use super::words::{Commands, Value};
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
    /// The places of the values that were put in.
    placed: Vec<Value>,
    faults: Vec<Fault>,
    stack: Vec<Context>,
    heredocs: Vec<Heredoc>,
    /// Why the quoting is not certain any more.
    lost: Option<&'static str>,
    /// Why no value is safe, wherever it stands.
    spoiled: Option<&'static str>,
}

enum Context {
    Commands(Box<Commands>),
    Double,
    /// `${NAME…}`, and whether it is inside double quotes.
    Expansion {
        double: bool,
    },
    /// `$((…))` or `((…))`, with this many parentheses open.
    Arithmetic {
        open: usize,
        /// `((…))`, which `dash` reads as commands.
        command: bool,
        /// The word that is being read.
        word: String,
    },
}

/// What a `${…}` is.
enum Found {
    /// The shell's own.
    Shells,
    Refused,
    /// With how the script refers to it.
    Value(Value, String),
}

struct Heredoc {
    delimiter: String,
    /// `<<-`.
    tabs: bool,
    quoted: bool,
    /// Where in the script the delimiter stands.
    written: Range<usize>,
    /// How deep in other contexts it began.
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
        // One that is refused where it stands is not refused for its command's output as well.
        self.faults.dedup_by_key(|fault| fault.at);
        if self.faults.is_empty() { Ok(self.script) } else { Err(self.faults) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The commands that the lexer is in, quoted or not.
    fn commands(&mut self) -> &mut Commands {
        let found = self.stack.iter().rposition(|context| matches!(context, Context::Commands(_)));
        let Some(Context::Commands(commands)) = found.and_then(|at| self.stack.get_mut(at)) else {
            unreachable!("the text itself is a list of commands, and stays on the stack");
        };
        commands
    }

    /// What is known of commands that have ended.
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

    /// Copies a character, and the one after it.
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

    /// Why the quoting is not certain where the lexer is.
    fn lost(&self) -> Option<&'static str> {
        self.lost.or_else(|| {
            self.stack.iter().find_map(|context| match context {
                Context::Commands(commands) => commands.lost,
                _ => None,
            })
        })
    }
}
