//! The keys of a step's `retry_config`, and what they set.

use std::fmt;

use retry_rules::file::{self, Keys};
use retry_rules::suggest::unknown_word;
use retry_runtime::RetryKeys;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The keys of a `retry_config` that have been read, but not yet checked.
#[derive(Debug, Default)]
pub(super) struct CommandKeys {
    pub(super) retry: RetryKeys,
    pub(super) on_failure: OnFailure,
}

impl Keys for CommandKeys {
    fn keys(&self) -> &'static [&'static str] {
        self.retry.keys()
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        if key != "on_failure" {
            return self.retry.read(key, map);
        }
        self.on_failure = map.next_value::<Option<OnFailure>>()?.unwrap_or_default();
        Ok(())
    }
}

impl<'de> Deserialize<'de> for CommandKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        file::read(
            Self::default(),
            "a map of retry settings, such as { attempts: 3 }",
            deserializer,
        )
    }
}

/// The action of a step whose retries have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// End the job.
    #[default]
    Stop,
    /// Report the error and continue.
    Continue,
    /// Run another command instead.
    Fallback,
}

impl<'de> Deserialize<'de> for OnFailure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ActionVisitor)
    }
}

/// By hand, because the derived error for `on_failure: fallback` is of no help.
struct ActionVisitor;

impl<'de> Visitor<'de> for ActionVisitor {
    type Value = OnFailure;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stop, continue, or `fallback: { command: \"./save-locally.sh\" }`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<OnFailure, E> {
        match word {
            "stop" => Ok(OnFailure::Stop),
            "continue" => Ok(OnFailure::Continue),
            other => Err(unknown_word(other, &["stop", "continue", "fallback"], &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OnFailure, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fallback {
            #[serde(rename = "command")]
            _command: String,
        }

        let action = match map.next_key::<String>()? {
            Some(key) if key == "fallback" => {
                map.next_value::<Fallback>()?;
                OnFailure::Fallback
            }
            // `stop: null`, which some writers produce for a bare word. An unknown key is
            // reported before its value is read.
            Some(key) => {
                let action = ActionVisitor.visit_str(&key)?;
                map.next_value::<()>()?;
                action
            }
            None => return Err(A::Error::invalid_length(0, &self)),
        };
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom("`on_failure` is a single action: keep one"));
        }
        Ok(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_is_read() {
        let read = |text: &str| serde_saphyr::from_str::<CommandKeys>(text).unwrap().on_failure;
        assert_eq!(read("attempts: 3"), OnFailure::Stop);
        assert_eq!(read("on_failure: stop"), OnFailure::Stop);
        assert_eq!(read("on_failure: { continue: null }"), OnFailure::Continue);
        assert_eq!(read("on_failure: { fallback: { command: ./save.sh } }"), OnFailure::Fallback);
    }

    #[test]
    fn mistakes_in_an_action_are_reported_with_a_cure() {
        for (text, words) in [
            ("on_failure: explode", ["explode", "continue"]),
            ("on_failure: fallback", ["\"fallback\": expected", "command"]),
            ("on_failure: { explode: 1 }", ["explode", "continue"]),
            ("on_failure: { fallback: { command: a }, stop: null }", ["single action", "keep one"]),
            ("on_failure: { fallback: { cmd: x } }", ["cmd", "command"]),
        ] {
            let error = serde_saphyr::from_str::<CommandKeys>(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
