//! [`ParsedValue`]: a value in a file, read by the kind of its setting.

mod backoff;

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::backoff::CURVES;
use super::Span;
use super::reader::twice;
use crate::breaker::HalfOpen;
use crate::duration;
use crate::policy::Attempts;
use crate::policy::backoff::Backoff;
use crate::policy::bound::Bound;
use crate::policy::jitter::Jitter;
use crate::suggest::{meant, number_meant, shortened, unknown_word};

/// The kind of a value: the forms in which it may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// `5`, or `unlimited`.
    Attempts,
    /// `5`
    Count,
    /// `5`, of a breaker that may have a rate instead.
    Failures,
    /// `0.5`
    Share,
    /// `"1s"`
    Time,
    /// `0.5` or `"500ms"`
    Seconds,
    /// `"1s"`, or `unlimited`.
    Bound,
    /// A list of `"1s"`.
    Delays,
    /// `exponential`
    Backoff,
    /// `full`
    Jitter,
    /// `gradual`
    HalfOpen,
    /// `true`
    Flag,
}

/// A value that has been read.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the kinds of values")]
pub enum ParsedValue {
    Attempts(Attempts),
    Count(u32),
    Share(f64),
    Time(Duration),
    Bound(Bound),
    Delays(Vec<Duration>),
    Backoff(ParsedBackoff),
    Jitter(Jitter),
    HalfOpen(HalfOpen),
    Flag(bool),
    /// No value.
    Null,
}

/// The backoff in a file, with the first wait if it is given inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParsedBackoff {
    /// The curve.
    pub backoff: Backoff,
    /// The first wait.
    pub initial: Option<Duration>,
}

/// Returns the setting of a curve with its value.
fn setting_of(backoff: Backoff) -> Option<(&'static str, ParsedValue)> {
    match backoff {
        Backoff::Fixed | Backoff::Fibonacci => None,
        Backoff::Linear { increment } => Some(("increment", ParsedValue::Time(increment))),
        Backoff::Exponential { base } => Some(("base", ParsedValue::Share(base))),
        Backoff::Custom(delays) => Some(("delays", ParsedValue::Delays(delays.to_vec()))),
    }
}

/// Reads a value of this kind and passes it to the function, which may reject it. Does nothing for
/// a null.
#[derive(Debug)]
pub(super) struct ValueSeed<F>(pub(super) ValueKind, pub(super) F);

impl<'de, F: FnOnce(ParsedValue) -> Result<(), String>> DeserializeSeed<'de> for ValueSeed<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Self(kind, take) = self;
        match deserializer.deserialize_any(kind)? {
            ParsedValue::Null => Ok(()),
            value => take(value).map_err(D::Error::custom),
        }
    }
}

impl ValueKind {
    const fn expected(self) -> &'static str {
        match self {
            Self::Attempts => "a number of attempts, or `unlimited`",
            Self::Count => "a whole number such as `3`",
            Self::Failures => "a whole number such as `3`; a share of the calls is `failure_rate`",
            Self::Share => "a number such as `0.5`",
            Self::Time => "a duration such as `\"30s\"`, or a map with `secs` and `nanos`",
            Self::Seconds => "a duration such as `\"30s\"`, or a number of seconds",
            Self::Bound => {
                "a duration such as `\"30s\"`, or a map with `secs` and `nanos`, or `unlimited`"
            }
            Self::Delays => "a list of durations, such as `[\"500ms\", \"1s\"]`",
            Self::Backoff => "a backoff: fixed, linear, exponential, fibonacci or custom",
            Self::Jitter => {
                "a jitter: true, false, a factor such as 0.25, up(0.3), a time that is added such \
                 as \"0ms..250ms\", full, equal, decorrelated or none"
            }
            Self::HalfOpen => "probes or gradual",
            Self::Flag => "true or false",
        }
    }

    /// The error about a value of another type. YAML readers report the place only for `custom` errors.
    fn unexpected<E: Error>(self, found: Unexpected<'_>) -> E {
        E::custom(format_args!("found {found}: write {}", self.expected()))
    }

    fn time(self, time: Duration) -> ParsedValue {
        match self {
            Self::Bound => ParsedValue::Bound(Bound::Limited(time)),
            _ => ParsedValue::Time(time),
        }
    }

    fn is_time(self) -> bool {
        matches!(self, Self::Time | Self::Seconds | Self::Bound)
    }

    /// Reads a text, whole or shortened.
    fn read<E: Error>(self, text: &str) -> Result<ParsedValue, E> {
        match (self, text) {
            (Self::Attempts, "unlimited") => Ok(ParsedValue::Attempts(Attempts::Unlimited)),
            (Self::Bound, "unlimited") => Ok(ParsedValue::Bound(Bound::Unlimited)),
            (Self::Attempts | Self::Count | Self::Failures, number)
                if number.trim().parse::<u32>().is_ok() =>
            {
                Err(E::custom(format!(
                    "\"{number}\" is a text: write the number `{}`, without quotes",
                    number.trim()
                )))
            }
            (Self::Attempts, word) => Err(unknown_word(word, &["unlimited"], &self)),
            (Self::Share | Self::Count | Self::Failures, text) => {
                let number = number_instead(text).filter(|_| self == Self::Share);
                let expected = || format!("\"{text}\": expected {}", self.expected());
                Err(E::custom(number.unwrap_or_else(expected)))
            }
            (Self::Backoff, text) => backoff::read_text(text).map(ParsedValue::Backoff),
            (Self::Jitter, text) => jitter(text).map(ParsedValue::Jitter),
            (Self::HalfOpen, "probes") => Ok(ParsedValue::HalfOpen(HalfOpen::Probes)),
            (Self::HalfOpen, "gradual") => Ok(ParsedValue::HalfOpen(HalfOpen::Gradual)),
            (Self::HalfOpen, word) => Err(unknown_word(word, &["probes", "gradual"], &self)),
            (Self::Flag, word) => Err(unknown_word(word, &["true", "false"], &self)),
            (Self::Bound, word) if meant(word, &["unlimited"]).is_some() => {
                Err(unknown_word(word, &["unlimited"], &self))
            }
            (kind, text) if kind.is_time() => match duration::parse(text) {
                Ok(time) => Ok(self.time(time)),
                Err(error) => Err(E::custom(format!("\"{text}\": {error}"))),
            },
            (_, text) => Err(self.unexpected(Unexpected::Str(text))),
        }
    }
}

const WITHOUT_END: &str = "`unlimited` and `max_elapsed: 10m`";

impl<'de> Visitor<'de> for ValueKind {
    type Value = ParsedValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected())
    }

    fn visit_unit<E: Error>(self) -> Result<ParsedValue, E> {
        Ok(ParsedValue::Null)
    }

    fn visit_none<E: Error>(self) -> Result<ParsedValue, E> {
        Ok(ParsedValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<ParsedValue, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<ParsedValue, E> {
        match self {
            Self::Jitter if on => Ok(ParsedValue::Jitter(Jitter::DEFAULT)),
            Self::Jitter => Ok(ParsedValue::Jitter(Jitter::None)),
            Self::Flag => Ok(ParsedValue::Flag(on)),
            _ => Err(self.unexpected(Unexpected::Bool(on))),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ParsedValue, E> {
        match (self, u32::try_from(number)) {
            (Self::Attempts, Ok(attempts)) => {
                Ok(ParsedValue::Attempts(Attempts::Limited(attempts)))
            }
            (Self::Attempts, Err(_)) => Err(E::custom(format!(
                "{number} attempts are too many: write at most {}, or {WITHOUT_END}",
                u32::MAX
            ))),
            (Self::Count | Self::Failures, Ok(count)) => Ok(ParsedValue::Count(count)),
            (Self::Seconds, _) => Ok(ParsedValue::Time(Duration::from_secs(number))),
            (Self::Time | Self::Bound, _) => self.visit_str(&number.to_string()),
            #[expect(clippy::cast_precision_loss, reason = "no setting needs so many digits")]
            (Self::Share | Self::Jitter, _) => self.visit_f64(number as f64),
            _ => Err(self.unexpected(Unexpected::Unsigned(number))),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ParsedValue, E> {
        match (self, u64::try_from(number)) {
            (_, Ok(number)) => self.visit_u64(number),
            (Self::Attempts, _) => Err(E::custom(format!(
                "{number} is not a number of attempts: write `1` or more, or {WITHOUT_END}"
            ))),
            (kind, _) if kind.is_time() => self.visit_str(&number.to_string()),
            #[expect(clippy::cast_precision_loss, reason = "no setting needs so many digits")]
            (Self::Share | Self::Jitter, _) => self.visit_f64(number as f64),
            _ => Err(self.unexpected(Unexpected::Signed(number))),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<ParsedValue, E> {
        match self {
            Self::Share => Ok(ParsedValue::Share(number)),
            Self::Jitter => Ok(ParsedValue::Jitter(Jitter::Proportional(number))),
            Self::Seconds => match Duration::try_from_secs_f64(number) {
                Ok(time) => Ok(ParsedValue::Time(time)),
                Err(_) if number < 0.0 => self.visit_str(&number.to_string()),
                Err(error) => Err(E::custom(format!("{number} seconds: {error}"))),
            },
            Self::Time | Self::Bound => self.visit_str(&number.to_string()),
            _ => Err(self.unexpected(Unexpected::Float(number))),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ParsedValue, E> {
        match self.read(text) {
            // Only a backoff may be long, and its parts are read one by one.
            Err(_) if self != Self::Backoff => self.read(&shortened(text)),
            read => read,
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<ParsedValue, A::Error> {
        if self != Self::Delays {
            return Err(self.unexpected(Unexpected::Seq));
        }
        let delays = Vec::<Span>::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(ParsedValue::Delays(delays.into_iter().map(Duration::from).collect()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParsedValue, A::Error> {
        if self == Self::Backoff {
            return backoff::read_map(map).map(ParsedValue::Backoff);
        }
        let (mut secs, mut nanos) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match &*key {
                // A format that keeps all digits of a number passes its text in such a map.
                number if number.starts_with('$') => {
                    return ParsedValue::read_text(self, &map.next_value::<String>()?);
                }
                "secs" | "nanos" if self.is_time() => {
                    let kind = if key == "secs" { Self::Seconds } else { Self::Count };
                    let mut is_twice = false;
                    let set = |value| {
                        is_twice = match value {
                            ParsedValue::Time(time) => secs.replace(time).is_some(),
                            ParsedValue::Count(count) => nanos.replace(count).is_some(),
                            _ => false,
                        };
                        Ok(())
                    };
                    map.next_value_seed(ValueSeed(kind, set))?;
                    if is_twice {
                        return Err(twice(&key, &key));
                    }
                }
                key if self.is_time() => {
                    return Err(A::Error::unknown_field(&shortened(key), &["secs", "nanos"]));
                }
                _ => return Err(self.unexpected(Unexpected::Map)),
            }
        }
        let nanos = nanos.unwrap_or(0);
        match secs {
            Some(_) if nanos >= 1_000_000_000 => {
                Err(A::Error::custom("`nanos` must be below 1000000000, which is a whole second"))
            }
            Some(secs) => Ok(self.time(secs.saturating_add(Duration::from_nanos(nanos.into())))),
            None if self.is_time() => Err(A::Error::missing_field("secs")),
            None => Err(self.unexpected(Unexpected::Map)),
        }
    }
}

impl ParsedValue {
    /// Reads a value as people write it on one line: `2`, `true`, `500ms`.
    pub(super) fn read_text<E: Error>(kind: ValueKind, text: &str) -> Result<Self, E> {
        // Excludes `inf` and `nan`, which would also parse as floats.
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        match text {
            "true" => kind.visit_bool(true),
            "false" => kind.visit_bool(false),
            _ => {
                let number = text.parse().ok().filter(|_: &f64| is_number);
                match (text.parse(), text.parse(), number) {
                    (Ok(number), ..) => kind.visit_u64(number),
                    (_, Ok(number), _) => kind.visit_i64(number),
                    (.., Some(number)) => kind.visit_f64(number),
                    _ => kind.visit_str(text),
                }
            }
        }
    }
}

/// Returns the message for a text that stands for a number.
fn number_instead(text: &str) -> Option<String> {
    let number = number_meant(text)?;
    let unquoted = if text.trim().parse::<f64>().is_ok() { ", without quotes" } else { "" };
    Some(format!("\"{text}\" is a text: write the number `{number}`{unquoted}"))
}

fn jitter<E: Error>(text: &str) -> Result<Jitter, E> {
    const NAMED: [Jitter; 5] =
        [Jitter::None, Jitter::DEFAULT, Jitter::Full, Jitter::Equal, Jitter::Decorrelated];

    if let Some(up) = text.trim().strip_prefix("up").map(str::trim) {
        let factor = up.strip_prefix('(').and_then(|up| up.strip_suffix(')'));
        if let Some(Ok(factor)) = factor.map(|factor| factor.trim().parse()) {
            return Ok(Jitter::Up(factor));
        }
        if factor.is_some() || up.is_empty() {
            return Err(E::custom(
                "`up` takes the share that a wait is lengthened by at most: write `up(0.3)`",
            ));
        }
    }
    if let Some(range) = Jitter::parse_range(text) {
        return range.map_err(E::custom);
    }
    match (NAMED.into_iter().find(|jitter| jitter.name() == text), number_instead(text)) {
        (Some(jitter), _) => Ok(jitter),
        (None, Some(number)) => Err(E::custom(number)),
        (None, None) => Err(unknown_word(
            text,
            &["true", "false", "none", "full", "equal", "decorrelated"],
            &ValueKind::Jitter,
        )),
    }
}

/// Displayed as in the attribute, without quotes: `linear(increment = 2s)`.
impl fmt::Display for ParsedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempts(attempts) => attempts.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Share(number) | Self::Jitter(Jitter::Proportional(number)) => {
                write!(f, "{number:?}")
            }
            Self::Time(time) => duration::format(*time).fmt(f),
            Self::Bound(bound) => bound.fmt(f),
            Self::Delays(delays) => {
                let delays = delays.iter().map(|delay| duration::format(*delay).to_string());
                f.write_str(&delays.collect::<Vec<_>>().join(", "))
            }
            Self::Backoff(ParsedBackoff { backoff, .. }) => {
                f.write_str(backoff.name())?;
                match setting_of(*backoff) {
                    Some((_, delays @ Self::Delays(_))) => write!(f, "({delays})"),
                    Some((key, value)) => write!(f, "({key} = {value})"),
                    None => Ok(()),
                }
            }
            Self::Jitter(Jitter::Up(factor)) => write!(f, "up({factor:?})"),
            Self::Jitter(Jitter::Added { least, most }) => {
                write!(f, "{}..{}", duration::format(*least), duration::format(*most))
            }
            Self::Jitter(jitter) => f.write_str(jitter.name()),
            Self::HalfOpen(HalfOpen::Probes) => f.write_str("probes"),
            Self::HalfOpen(HalfOpen::Gradual) => f.write_str("gradual"),
            Self::Flag(on) => on.fmt(f),
            Self::Null => f.write_str("none"),
        }
    }
}

/// Written so that it is read as the same value.
impl Serialize for ParsedValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Attempts(Attempts::Limited(count)) | Self::Count(count) => {
                serializer.serialize_u32(*count)
            }
            Self::Share(number) | Self::Jitter(Jitter::Proportional(number)) => {
                serializer.serialize_f64(*number)
            }
            Self::Time(time) | Self::Bound(Bound::Limited(time)) => {
                Span(*time).serialize(serializer)
            }
            Self::Delays(delays) => serializer.collect_seq(delays.iter().copied().map(Span)),
            Self::Backoff(ParsedBackoff { backoff, .. }) => {
                let Some((key, value)) = setting_of(*backoff) else {
                    return serializer.serialize_str(backoff.name());
                };
                let mut curve = serializer.serialize_map(Some(1))?;
                curve.serialize_entry(backoff.name(), &BTreeMap::from([(key, value)]))?;
                curve.end()
            }
            Self::Flag(on) => serializer.serialize_bool(*on),
            word => serializer.collect_str(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::format;
    use std::string::ToString as _;

    use crate::file::Seconds;
    use crate::{BreakerConfig, Jitter, Policy, QuotaConfig};

    #[track_caller]
    fn assert_instead<T: serde::de::DeserializeOwned>(file: &str, instead: &str) {
        let error = serde_json::from_str::<T>(file).err().expect("a text").to_string();
        assert!(error.contains(instead), "{error}");
    }

    #[test]
    fn text_with_a_number_is_answered_with_the_number() {
        assert_instead::<QuotaConfig>(r#"{ "share": "20%" }"#, "write the number `0.2`");
        assert_instead::<BreakerConfig>(r#"{ "failure_rate": "0.5" }"#, "the number `0.5`");
        assert_instead::<BreakerConfig>(r#"{ "slow_rate": "half" }"#, "expected a number");
        assert_instead::<Policy>(r#"{ "attempts": "5" }"#, "write the number `5`");
        assert_instead::<Policy>(r#"{ "jitter": "30%" }"#, "write the number `0.3`");
        let jitter_factor = r#"{ "jitter": true, "jitter_factor": "30%" }"#;
        assert_instead::<Policy>(jitter_factor, "write the number `0.3`");
        let base = r#"{ "backoff": { "exponential": { "base": "2.0" } } }"#;
        assert_instead::<Policy>(base, "write the number `2.0`, without quotes");
    }

    #[test]
    fn number_is_read_in_each_of_its_forms() {
        for number in ["1", "1.0", r#"{ "$serde_json::private::Number": "1.0" }"#] {
            let quota = format!(r#"{{ "share": {number} }}"#);
            let quota: QuotaConfig = serde_json::from_str(&quota).unwrap();
            assert_eq!(quota, QuotaConfig::new().share(1.0));
        }
    }

    #[test]
    fn map_of_a_duration_has_each_part_once_and_the_seconds_at_least() {
        for (map, message) in [
            (r#"{ "secs": 1, "secs": 60 }"#, "duplicate field `secs`"),
            (r#"{ "secs": 1, "nanos": 5, "nanos": 6 }"#, "duplicate field `nanos`"),
            (r#"{ "nanos": 5 }"#, "missing field `secs`"),
            ("{}", "missing field `secs`"),
        ] {
            assert_instead::<Policy>(&format!(r#"{{ "initial_delay": {map} }}"#), message);
        }
    }

    #[test]
    fn a_number_is_read_with_and_without_all_digits() {
        for number in ["0.25", r#"{"$serde_json::private::Number":"0.25"}"#] {
            let policy: Policy =
                serde_json::from_str(&format!(r#"{{"attempts":2,"jitter":{number}}}"#)).unwrap();
            assert_eq!(policy.get_jitter(), Jitter::Proportional(0.25));
            let Seconds(delay) = serde_json::from_str(number).unwrap();
            assert_eq!(delay, Duration::from_millis(250));
            let span = format!(r#"{{"attempts":2,"initial_delay":{number}}}"#);
            let error = serde_json::from_str::<Policy>(&span).unwrap_err().to_string();
            assert!(error.contains("0.25"), "{error}");
        }
        let map = r#"{"attempts":2,"initial_delay":{"secs":1,"nanos":5}}"#;
        let policy: Policy = serde_json::from_str(map).unwrap();
        assert_eq!(policy.get_initial_delay(), Duration::new(1, 5));
        for wrong in [r#"{"$serde_json::private::Number":"x"}"#, "{}", r#"{"a":1}"#] {
            let policy = format!(r#"{{"attempts":2,"jitter":{wrong}}}"#);
            assert!(serde_json::from_str::<Policy>(&policy).is_err(), "{wrong}");
        }
    }
}
