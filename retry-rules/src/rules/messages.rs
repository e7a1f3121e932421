//! The wording of messages: the parts of which they consist, and the styles in which settings are
//! spelt.

use core::fmt::{self, Write as _};
use core::time::Duration;

use super::field::Field;
use crate::breaker::{BreakerConfig, Window};
use crate::policy::backoff::Backoff;
use crate::policy::display_duration::DisplayDuration;
use crate::policy::{Attempts, Policy};
use crate::quota::QuotaConfig;

/// A value in a message.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// `30s`
    Time(Duration),
    /// `3`
    Count(u32),
}

impl Value {
    /// Returns whether this is the default that a message names.
    fn is(self, default: &str) -> bool {
        match self {
            Self::Time(time) => {
                let seconds = default.strip_suffix('s').and_then(|seconds| seconds.parse().ok());
                seconds.map(Duration::from_secs) == Some(time)
            }
            Self::Count(count) => default.parse() == Ok(count),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Time(time) => DisplayDuration(time).fmt(f),
            Self::Count(count) => count.fmt(f),
        }
    }
}

/// Settings whose values are shown in messages.
#[doc(hidden)]
pub trait Values {
    /// Returns the value of a field, the default if it was not set.
    fn value(&self, field: Field) -> Option<Value>;

    /// Returns the shortest possible first wait.
    fn first_wait(&self) -> Option<Duration> {
        None
    }
}

impl Values for Policy {
    fn value(&self, field: Field) -> Option<Value> {
        match (field, self.attempts, self.backoff) {
            (Field::Attempts, Attempts::Limited(attempts), _) => Some(Value::Count(attempts)),
            (Field::Delays, _, Backoff::Custom(delays)) => {
                u32::try_from(delays.len()).ok().map(Value::Count)
            }
            (Field::MaxDelay, ..) => Some(Value::Time(self.get_max_delay())),
            _ => self.time(field).limit().map(Value::Time),
        }
    }

    fn first_wait(&self) -> Option<Duration> {
        Some(self.wait_interval(1, None).0)
    }
}

impl Values for BreakerConfig {
    fn value(&self, field: Field) -> Option<Value> {
        Some(match (field, self.window) {
            (Field::MinimumCalls, _) => Value::Count(self.minimum_calls),
            (Field::WindowCalls, Window::Calls(calls)) => Value::Count(calls),
            (Field::OpenTimeout, _) => Value::Time(self.timeout),
            (Field::MaxTimeout, _) => Value::Time(self.get_max_timeout()),
            _ => return None,
        })
    }
}

impl Values for QuotaConfig {
    fn value(&self, field: Field) -> Option<Value> {
        Some(Value::Count(match field {
            Field::RetryCost => self.retry_cost,
            Field::TimeoutCost => self.timeout_cost,
            _ => return None,
        }))
    }
}

/// The spelling of settings where they are written.
///
/// A message says what to write, and `attempts = 1` in the attribute is `max_attempts: 1`
/// in a workflow-style file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// `attempts = 1`, in `#[retry(…)]` and `policy!(…)`.
    Attribute,
    /// `attempts: 1`, in a file.
    Command,
    /// `max_attempts: 1`, in a file.
    Workflow,
    /// `max_retries: 0`, in a file.
    Task,
    /// `--attempts 1`, as arguments of a command.
    Arguments,
    /// `attempts: 1`, as a change to a compiled policy: what is left out stays as
    /// compiled, and has no default.
    Override,
}

impl Style {
    /// Returns the name of a setting, or `None` if the style has no such setting.
    ///
    /// ```
    /// use retry_rules::{Field, Style};
    ///
    /// assert_eq!(Style::Workflow.name(Field::Attempts), Some("max_attempts"));
    /// assert_eq!(Style::Workflow.name(Field::Deadline), None);
    /// ```
    pub const fn name(self, field: Field) -> Option<&'static str> {
        match (self, field) {
            (Self::Command | Self::Workflow, Field::Budget) => Some("retry_budget"),
            (Self::Workflow, Field::Attempts) => Some("max_attempts"),
            (Self::Workflow, Field::InitialDelay) => Some("initial"),
            (Self::Workflow, Field::Base) => Some("multiplier"),
            (Self::Task, Field::Attempts) => Some("max_retries"),
            (Self::Task, Field::InitialDelay) => Some("retry_delay"),
            (Self::Task, Field::MaxDelay) => Some("max_retry_delay"),
            (Self::Task, Field::MaxRetryAfter) => Some("max_retry_after"),
            (
                Self::Workflow,
                Field::Deadline | Field::Timeout | Field::Hedge | Field::MaxHedges,
            )
            | (Self::Task, _) => None,
            _ => Some(field.name()),
        }
    }

    /// The text between a name and its value.
    const fn sign(self) -> &'static str {
        match self {
            Self::Attribute => " = ",
            Self::Arguments => " ",
            _ => ": ",
        }
    }

    /// The default of a setting that is `default` in the attribute.
    const fn default(self, field: Field, default: &'static str) -> Option<&'static str> {
        match (self, field) {
            (Self::Override, _) => None,
            (Self::Task, Field::MaxDelay) => Some("300s"),
            _ => Some(default),
        }
    }

    fn write_name(self, field: Field, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name(field).unwrap_or(field.name());
        match self {
            Self::Arguments => {
                f.write_str("--")?;
                name.chars().try_for_each(|c| f.write_char(if c == '_' { '-' } else { c }))
            }
            _ => f.write_str(name),
        }
    }
}

/// A part of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// The same text in every style.
    Words(&'static str),
    /// `` `attempts` ``
    Name(Field),
    /// `` `max_delay` (30s unless set) ``, or the value that is set.
    NameOrValue(Field, &'static str),
    /// The default of a setting.
    Default(Field, &'static str),
    /// `` `max_delay = "30s"` ``
    Setting(Field, &'static str),
    /// `` `attempts = 1` ``: a number of calls, however the style counts them.
    Calls(u32),
}

impl Part {
    pub(super) fn write(
        self,
        style: Style,
        values: Option<&dyn Values>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Name(field) => {
                f.write_str("`")?;
                style.write_name(field, f)?;
                f.write_str("`")
            }
            Self::NameOrValue(field, default) => {
                Self::Name(field).write(style, values, f)?;
                let value = values.and_then(|values| values.value(field));
                match (style.default(field, default), value) {
                    (Some(default), None) => write!(f, " ({default} unless set)"),
                    (Some(default), Some(value)) if value.is(default) => {
                        write!(f, " ({value}, the default)")
                    }
                    (_, Some(value)) => write!(f, " ({value})"),
                    (None, None) => Ok(()),
                }
            }
            Self::Default(field, default) => {
                f.write_str(style.default(field, default).unwrap_or("as compiled"))
            }
            Self::Setting(field, value) => {
                f.write_str("`")?;
                style.write_name(field, f)?;
                write!(f, "{}{value}`", style.sign())
            }
            Self::Calls(calls) => {
                let number = if style == Style::Task { calls.saturating_sub(1) } else { calls };
                f.write_str("`")?;
                style.write_name(Field::Attempts, f)?;
                write!(f, "{}{number}`", style.sign())
            }
        }
    }
}

/// A number relevant to a message; it may be a default that was not written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// The shortest possible first wait.
    FirstWait,
    /// The value of a setting.
    Of(Field),
}

impl Number {
    fn write(self, style: Style, values: &dyn Values, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match self {
            Self::FirstWait => values.first_wait().map(Value::Time),
            Self::Of(field) => values.value(field),
        };
        let value = value.unwrap_or(Value::Count(0));
        match self {
            Self::FirstWait => write!(f, "first wait {value}"),
            Self::Of(Field::Delays) => write!(f, "{value} delays"),
            Self::Of(field) => {
                style.write_name(field, f)?;
                write!(f, " {value}")
            }
        }
    }
}

/// Writes, for example, ` (initial_delay 1m, max_delay 30s)`.
pub(super) fn write_numbers(
    numbers: &[Number],
    style: Style,
    values: &dyn Values,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (i, number) in numbers.iter().enumerate() {
        f.write_str(if i == 0 { " (" } else { ", " })?;
        number.write(style, values, f)?;
    }
    if numbers.is_empty() { Ok(()) } else { f.write_str(")") }
}
