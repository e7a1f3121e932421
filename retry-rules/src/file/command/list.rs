//! A list in a file, whose single word is answered with the list to write.

use core::fmt;
use core::marker::PhantomData;
use std::format;
use std::string::String;
use std::vec::Vec;

use serde::de::value::{SeqAccessDeserializer, SeqDeserializer};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads a list, or nothing.
///
/// # Errors
/// It is not a list. If its text has the elements of one, the error contains that list.
pub(super) fn list<'de, L, D>(deserializer: D) -> Result<Option<L>, D::Error>
where
    L: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct List<L>(PhantomData<L>);

    impl<'de, L: Deserialize<'de>> Visitor<'de> for List<L> {
        type Value = Option<L>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list, such as [\"transient\"]")
        }

        fn visit_none<E: Error>(self) -> Result<Option<L>, E> {
            Ok(None)
        }

        fn visit_unit<E: Error>(self) -> Result<Option<L>, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<L>, D::Error> {
            deserializer.deserialize_any(self)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Option<L>, A::Error> {
            L::deserialize(SeqAccessDeserializer::new(list)).map(Some)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Option<L>, E> {
            let text = text.trim_matches(['[', ']']);
            let words: Vec<&str> = text.split(',').map(str::trim).collect();
            let instead = words.iter().map(|word| format!("\"{word}\""));
            let instead = instead.collect::<Vec<String>>().join(", ");
            // Reports an invalid word first, because a list would not cure it.
            L::deserialize(SeqDeserializer::<_, E>::new(words.into_iter()))?;
            Err(E::custom(format!("this is a text: write a list, `[{instead}]`")))
        }
    }

    deserializer.deserialize_option(List(PhantomData))
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString as _};
    use std::vec::Vec;

    use crate::Policy;
    use crate::file::CommandKeys;

    #[test]
    fn text_is_answered_with_the_list_to_write() {
        for (written, instead) in [
            (r#""network, timeout""#, r#"write a list, `["network", "timeout"]`"#),
            (r#""transient""#, r#"write a list, `["transient"]`"#),
            ("5", "expected a list"),
        ] {
            let file = std::format!(r#"{{ "retry_on": {written} }}"#);
            let keys = serde_json::from_str::<CommandKeys<Vec<String>>>(&file);
            let error = keys.expect_err("not a list").to_string();
            assert!(error.contains(instead), "{error}");
        }
    }

    #[test]
    fn list_that_does_not_belong_here_is_reported_first() {
        let error = serde_json::from_str::<Policy>(r#"{ "retry_on": "transient" }"#);
        let error = error.expect_err("a bare policy").to_string();
        assert!(error.contains("read a `RetryConfig`"), "{error}");
    }
}
