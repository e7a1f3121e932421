//! The jitter in a file: `true`, `false`, a factor, a name, `up(0.3)`, or a time that is added.

use core::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::float::float;
use crate::duration;
use crate::policy::jitter::Jitter;
use crate::suggest::unknown_word;

/// `true`, `false`, a factor, the name of a jitter, `up(0.3)`, or `0ms..250ms`.
#[derive(Clone, Copy, Debug)]
pub(super) struct JitterKey(pub(super) Jitter);

impl Serialize for JitterKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Jitter::Proportional(_) => serializer.serialize_bool(true),
            Jitter::Up(factor) => serializer.collect_str(&format_args!("up({factor:?})")),
            Jitter::Added { least, most } => {
                let (least, most) = (duration::format(least), duration::format(most));
                serializer.collect_str(&format_args!("{least}..{most}"))
            }
            other => serializer.serialize_str(other.name()),
        }
    }
}

impl<'de> Deserialize<'de> for JitterKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JitterVisitor;

        impl<'de> Visitor<'de> for JitterVisitor {
            type Value = JitterKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a jitter: true, false, a factor such as 0.25, up(0.3), a time that is added such as \"0ms..250ms\", full, equal, decorrelated or none")
            }

            fn visit_bool<E: Error>(self, on: bool) -> Result<JitterKey, E> {
                Ok(JitterKey(if on { Jitter::DEFAULT } else { Jitter::None }))
            }

            fn visit_f64<E: Error>(self, factor: f64) -> Result<JitterKey, E> {
                Ok(JitterKey(Jitter::Proportional(factor)))
            }

            #[expect(clippy::cast_precision_loss, reason = "only 0 and 1 are factors")]
            fn visit_u64<E: Error>(self, factor: u64) -> Result<JitterKey, E> {
                self.visit_f64(factor as f64)
            }

            #[expect(clippy::cast_precision_loss, reason = "only 0 and 1 are factors")]
            fn visit_i64<E: Error>(self, factor: i64) -> Result<JitterKey, E> {
                self.visit_f64(factor as f64)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<JitterKey, A::Error> {
                float(self, map)
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<JitterKey, E> {
                const NAMED: [Jitter; 5] = [
                    Jitter::None,
                    Jitter::DEFAULT,
                    Jitter::Full,
                    Jitter::Equal,
                    Jitter::Decorrelated,
                ];

                if let Some(up) = name.trim().strip_prefix("up") {
                    let factor = up.trim().strip_prefix('(').and_then(|up| up.strip_suffix(')'));
                    let factor = match factor {
                        // `up` alone, or another word.
                        None => up.is_empty().then_some(None),
                        Some(factor) => Some(factor.trim().parse().ok()),
                    };
                    match factor {
                        Some(Some(factor)) => return Ok(JitterKey(Jitter::Up(factor))),
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
                    return range.map(JitterKey).map_err(E::custom);
                }
                match NAMED.into_iter().find(|jitter| jitter.name() == name) {
                    Some(jitter) => Ok(JitterKey(jitter)),
                    None => Err(unknown_word(name, &NAMED.map(Jitter::name), &self)),
                }
            }
        }

        deserializer.deserialize_any(JitterVisitor)
    }
}
