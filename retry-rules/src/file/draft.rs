//! [`Draft`]: settings under construction, and which of their fields were set.

use core::fmt;
use std::format;
use std::string::{String, ToString as _};

use serde::de::{Error, MapAccess, value};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::config::Config;
use super::invalid_keys::InvalidKeys;
use super::reader::{Keys, read};
use super::value::{ParsedValue, ValueKind, ValueSeed};
use crate::breaker::BreakerConfig;
use crate::policy::Policy;
use crate::policy::jitter::Jitter;
use crate::quota::QuotaConfig;
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::options::Setting;
use crate::rules::table::{Rule, Rules};

/// Settings under construction, and which of their fields were set. They are read from the keys of
/// a map, or from one key at a time, and checked at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Draft<C = Policy> {
    pub(super) config: C,
    /// The jitter's factor is among them only while the jitter is not: the factor of another
    /// policy's jitter.
    pub(super) written: Fields,
    /// Set if a value that breaks a rule by itself is rejected where it is read.
    is_sound: bool,
}

impl<C: Config> Draft<C> {
    /// Creates a draft from settings, with no fields written.
    pub fn from_config(config: C) -> Self {
        Self { config, written: Fields::NONE, is_sound: false }
    }

    /// Creates an empty draft that rejects a value that breaks a rule by itself, so that the reader of
    /// a file reports the place of the value.
    pub fn sound() -> Self {
        Self { is_sound: true, ..Self::default() }
    }

    /// Returns the fields that were set.
    pub fn written(&self) -> Fields {
        self.written
    }

    /// Returns the setting of a key, with the field that it sets, and the kind of its value.
    fn setting(key: &str) -> Option<(&'static Setting<C>, Field, ValueKind)> {
        let setting = C::settings().iter().find(|setting| setting.keys.contains(&key))?;
        let part = setting.parts.iter().find(|part| part.name() == key);
        let field = *part.unwrap_or(&setting.field);
        Some((
            setting,
            field,
            match field {
                Field::JitterFactor => ValueKind::Share,
                Field::MaxHedges => ValueKind::Count,
                Field::FailureThreshold => ValueKind::Failures,
                _ => setting.kind.value_kind(),
            },
        ))
    }

    /// Reads the value of a key. `check` may reject the draft with it.
    ///
    /// # Errors
    /// The value is invalid, contradicts another one, or is rejected.
    pub fn read_checked<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
        check: impl FnOnce(&Self) -> Result<(), String>,
    ) -> Result<(), A::Error> {
        let Some((setting, field, kind)) = Self::setting(key) else { return Ok(()) };
        let set = |value| {
            self.config.set(&mut self.written, setting, field, value)?;
            check(self)
        };
        map.next_value_seed(ValueSeed(kind, set))
    }

    /// Sets the value of a key from a text, as people write it on one line.
    ///
    /// # Errors
    /// The value is invalid, or contradicts the value of another key.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<(), String> {
        let Some((setting, field, kind)) = Self::setting(key) else {
            return Err(format!("there is no key `{key}`"));
        };
        let value = ParsedValue::read_text(kind, text.trim());
        let value = value.map_err(|error: value::Error| error.to_string())?;
        self.config.set(&mut self.written, setting, field, value)
    }

    /// Returns the settings if they obey the rules.
    ///
    /// # Errors
    /// A rule is broken, or two keys contradict each other.
    pub fn finish(self, style: Style) -> Result<C, InvalidKeys> {
        // The keys of the task style belong together, so none of them counts as having no effect.
        let in_vain = if style == Style::Task { Fields::NONE } else { self.written };
        self.judge(in_vain, Rules::NONE, style)
    }

    /// Returns the settings if they obey all rules except those in `spared`. Fields in `written`
    /// are also checked for having no effect.
    ///
    /// # Errors
    /// A rule is broken.
    pub fn judge(&self, written: Fields, spared: Rules, style: Style) -> Result<C, InvalidKeys> {
        let broken = self.config.broken(written).difference(spared);
        if broken.is_empty() {
            return Ok(self.config);
        }
        Err(InvalidKeys::broken(broken, &self.config, self.written, style))
    }
}

impl Draft {
    /// Returns the policy in its current state, unchecked.
    pub fn policy(&self) -> Policy {
        self.config
    }

    /// Marks a field as set.
    pub fn write(&mut self, field: Field) {
        self.written = self.written.with(field);
    }

    /// Returns this draft, whose fields replace the fields of another one. The factor of a jitter
    /// that the other one does not have stays without an effect, which breaks a rule.
    #[must_use]
    pub fn over(mut self, mut base: Self) -> Self {
        let is_factor = self.written.contains(Field::JitterFactor);
        if let (true, Jitter::Proportional(_)) = (is_factor, base.config.jitter) {
            self = self.without(Fields::NONE.with(Field::JitterFactor));
            self.write(Field::Jitter);
        }
        base.config.copy(&self.config, self.written);
        base.written = base.written.union(self.written);
        base
    }

    /// Returns this draft without these fields.
    #[must_use]
    pub fn without(self, fields: Fields) -> Self {
        Self { written: self.written.difference(fields), ..self }
    }

    /// Returns `base` with the written fields of this draft.
    #[must_use]
    pub fn written_over(&self, mut base: Policy) -> Self {
        base.copy(&self.config, self.written);
        Self { config: base, ..*self }
    }
}

/// The rules that no later key can cure once the first two of their fields have been read, although
/// they read more of them.
const OF_TWO_KEYS: Rules = Rules::from_slice(&[
    Rule::InitialAboveMax,
    Rule::FirstDelayAboveMax,
    Rule::MaxDelayUnlimited,
    Rule::InitialBesideCustom,
    Rule::MinimumCallsAboveWindow,
]);

impl<C: Config> Keys for Draft<C> {
    fn keys(&self) -> &'static [&'static str] {
        C::keys()
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        self.read_checked(key, map, |draft| {
            let Some((setting, ..)) = Self::setting(key) else { return Ok(()) };
            let is_own = |of: &Field| *of == setting.field || setting.parts.contains(of);
            let is_written = |of: &Field| draft.written.contains(*of);
            let alone = draft.config.broken(Fields::NONE);
            let alone = alone.iter().filter(|rule| rule.fields().iter().all(is_own));
            let together = draft.config.broken(draft.written);
            let together = together.iter().filter(|rule| {
                let count = if OF_TWO_KEYS.contains(*rule) { 2 } else { usize::MAX };
                rule.fields().len() > 1 && rule.fields().iter().take(count).all(is_written)
            });
            match alone.chain(together).next().filter(|_| draft.is_sound) {
                Some(rule) => Err(rule.explained(Style::Command, &draft.config).to_string()),
                None => Ok(()),
            }
        })
    }
}

/// Reads the keys, and leaves their rules to the caller.
impl<'de, C: Config> Deserialize<'de> for Draft<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Self::default(), C::WHAT, deserializer)
    }
}

/// Writes the settings that differ from the default, except those that have no effect beside these
/// fields by the rules.
///
/// # Errors
/// The format cannot write them.
pub fn write<C: Config, M: SerializeMap>(
    config: &C,
    beside: Fields,
    map: &mut M,
) -> Result<(), M::Error> {
    let default = C::default();
    // Both settings of slow calls are written, one after the other.
    let of_rules = config.broken(beside).with(Rule::SlowCallAlone);
    for setting in C::settings() {
        let parts = setting.parts.iter().map(|part| (*part, part.name()));
        for (field, key) in [(setting.field, setting.keys[0])].into_iter().chain(parts) {
            let value = config.written_value(field).filter(|_| setting.keys.contains(&key));
            let Some(value) =
                value.filter(|value| default.written_value(field).as_ref() != Some(value))
            else {
                continue;
            };
            if config.broken(beside.with(field)).difference(of_rules).is_empty() {
                map.serialize_entry(key, &value)?;
            }
        }
    }
    Ok(())
}

macro_rules! in_files {
    ($($Config:ident)+) => {$(
        impl<'de> Deserialize<'de> for $Config {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let draft = read(Draft::<Self>::sound(), Self::WHAT, deserializer)?;
                draft.finish(Style::Command).map_err(D::Error::custom)
            }
        }

        impl Serialize for $Config {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                write(self, Fields::NONE, &mut map)?;
                map.end()
            }
        }
    )+};
}

in_files!(Policy BreakerConfig QuotaConfig);

/// Displayed as the fields that were set: `attempts 2, max_delay 500ms`.
impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, field) in self.written.iter().enumerate() {
            let value = self.config.written_value(field).map(|value| value.to_string());
            let separator = if i > 0 { ", " } else { "" };
            write!(f, "{separator}{} {}", field.name(), value.as_deref().unwrap_or("none"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::vec::Vec;

    use crate::rules::messages::Style;
    use crate::{BreakerConfig, Fields, Policy, QuotaConfig, Rule, Rules};

    use super::{Config, Draft};

    /// Reads each three of these keys in each order, at once and with the rules checked at the end.
    /// The keys break each rule over two or more of the fields of a file.
    fn assert_order_does_not_matter<C: Config + serde::de::DeserializeOwned>(keys: &[&str]) {
        let mut broken = Rules::NONE;
        for one in keys {
            for two in keys {
                for three in keys {
                    let file = format!("{{ {one}, {two}, {three} }}");
                    let Ok(draft) = serde_json::from_str::<Draft<C>>(&file) else { continue };
                    broken = broken.union(draft.config.broken(draft.written));
                    let at_the_end = draft.finish(Style::Command).err();
                    let at_once = serde_json::from_str::<C>(&file).err();
                    assert_eq!(at_once.is_some(), at_the_end.is_some(), "{file}: {at_once:?}");
                }
            }
        }
        let settings = C::settings().iter();
        let fields = settings.flat_map(|setting| setting.parts.iter().chain([&setting.field]));
        let fields = Fields::from_slice(&fields.copied().collect::<Vec<_>>());
        let is_of_file = |rule: &&Rule| rule.fields().iter().all(|field| fields.contains(*field));
        let rules = Rule::ALL.iter().filter(is_of_file).filter(|rule| rule.fields().len() > 1);
        let unbroken: Vec<_> = rules.filter(|rule| !broken.contains(**rule)).collect();
        assert!(unbroken.is_empty(), "the keys break no rule {unbroken:?}");
    }

    #[test]
    fn order_of_keys_decides_nothing() {
        assert_order_does_not_matter::<Policy>(&[
            r#""attempts": 4"#,
            r#""attempts": 2"#,
            r#""attempts": "unlimited""#,
            r#""retry_budget": "5m""#,
            r#""initial_delay": "1m""#,
            r#""initial_delay": "0s""#,
            r#""first_delay": "40s""#,
            r#""first_delay": "0s""#,
            r#""max_delay": "30s""#,
            r#""max_delay": "2m""#,
            r#""max_delay": "unlimited""#,
            r#""backoff": "fixed""#,
            r#""backoff": { "custom": { "delays": ["1s"] } }"#,
            r#""backoff": "custom(1s, 40s)""#,
            r#""backoff": "fixed(initial = 0s)""#,
            r#""backoff": "linear(increment = 0s)""#,
            r#""backoff": "exponential(base = 1.0)""#,
            r#""backoff": "exponential(base = 1e400)""#,
            r#""jitter": "decorrelated""#,
            r#""jitter": "full""#,
            r#""jitter": "1m..2m""#,
            r#""jitter": "up(1.5)""#,
            r#""jitter_factor": 0.5"#,
            r#""jitter_factor": 1.5"#,
            r#""timeout": "10s""#,
            r#""deadline": "5s""#,
            r#""max_elapsed": "20s""#,
            r#""hedge": "30s""#,
            r#""max_hedges": 2"#,
        ]);
        assert_order_does_not_matter::<BreakerConfig>(&[
            r#""failure_rate": 0.5"#,
            r#""window_calls": 5"#,
            r#""window_calls": 0"#,
            r#""window_time": "10s""#,
            r#""minimum_calls": 20"#,
            r#""slow_call": "2s""#,
            r#""slow_rate": 1.5"#,
            r#""timeout": "1h""#,
            r#""max_timeout": "5m""#,
            r#""timeout_growth": 1.0"#,
            r#""timeout_growth": 2.0"#,
            r#""stage_time": "3s""#,
            r#""half_open": "probes""#,
            r#""half_open": "gradual""#,
        ]);
        assert_order_does_not_matter::<QuotaConfig>(&[
            r#""capacity": 4"#,
            r#""retry_cost": 0"#,
            r#""timeout_cost": 4"#,
            r#""throttling_cost": 3"#,
            r#""success_refund": 4"#,
        ]);
    }

    #[test]
    fn rule_over_two_keys_is_reported_at_the_second() {
        for (first, second) in [
            (r#""initial_delay": "1m""#, r#""max_delay": "30s""#),
            (r#""max_delay": "30s""#, r#""initial_delay": "1m""#),
            (r#""deadline": "5s""#, r#""timeout": "10s""#),
        ] {
            let file = format!("{{\n{first},\n{second},\n\"attempts\": 4\n}}");
            let error = serde_json::from_str::<Policy>(&file).unwrap_err();
            assert_eq!(error.line(), 3, "{error}");
        }
    }
}
