//! The number of attempts in a file: `5`, or `unlimited`.

use std::format;

use serde::de::Error;
use serde::{Serialize, Serializer};

use super::scalar::{Scalar, WrittenNumber};
use crate::deserialize_scalar;
use crate::policy::Attempts;
use crate::suggest::unknown_word;

/// `5`, or `unlimited`.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptsKey(pub(super) Attempts);

crate::conversion!(|key: AttemptsKey| -> Attempts { key.0 });

impl Serialize for AttemptsKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Attempts::Limited(attempts) => serializer.serialize_u32(attempts),
            Attempts::Unlimited => serializer.serialize_str("unlimited"),
        }
    }
}

deserialize_scalar!(AttemptsKey);

const WITHOUT_END: &str = "`unlimited` together with a bound, such as a `max_elapsed` of \"10m\"";

impl Scalar for AttemptsKey {
    const EXPECTED: &'static str = "a number of attempts, or `unlimited`";

    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        match number {
            WrittenNumber::Unsigned(attempts) => match u32::try_from(attempts) {
                Ok(attempts) => Ok(Self(Attempts::Limited(attempts))),
                Err(_) => Err(E::custom(format!(
                    "{attempts} attempts are too many: write at most {}, or {WITHOUT_END}",
                    u32::MAX
                ))),
            },
            WrittenNumber::Negative(attempts) => Err(E::custom(format!(
                "{attempts} is not a number of attempts: write at least 1, or {WITHOUT_END}"
            ))),
            WrittenNumber::Float(_) => Err(number.unexpected(Self::EXPECTED)),
        }
    }

    fn from_text<E: Error>(word: &str) -> Result<Self, E> {
        match word {
            "unlimited" => Ok(Self(Attempts::Unlimited)),
            number if number.trim().parse::<u32>().is_ok() => Err(E::custom(format!(
                "\"{number}\" is a text: write the number `{}`, without quotes",
                number.trim()
            ))),
            other => Err(unknown_word(other, &["unlimited"], &Self::EXPECTED)),
        }
    }
}
