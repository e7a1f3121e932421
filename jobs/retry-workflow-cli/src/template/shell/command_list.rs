//! [`Commands`]: the role of each word in a list of commands: a keyword, the name of a command, a
//! pattern, the target of a redirection.

use super::builtins::check_command;
use super::variables::{controls_shell, controls_shell_message, is_name};
use super::word::{Value, Word};
use super::{SOCKETS, Target, reference};
use crate::template::error::TemplateError;

pub(super) const UNUSUAL_CASE: &str = "an unusual `case`";

/// A list of commands: the whole text, or the inside of parentheses.
#[derive(Default)]
pub(super) struct Commands {
    pub(super) within: Within,
    /// The length of the surrounding word before them.
    pub(super) before: usize,
    pub(super) word: Option<Word>,
    pub(super) role: WordRole,
    /// The next word is the target of a redirection.
    pub(super) redirection: Option<Redirection>,
    /// The number of open `case … in`.
    pub(super) cases: usize,
    /// The last keyword was `time`.
    timed: bool,
    /// There was a `time`, which is not a keyword in `dash`.
    has_time: bool,
    /// An `&>` came before, which `bash` and `dash` read differently.
    pub(super) has_ambiguous_redirect: bool,
    /// The words of the current command so far.
    pub(super) words: Vec<Word>,
    /// The variable of the current `for`.
    variable: String,
    /// The first value in these commands.
    pub(super) first_value: Option<Value>,
    pub(super) errors: Vec<TemplateError>,
    /// The reason why no placeholder is allowed in the script.
    pub(super) unsafe_reason: Option<String>,
    pub(super) targets: Vec<Target>,
}

/// The construct that surrounds a list of commands.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Within {
    #[default]
    Text,
    /// `(…)`.
    Parentheses,
    /// `$(…)`.
    Substitution,
}

/// The role of the next word.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WordRole {
    /// A keyword, an assignment, or the name of a command.
    #[default]
    Start,
    /// Part of a simple command.
    Words,
    /// The variable of `for`, then `in`, then its list.
    ForName,
    ForIn,
    ForList,
    /// The subject of `case`, then `in`, then its patterns.
    Subject,
    CaseIn,
    Pattern {
        first: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirection {
    File,
    /// `>&`.
    Descriptor,
    /// `<<<`.
    HereString,
}

impl Commands {
    /// Nested commands, which begin `before` bytes into the surrounding word.
    pub(super) fn inside(within: Within, before: usize) -> Self {
        Self { within, before, ..Self::default() }
    }

    fn refuse_all(&mut self, what: &str) {
        self.unsafe_reason.get_or_insert_with(|| without_placeholders(what));
    }

    pub(super) fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn refuse(&mut self, values: &[Value], why: &str) {
        self.errors.extend(values.iter().map(|value| value.refused(why)));
    }

    pub(super) fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if let Some(redirection) = self.redirection.take() {
            self.redirected(&word, redirection);
            if self.role == WordRole::Start {
                // A redirection is not followed by a keyword.
                self.role = WordRole::Words;
            }
            return;
        }
        if self.has_ambiguous_redirect {
            let why = "`&>` means different things in `bash` and `sh`: write `> file 2>&1`";
            self.refuse(&word.values, why);
        }
        let plain = !word.quoted && !word.expands && word.values.is_empty();
        let keyword = if plain { word.text.as_str() } else { "" };
        let timed = std::mem::take(&mut self.timed);
        match self.role {
            WordRole::Start => match keyword {
                "if" | "then" | "do" | "else" | "elif" | "while" | "until" | "!" | "{" | "}"
                | "fi" | "done" => {}
                "esac" => self.cases = self.cases.saturating_sub(1),
                "time" => {
                    self.timed = true;
                    self.has_time = true;
                }
                "-p" | "--" if timed => self.timed = true,
                "for" | "select" => self.role = WordRole::ForName,
                "case" => {
                    self.role = WordRole::Subject;
                    if self.has_time {
                        self.refuse_all("a `case` after `time`");
                    }
                }
                "function" => self.refuse_all("`function` (`f() { …; }` does the same)"),
                "coproc" => self.refuse_all("`coproc`"),
                "[[" => self.refuse_all("`[[ … ]]`"),
                _ => self.simple(word),
            },
            WordRole::Words => self.simple(word),
            WordRole::ForName => {
                let why = "a value cannot be the name of a variable: write the name here";
                self.refuse(&word.values, why);
                self.variable = word.text;
                self.role = WordRole::ForIn;
            }
            WordRole::ForIn => match keyword {
                "in" => self.role = WordRole::ForList,
                "do" | "{" => self.role = WordRole::Start,
                _ => {
                    self.refuse(&word.values, "`in` or `do` is missing before it");
                    self.refuse_all("an unusual `for`");
                }
            },
            WordRole::ForList => {
                if controls_shell(&self.variable) {
                    let why = controls_shell_message(&self.variable);
                    self.refuse(&word.values, &why);
                }
            }
            WordRole::Subject => self.role = WordRole::CaseIn,
            WordRole::CaseIn if keyword == "in" => {
                self.cases += 1;
                self.role = WordRole::Pattern { first: true };
            }
            WordRole::CaseIn => {
                self.refuse(&word.values, "`in` is missing before it");
                self.refuse_all(UNUSUAL_CASE);
            }
            WordRole::Pattern { first } if keyword == "esac" => {
                if !first {
                    self.refuse_all(UNUSUAL_CASE);
                }
                self.cases = self.cases.saturating_sub(1);
                self.role = WordRole::Start;
            }
            WordRole::Pattern { .. } => self.role = WordRole::Pattern { first: false },
        }
    }

    /// Adds a word of a simple command.
    fn simple(&mut self, word: Word) {
        self.role = WordRole::Words;
        if !self.words.is_empty() {
            self.words.push(word);
            return;
        }
        if let Some(length) = word.assigns {
            let name = &word.text[..length];
            if controls_shell(name) {
                let why = controls_shell_message(name);
                self.refuse(&word.values, &why);
            }
            return;
        }
        // `x+=1` and `x[1]=2` are assignments in `bash`, and names of commands in `dash`.
        let begin = word.text.find(['+', '[']).unwrap_or(0);
        if is_name(&word.text[..begin]) {
            if word.text[begin..].contains('=') {
                let why = "`sh` has no such assignment: write `x=${item.id}`";
                self.refuse(&word.values, why);
                return;
            }
            if word.text[begin..].starts_with('[') && !word.text.contains(']') {
                self.refuse_all("an assignment such as `x[1 + 2]=3`");
            }
        }
        self.words.push(word);
    }

    /// Checks the target of a redirection.
    fn redirected(&mut self, word: &Word, redirection: Redirection) {
        let Some(first) = word.values.first() else { return };
        let why = match redirection {
            Redirection::HereString => return,
            Redirection::Descriptor => {
                "after `>&` or `<&` it would be a file descriptor: write `> file 2>&1`"
            }
            Redirection::File => {
                let (before, from) = word.text.split_at(first.before);
                // `<(…)` is a path that `bash` creates.
                if first.number.is_none() && before.is_empty() && from.starts_with(['<', '>']) {
                    return;
                }
                // An expansion may be empty.
                let fixed = before.split(['$', '`']).next().unwrap_or_default();
                let opens = SOCKETS
                    .iter()
                    .any(|socket| socket.starts_with(fixed) || fixed.starts_with(socket));
                match first.number {
                    Some(value) if fixed.is_empty() => {
                        let goes_on = word.text.len() > reference(value).len();
                        self.targets.push(Target { value, goes_on });
                        return;
                    }
                    _ if !opens => return,
                    _ => {
                        "`bash` would open a network connection if this became `/dev/tcp/…`: start \
                         the name of the file with its folder, as in `> ./${item.id}`"
                    }
                }
            }
        };
        self.refuse(&word.values, why);
    }

    pub(super) fn end_command(&mut self) {
        self.end_word();
        self.redirection = None;
        self.timed = false;
        self.has_ambiguous_redirect = false;
        match self.role {
            WordRole::Subject | WordRole::CaseIn | WordRole::Pattern { first: false } => {
                self.refuse_all(UNUSUAL_CASE);
            }
            WordRole::ForName => self.refuse_all("an unusual `for`"),
            _ => {}
        }
        let verdict = check_command(&self.words);
        self.errors.extend(verdict.refused);
        if let Some(what) = verdict.unsafe_command {
            self.unsafe_reason
                .get_or_insert_with(|| format!("no value is safe in a script with {what}"));
        }
        if self.words.first().is_some_and(|word| word.is("alias")) {
            self.refuse_all("`alias`, which changes how the script is read");
        }
        self.words.clear();
        self.role = WordRole::Start;
    }

    pub(super) fn newline(&mut self) {
        self.end_word();
        match self.role {
            // The next word may be on the next line.
            WordRole::CaseIn | WordRole::ForIn | WordRole::Pattern { first: true } => {}
            _ => self.end_command(),
        }
    }
}

/// Returns why a script that contains this cannot have placeholders.
pub(super) fn without_placeholders(what: &str) -> String {
    format!(
        "a script with {what} cannot have placeholders: write `env: {{ ID: \"${{item.id}}\" }}` for \
         the step and `\"$ID\"` in the script, but neither `$((ID))` nor `[[ \"$ID\" -gt 1 ]]`, \
         which would run the value"
    )
}
