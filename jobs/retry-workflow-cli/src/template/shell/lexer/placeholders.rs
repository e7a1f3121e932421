//! Placeholders: inserts a reference to the value, or refuses it.

use super::{Braces, Context, Lexer};
use crate::template::error::TemplateError;
use crate::template::parse::{Braced, braced};
use crate::template::shell::reference;
use crate::template::shell::word::Value;
use crate::template::text::never_closed;

impl Lexer<'_> {
    /// Refuses all placeholders from this position on, whatever the quotes around them.
    pub(super) fn refuse_from(&mut self, from: usize, why: &str) {
        self.at = from;
        while let Some(at) = self.rest().find("${") {
            self.at += at;
            match self.found() {
                Braces::Shells => self.at += 2,
                Braces::Refused => {}
                Braces::Value(value, _) => self.errors.push(value.refused(why)),
            }
        }
    }

    /// Replaces the placeholder at this position with a reference, as part of the word; returns
    /// `false` if this is an expansion of the shell.
    pub(super) fn placeholder(&mut self, before: &str, after: &str) -> bool {
        match self.found() {
            Braces::Shells => return false,
            Braces::Refused => {}
            Braces::Value(value, reference) => {
                for part in [before, &reference, after] {
                    self.script.text.push_str(part);
                }
                self.inserted.push(value.clone());
                let commands = self.commands();
                commands.first_value.get_or_insert_with(|| value.clone());
                let word = commands.word();
                let before = word.text.len();
                word.values.push(Value { before, ..value });
                word.text.push_str(&reference);
            }
        }
        true
    }

    /// Parses the placeholder at this position.
    fn found(&mut self) -> Braces {
        let rest = self.rest();
        let Some(len) = rest.find('}') else {
            self.errors.push(never_closed(self.text, self.at));
            self.at = self.text.len();
            return Braces::Refused;
        };
        let part = rest[..=len].to_owned();
        let at = self.at;
        let placeholder = match braced(&rest[2..len], self.at, self.available) {
            Ok(Braced::Shell) => return Braces::Shells,
            Ok(Braced::Placeholder(placeholder)) => placeholder,
            Err(message) => {
                self.errors.push(TemplateError { at, part, message });
                self.at += len + 1;
                return Braces::Refused;
            }
        };
        self.at += len + 1;
        // A placeholder in a substitution is in the same context as the substitution.
        if self.stack.iter().any(|context| matches!(context, Context::Expansion { .. })) {
            let message = format!(
                "`{part}` is not allowed inside another `${{…}}`: assign it to a variable first"
            );
            self.errors.push(TemplateError { at, part, message });
            return Braces::Refused;
        }
        let values = &mut self.script.values;
        let known = values.iter().position(|known| known.meaning == placeholder.meaning);
        let number = known.unwrap_or_else(|| {
            values.push(placeholder);
            values.len() - 1
        });
        let value = Value { at, part, number: Some(number), before: 0 };
        Braces::Value(value, reference(number))
    }
}
