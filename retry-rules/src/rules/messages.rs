//! The wording of messages: the parts of which they consist, and the styles in which settings are
//! spelt.

use core::fmt;

use super::field::Field;
use crate::policy::Policy;
use crate::policy::backoff::Backoff;
use crate::policy::display_duration::DisplayDuration;

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
    /// `attempts: 1`, for a step of a workflow file, which has no deadline and no hedges.
    Step,
    /// `max_attempts: 1`, in a file.
    Workflow,
    /// `max_retries: 0`, in a file.
    Task,
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
            (Self::Command | Self::Step | Self::Workflow, Field::Budget) => Some("retry_budget"),
            (Self::Workflow, Field::Attempts) => Some("max_attempts"),
            (Self::Workflow, Field::InitialDelay) => Some("initial"),
            (Self::Workflow, Field::Base) => Some("multiplier"),
            (Self::Task, Field::Attempts) => Some("max_retries"),
            (Self::Task, Field::InitialDelay) => Some("retry_delay"),
            (Self::Task, Field::MaxDelay) => Some("max_retry_delay"),
            (Self::Task, Field::MaxRetryAfter) => Some("max_retry_after"),
            (Self::Step | Self::Workflow, Field::Deadline | Field::Hedge | Field::MaxHedges)
            | (Self::Workflow, Field::Timeout)
            | (Self::Workflow | Self::Override, Field::AbortOn)
            | (Self::Task, _) => None,
            _ => Some(field.name()),
        }
    }

    /// The text between a name and its value.
    const fn sign(self) -> &'static str {
        match self {
            Self::Attribute => " = ",
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
        f.write_str(self.name(field).unwrap_or(field.name()))
    }
}

/// A part of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// The same text in every style.
    Words(&'static str),
    /// `` `attempts` ``
    Name(Field),
    /// `` `max_delay` (30s unless set) ``
    NameUnlessSet(Field, &'static str),
    /// The default of a setting.
    Default(Field, &'static str),
    /// `` `max_delay = "30s"` ``
    Setting(Field, &'static str),
    /// `` `attempts = 1` ``: a number of calls, however the style counts them.
    Calls(u32),
    /// Parts that apply only if the style has this setting.
    Where(Field, &'static [Part]),
}

impl Part {
    fn write(self, style: Style, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Name(field) => {
                f.write_str("`")?;
                style.write_name(field, f)?;
                f.write_str("`")
            }
            Self::NameUnlessSet(field, default) => {
                Self::Name(field).write(style, f)?;
                match style.default(field, default) {
                    Some(default) => write!(f, " ({default} unless set)"),
                    None => Ok(()),
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
            Self::Where(field, parts) => {
                if style.name(field).is_some() {
                    write_all(parts, style, f)?;
                }
                Ok(())
            }
        }
    }
}

pub(super) fn write_all(parts: &[Part], style: Style, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    parts.iter().try_for_each(|part| part.write(style, f))
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
    fn write(self, style: Style, policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut time = |field, time| {
            style.write_name(field, f)?;
            write!(f, " {}", DisplayDuration(time))
        };
        match self {
            Self::FirstWait => {
                write!(f, "first wait {}", DisplayDuration(policy.wait_interval(1, None).0))
            }
            Self::Of(Field::Attempts) => write!(f, "{} attempts", policy.attempts),
            Self::Of(Field::Delays) => match policy.backoff {
                Backoff::Custom(delays) => write!(f, "{} delays", delays.len()),
                _ => f.write_str("no delays"),
            },
            Self::Of(Field::MaxDelay) => time(Field::MaxDelay, policy.get_max_delay()),
            Self::Of(field) => time(field, policy.time(field).limit().unwrap_or_default()),
        }
    }
}

/// Writes, for example, ` (initial_delay 1m, max_delay 30s)`.
pub(super) fn write_numbers(
    numbers: &[Number],
    style: Style,
    policy: &Policy,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (i, number) in numbers.iter().enumerate() {
        f.write_str(if i == 0 { " (" } else { ", " })?;
        number.write(style, policy, f)?;
    }
    if numbers.is_empty() { Ok(()) } else { f.write_str(")") }
}
