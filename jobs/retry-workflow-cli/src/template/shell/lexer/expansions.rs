//! The shell's own expansions: parameters and commands.

use super::{CONTINUED, Context, Lexer};
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
        } else if rest.starts_with("$(") {
            if rest.starts_with("$((") {
                self.refuse_all("`$((…))`");
            }
            self.expands(double);
            self.word(2);
            self.nest(Within::Substitution);
        } else if rest.starts_with("$[") {
            self.refuse_all("`$[…]`");
            self.word(1);
        } else if rest.starts_with("$\\\n") {
            self.refuse_all(CONTINUED);
            self.word(1);
        } else if rest.starts_with("$'") && !double {
            self.refuse_all("`$'…'`");
            self.word(1);
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
                self.refuse_all("quotes inside `${…}`");
                self.word(1);
                if next == '"' && !double {
                    self.stack.push(Context::Double);
                }
            }
            '`' => self.backtick(),
            '$' if self.rest().starts_with("${") => {
                if !self.placeholder("", "") {
                    self.word(2);
                    self.stack.push(Context::Expansion { double });
                }
            }
            '$' => self.dollar(double),
            other => self.word(other.len_utf8()),
        }
    }

    pub(super) fn backtick(&mut self) {
        self.refuse_all("backticks (`$( … )` does the same)");
        self.word(1);
    }
}
