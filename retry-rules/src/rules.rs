//! The one list of rules, and how each is worded.
//!
//! The rules are applied in three places: the macro applies them to literals, and maps the field
//! that a rule names to the user's token; `const` expressions are checked in a `const` assertion;
//! files are checked when they are loaded.

mod set;
pub(crate) mod option_rows;
pub(crate) mod field;
pub mod options;
pub(crate) mod messages;
mod row;
pub(crate) mod table;
pub(crate) mod invalid;
mod sanitize;

#[cfg(test)]
mod tests;

use core::fmt;

use self::field::Field;
use self::messages::{Style, Values};
use self::row::Row;
use self::table::Rule;

impl Rule {
    const fn row(self) -> &'static Row {
        &Self::ROWS[self as usize]
    }

    /// Returns the fields that the rule reads, the one to blame first.
    pub const fn fields(self) -> &'static [Field] {
        self.row().fields
    }

    /// Returns what is wrong and what to write instead, as worded for the attribute.
    pub const fn message(self) -> &'static str {
        Self::MESSAGES[self as usize]
    }

    /// Returns the message in the style of the settings.
    ///
    /// ```
    /// use retry_rules::{Rule, Style};
    ///
    /// let complaint = Rule::BaseNotGrowing.worded(Style::Workflow).to_string();
    /// assert!(complaint.ends_with("such as `multiplier: 2.0`"));
    /// ```
    pub fn worded(self, style: Style) -> impl fmt::Display {
        RuleMessage { rule: self, style, values: None }
    }

    /// Returns the message with the values of a policy, a breaker or a quota, because some may be
    /// defaults that are not visible in the settings.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_rules::{Policy, Rule, Style};
    ///
    /// let policy = Policy::new().initial_delay(Duration::from_secs(45));
    /// let complaint = Rule::InitialAboveMax.explained(Style::Attribute, &policy).to_string();
    /// assert!(complaint.starts_with("`initial_delay` (45s) is longer than `max_delay` (30s, the default)"));
    /// ```
    pub fn explained(self, style: Style, values: &dyn Values) -> impl fmt::Display {
        RuleMessage { rule: self, style, values: Some(values) }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

struct RuleMessage<'a> {
    rule: Rule,
    style: Style,
    values: Option<&'a dyn Values>,
}

impl fmt::Display for RuleMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.rule.row();
        row.parts.iter().try_for_each(|part| part.write(self.style, self.values, f))?;
        match self.values {
            Some(values) => messages::write_numbers(row.numbers, self.style, values, f),
            None => Ok(()),
        }
    }
}
