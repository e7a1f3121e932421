//! The jitter in a file: `true`, `false`, a factor, a name, `up(0.3)`, or a time that is added.

use core::fmt;

use serde::de::Error;
use serde::{Serialize, Serializer};

use super::config_keys::Number;
use super::scalar::{Scalar, WrittenNumber};
use crate::policy::jitter::Jitter;
use crate::suggest::unknown_word;
use crate::{deserialize_scalar, duration};

/// `true`, `false`, a factor, the name of a jitter, `up(0.3)`, or `0ms..250ms`.
#[derive(Clone, Copy, Debug)]
pub(super) struct JitterKey(pub(super) Jitter);

impl Serialize for JitterKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Jitter::Proportional(_) => serializer.serialize_bool(true),
            _ => serializer.collect_str(self),
        }
    }
}

impl fmt::Display for JitterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Jitter::Proportional(factor) => write!(f, "{factor:?}"),
            Jitter::Up(factor) => write!(f, "up({factor:?})"),
            Jitter::Added { least, most } => {
                write!(f, "{}..{}", duration::format(least), duration::format(most))
            }
            other => f.write_str(other.name()),
        }
    }
}

deserialize_scalar!(JitterKey);

impl Scalar for JitterKey {
    const EXPECTED: &'static str = "a jitter: true, false, a factor such as 0.25, up(0.3), a time that is added such as \"0ms..250ms\", full, equal, decorrelated or none";

    fn from_bool<E: Error>(on: bool) -> Result<Self, E> {
        Ok(Self(if on { Jitter::DEFAULT } else { Jitter::None }))
    }

    fn from_number<E: Error>(factor: WrittenNumber) -> Result<Self, E> {
        Ok(Self(Jitter::Proportional(factor.as_f64())))
    }

    fn from_text<E: Error>(name: &str) -> Result<Self, E> {
        const NAMED: [Jitter; 5] =
            [Jitter::None, Jitter::DEFAULT, Jitter::Full, Jitter::Equal, Jitter::Decorrelated];

        if let Some(up) = name.trim().strip_prefix("up") {
            let factor = up.trim().strip_prefix('(').and_then(|up| up.strip_suffix(')'));
            let factor = match factor {
                // `up` alone, or another word.
                None => up.is_empty().then_some(None),
                Some(factor) => Some(factor.trim().parse().ok()),
            };
            match factor {
                Some(Some(factor)) => return Ok(Self(Jitter::Up(factor))),
                Some(None) => {
                    return Err(E::custom(
                        "`up` takes the share that a wait is lengthened by at most: write \
                         `up(0.3)`",
                    ));
                }
                None => {}
            }
        }
        if let Some(range) = Jitter::parse_range(name) {
            return range.map(Self).map_err(E::custom);
        }
        match (NAMED.into_iter().find(|jitter| jitter.name() == name), Number::meant(name)) {
            (Some(jitter), _) => Ok(Self(jitter)),
            (None, Some(number)) => Err(E::custom(number)),
            (None, None) => Err(unknown_word(name, &NAMED.map(Jitter::name), &Self::EXPECTED)),
        }
    }
}
