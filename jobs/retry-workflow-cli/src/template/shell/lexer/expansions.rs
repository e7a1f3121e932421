//! The shell's own expansions: parameters, arithmetic, backticks.

use super::{CONTINUED, Context, IN_ARITHMETIC, IN_BACKTICKS, IN_EXPANSION, Lexer};
use crate::template::shell::command_list::Within;
use crate::template::shell::variables::is_name;

impl Lexer<'_> {
    pub(super) fn dollar(&mut self, double: bool) {
        let rest = self.rest();
        let (before, after) = if double { ("", "") } else { ("\"", "\"") };
        if let Some(inner) = rest.strip_prefix("${") {
            if !self.placeholder(before, after) {
                let name = inner.split('}').next().unwrap_or_default();
                if is_name(name) {
                    self.script.variables.push((name.to_owned(), self.at));
                }
                self.expands(double);
                self.word(2);
                self.stack.push(Context::Expansion { double });
            }
        } else if rest.starts_with("$((") {
            self.expands(double);
            self.word(3);
            let word = String::new();
            self.stack.push(Context::Arithmetic { open: 2, command: false, word });
        } else if rest.starts_with("$(") {
            self.expands(double);
            self.word(2);
            self.nest(Within::Substitution);
        } else if rest.starts_with("$[") {
            self.mark_uncertain("after a `$[`, which is arithmetic only in `bash`");
            self.word(1);
        } else if rest.starts_with("$\\\n") {
            self.mark_uncertain(CONTINUED);
            self.word(1);
        } else if rest.starts_with("$'") && !double {
            self.escaped();
        } else if rest.starts_with("$\"") && !double {
            // `$"…"` is a translated string in `bash`, but a `$` before quotes in `dash`.
            self.commands().word().quoted = true;
            self.copy(1);
        } else if rest.starts_with("$$") {
            self.expands(double);
            self.word(2);
        } else {
            let name = |c: char| c.is_ascii_alphanumeric() || "_@*#?-!".contains(c);
            if rest[1..].starts_with(name) {
                self.expands(double);
            }
            self.word(1);
        }
    }

    pub(super) fn expands(&mut self, double: bool) {
        let word = self.commands().word();
        word.expands = true;
        word.unquoted_expansion |= !double;
    }

    pub(super) fn in_expansion(&mut self, next: char, double: bool) {
        match next {
            '}' => {
                self.word(1);
                self.stack.pop();
            }
            '\\' => {
                self.copy_pair();
            }
            '"' | '\'' => {
                self.mark_uncertain("after quotes inside `${…}`, which shells read differently");
                self.word(1);
                if next == '"' && !double {
                    self.stack.push(Context::Double);
                }
            }
            '`' => self.backticks(),
            '$' if self.rest().starts_with("${") => {
                if !self.refuse_here(IN_EXPANSION) {
                    self.word(2);
                    self.stack.push(Context::Expansion { double });
                }
            }
            '$' => self.dollar(double),
            other => self.word(other.len_utf8()),
        }
    }

    pub(super) fn in_arithmetic(&mut self, next: char) {
        const UNCERTAIN: &str = "after arithmetic like this, which shells read differently";

        if self.rest().starts_with("${") && self.refuse_here(IN_ARITHMETIC) {
            return;
        }
        let rest = self.rest();
        let Some(Context::Arithmetic { open, command, word }) = self.stack.last_mut() else {
            return;
        };
        match next {
            '(' => *open += 1,
            ')' => *open -= 1,
            _ => {}
        }
        let mut certain = next.is_ascii_alphanumeric() || "_ +-*/%()=!&|^~?:,$[]".contains(next);
        certain |= !*command && "<>".contains(next);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_:+-".contains(c);
        let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        certain |= next == '}' || inside.is_some_and(|(inside, _)| inside.chars().all(plain));
        if next.is_ascii_alphabetic() {
            word.push(next);
        } else {
            certain &= word != "case";
            word.clear();
        }
        // `((a); b)` turns out not to be arithmetic.
        certain &= !(next == ')' && *open == 1 && !rest[1..].starts_with(')'));
        certain &= !rest.starts_with("$(") || rest.starts_with("$((");
        let closed = *open == 0;
        if !certain {
            self.mark_uncertain(UNCERTAIN);
        }
        self.word(next.len_utf8());
        if closed && let Some(Context::Arithmetic { command: true, .. }) = self.stack.pop() {
            let commands = self.commands();
            commands.word = None;
            commands.end_command();
        }
    }

    /// Reads up to the closing backtick.
    pub(super) fn backticks(&mut self) {
        let rest = self.rest();
        let mut escaped = false;
        let inside = rest[1..].find(|c| {
            let closes = c == '`' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let end = inside.map_or(rest.len(), |at| at + 2);
        self.refuse_within(end, IN_BACKTICKS);
        self.expands(false);
        self.word(end);
    }
}
