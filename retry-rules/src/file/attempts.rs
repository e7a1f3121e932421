//! The number of attempts in a file: `5`, or `unlimited`.

use core::fmt;
use std::format;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::policy::Attempts;
use crate::suggest::unknown_word;

/// `5`, or `unlimited`.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptsKey(pub(super) Attempts);

impl From<AttemptsKey> for Attempts {
    fn from(key: AttemptsKey) -> Self {
        key.0
    }
}

impl Serialize for AttemptsKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Attempts::Limited(attempts) => serializer.serialize_u32(attempts),
            Attempts::Unlimited => serializer.serialize_str("unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for AttemptsKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AttemptsVisitor;

        impl Visitor<'_> for AttemptsVisitor {
            type Value = AttemptsKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of attempts, or `unlimited`")
            }

            fn visit_u64<E: Error>(self, attempts: u64) -> Result<AttemptsKey, E> {
                match u32::try_from(attempts) {
                    Ok(attempts) => Ok(AttemptsKey(Attempts::Limited(attempts))),
                    Err(_) => Err(E::custom(format!(
                        "{attempts} attempts are too many: write at most {}, or `unlimited`",
                        u32::MAX
                    ))),
                }
            }

            fn visit_i64<E: Error>(self, attempts: i64) -> Result<AttemptsKey, E> {
                match u64::try_from(attempts) {
                    Ok(attempts) => self.visit_u64(attempts),
                    Err(_) => Err(E::custom(format!(
                        "{attempts} is not a number of attempts: write at least 1"
                    ))),
                }
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<AttemptsKey, E> {
                match word {
                    "unlimited" => Ok(AttemptsKey(Attempts::Unlimited)),
                    number if number.trim().parse::<u32>().is_ok() => Err(E::custom(format!(
                        "\"{number}\" is a text: write the number `{}`, without quotes",
                        number.trim()
                    ))),
                    other => Err(unknown_word(other, &["unlimited"], &self)),
                }
            }
        }

        deserializer.deserialize_any(AttemptsVisitor)
    }
}
