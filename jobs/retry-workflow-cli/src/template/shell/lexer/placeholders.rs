//! Placeholders: inserts a reference to the value, or refuses it.

use super::{Braces, Context, IN_ARITHMETIC, IN_EXPANSION, Lexer};
use crate::template::error::TemplateError;
use crate::template::parse::{Braced, braced};
use crate::template::shell::reference;
use crate::template::shell::word::Value;
use crate::template::text::never_closed;

impl Lexer<'_> {
    /// Refuses all placeholders in the next bytes.
    pub(super) fn refuse_within(&mut self, bytes: usize, place: &str) {
        let (begin, end) = (self.at, self.at + bytes);
        while let Some(at) = self.text.get(self.at..end).and_then(|text| text.find("${")) {
            self.at += at;
            if !self.refuse_here(place) {
                self.at += 2;
            }
        }
        self.at = begin;
    }

    /// Refuses and skips the placeholder at this position, if there is one.
    pub(super) fn refuse_here(&mut self, place: &str) -> bool {
        let rest = self.rest();
        let Some(len) = rest.find('}') else { return false };
        let message = match braced(&rest[2..len], self.at, self.available) {
            Ok(Braced::Shell) => return false,
            Ok(Braced::Placeholder(placeholder)) => {
                format!("`{}` is not allowed {place}", placeholder.written)
            }
            Err(message) => message,
        };
        self.errors.push(TemplateError { at: self.at, part: rest[..=len].to_owned(), message });
        self.at += len + 1;
        true
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
                let word = self.commands().word();
                let before = word.text.len();
                word.values.push(Value { before, ..value });
                word.text.push_str(&reference);
            }
        }
        true
    }

    /// Parses the placeholder at this position.
    pub(super) fn found(&mut self) -> Braces {
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
        let within = self.stack.iter().rev().find_map(|context| match context {
            Context::Expansion { .. } => Some(IN_EXPANSION),
            Context::Arithmetic { .. } => Some(IN_ARITHMETIC),
            Context::Commands(_) | Context::Double => None,
        });
        let refused = match (self.uncertain_reason(), within) {
            (Some(why), _) => {
                Some(format!("here: its quoting is not certain {why}; put it before that"))
            }
            (None, within) => within.map(str::to_owned),
        };
        if let Some(why) = refused {
            let message = format!("`{part}` is not allowed {why}");
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
        self.inserted.push(value.clone());
        self.commands().first_value.get_or_insert_with(|| value.clone());
        Braces::Value(value, reference(number))
    }
}
