//! A policy under construction, and which of its fields were set.

use core::fmt;
use core::time::Duration;
use std::format;
use std::string::ToString as _;
use std::vec::Vec;

use super::backoff::BackoffKey;
use super::invalid_keys::InvalidKeys;
use super::jitter::JitterKey;
use crate::policy::Policy;
use crate::policy::backoff::Backoff;
use crate::policy::display_duration::DisplayDuration;
use crate::policy::jitter::Jitter;
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::table::Rules;

/// A policy under construction, and which of its fields were set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Draft {
    policy: Policy,
    written: Fields,
}

impl Draft {
    /// Creates a draft from a policy, with no fields written.
    pub fn from_policy(policy: Policy) -> Self {
        Self { policy, written: Fields::NONE }
    }

    /// Returns the policy in its current state, unchecked.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns the fields that were set.
    pub fn written(&self) -> Fields {
        self.written
    }

    /// Returns `base` with the written fields of this draft.
    #[must_use]
    pub fn written_over(&self, mut base: Policy) -> Self {
        base.copy(&self.policy, self.written);
        Self { policy: base, written: self.written }
    }

    pub(super) fn write(&mut self, field: Field) -> &mut Policy {
        self.written = self.written.with(field);
        &mut self.policy
    }

    /// `beside` is the first wait, if it is also given next to the backoff.
    pub(super) fn backoff(
        &mut self,
        key: BackoffKey,
        beside: Option<Duration>,
    ) -> Result<(), InvalidKeys> {
        self.write(Field::Backoff).backoff = key.backoff;
        if let Some(initial) = key.initial {
            if beside.is_some_and(|beside| beside != initial) {
                let name = key.backoff.name();
                return Err(InvalidKeys::new(
                    "initial_delay",
                    format!(
                        "the first wait is set twice, as `initial_delay` and inside `{name}`, with \
                         different values: keep one"
                    ),
                ));
            }
            self.write(Field::InitialDelay).initial_delay = initial;
        }
        Ok(())
    }

    pub(super) fn jitter(
        &mut self,
        jitter: Option<JitterKey>,
        factor: Option<f64>,
    ) -> Result<(), InvalidKeys> {
        let jitter = match (jitter, factor) {
            (None, None) => return Ok(()),
            (Some(JitterKey(jitter)), None) => jitter,
            // `true` is the default, whose factor may be changed.
            (Some(JitterKey(jitter @ Jitter::Proportional(_))), Some(factor))
                if jitter == Jitter::DEFAULT || jitter == Jitter::Proportional(factor) =>
            {
                Jitter::Proportional(factor)
            }
            (Some(jitter @ JitterKey(Jitter::Proportional(_))), Some(_)) => {
                return Err(InvalidKeys::new(
                    "jitter_factor",
                    format!(
                        "the factor is set twice, as `jitter_factor` and by `jitter: {jitter}`, \
                         with different values: keep one"
                    ),
                ));
            }
            (None, Some(factor)) if matches!(self.policy.jitter, Jitter::Proportional(_)) => {
                Jitter::Proportional(factor)
            }
            (None, Some(factor)) => {
                return Err(InvalidKeys::new(
                    "jitter_factor",
                    format!(
                        "`jitter_factor` only applies to `jitter: true`: add that, or write \
                         `jitter: {factor:?}` instead"
                    ),
                ));
            }
            (Some(JitterKey(other)), Some(_)) => {
                return Err(InvalidKeys::new(
                    "jitter_factor",
                    format!(
                        "`jitter_factor` only applies to `jitter: true`, but `jitter` is {}: \
                         remove one",
                        match other {
                            Jitter::Added { .. } => "a range of times",
                            other => other.name(),
                        }
                    ),
                ));
            }
        };
        self.write(Field::Jitter).jitter = jitter;
        Ok(())
    }

    /// Returns the policy if it obeys the rules.
    pub(super) fn finish(self, style: Style) -> Result<Policy, InvalidKeys> {
        // The keys of the task style belong together, so none of them counts as having no effect.
        let in_vain = if style == Style::Task { Fields::NONE } else { self.written };
        self.judged(in_vain, Rules::NONE, style)
    }

    /// Returns the policy, as a change to a compiled one, if it obeys all rules except those in
    /// `spared`. Fields in `written` are also checked for having no effect.
    ///
    /// # Errors
    /// A rule is broken.
    pub fn judge(&self, written: Fields, spared: Rules) -> Result<Policy, InvalidKeys> {
        self.judged(written, spared, Style::Override)
    }

    fn judged(&self, in_vain: Fields, spared: Rules, style: Style) -> Result<Policy, InvalidKeys> {
        let broken = Rules::broken_by_policy(&self.policy, in_vain).difference(spared);
        if broken.is_empty() {
            return Ok(self.policy);
        }
        Err(InvalidKeys::broken(broken, &self.policy, self.written, style))
    }
}

/// Writes a backoff as in the attribute: `linear(increment = 2s)`.
fn write_backoff(backoff: Backoff, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(backoff.name())?;
    match backoff {
        Backoff::Fixed | Backoff::Fibonacci => Ok(()),
        Backoff::Linear { increment } => {
            write!(f, "(increment = {})", DisplayDuration(increment))
        }
        Backoff::Exponential { base } => write!(f, "(base = {base:?})"),
        Backoff::Custom(delays) => {
            let delays = delays.iter().map(|delay| DisplayDuration(*delay).to_string());
            write!(f, "({})", delays.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Displayed as the fields that were set: `attempts 2, max_delay 500ms`.
impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = &self.policy;
        for (i, field) in self.written.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{} ", field.name())?;
            match field {
                Field::Attempts => policy.attempts.fmt(f)?,
                Field::Backoff => write_backoff(policy.backoff, f)?,
                Field::Jitter => JitterKey(policy.jitter).fmt(f)?,
                Field::MaxHedges => policy.max_hedges.fmt(f)?,
                field => policy.time(field).fmt(f)?,
            }
        }
        Ok(())
    }
}
