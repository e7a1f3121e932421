//! Deserializes types from a [`Node`], and locates the errors.

use std::cell::Cell;
use std::fmt::{self, Display};

use retry_rules::suggest::meant;
use serde::de::value::{BorrowedStrDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Key, Node, Number, Value, known_here, unknown_key};
use crate::yaml::span::SourceSpan;

/// An error from deserializing a tree.
#[derive(Debug)]
pub(crate) struct ReadError {
    pub(super) message: String,
    pub(super) span: Option<SourceSpan>,
    /// The keys that are known where an unknown one is.
    pub(super) known: Option<&'static [&'static str]>,
    /// The cure for a value of another type.
    expected: Option<String>,
}

fn error_at(span: SourceSpan, message: impl Display) -> ReadError {
    ReadError { span: Some(span), ..de::Error::custom(message) }
}

impl ReadError {
    /// Sets the location, unless an inner one is set already.
    fn at(mut self, span: SourceSpan) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// Describes the value that has another type, and sets the location.
    fn about(mut self, node: &Node) -> Self {
        if let Some(expected) = self.expected.take() {
            self.message = format!("this is {}: write {expected}", node.kind());
        }
        self.at(node.span)
    }
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), span: None, known: None, expected: None }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self { known: Some(expected), ..Self::custom(unknown_key(field, "", expected)) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format!("unknown word `{variant}`{}", known_here(variant, expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("`{field}` is missing here"))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let name = expected.to_string();
        let is_whole = matches!(name.as_str(), "u8" | "u16" | "u32" | "u64" | "usize");
        let expected = match name.as_str() {
            _ if is_whole => "a whole number",
            "f32" | "f64" => "a number",
            // The names of our types mean nothing to the author of a file.
            name if name.starts_with("struct Breaker") => {
                "a map of settings, such as `{ failure_threshold: 5 }`"
            }
            name if name.starts_with("struct ") => "a map of settings",
            "a sequence" => "a list",
            "a string" => "a text",
            "a boolean" => "true or false",
            other => other,
        };
        let expected = match (unexpected, name.as_str()) {
            (Unexpected::Str(text), "a boolean") => meant(text, &["true", "false"])
                .map_or_else(|| expected.to_owned(), |meant| format!("`{meant}`, without quotes")),
            (Unexpected::Str(text), _) if is_whole && text.trim().parse::<u32>().is_ok() => {
                format!("the number `{}`, without quotes", text.trim())
            }
            _ => expected.to_owned(),
        };
        Self { expected: Some(expected), ..Self::custom(unexpected) }
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(Number::Signed(number), _) => visitor.visit_i64(*number),
            Value::Number(Number::Unsigned(number), _) => visitor.visit_u64(*number),
            Value::Number(Number::Float(number), _) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(list) => visitor.visit_seq(SeqDeserializer::new(list.iter())),
            Value::Map(map) => {
                let last_key = Cell::new(None);
                let known = map.iter().filter(|(key, _)| !key.is_ignored());
                let rest = known.map(|(key, value)| (key, value)).collect::<Vec<_>>().into_iter();
                visitor
                    .visit_map(Entries { rest, value: None, last_key: &last_key })
                    .map_err(|error| error.at(last_key.get().unwrap_or(self.span)))
            }
        }
        .map_err(|error: ReadError| error.about(self))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let variant = match &self.value {
            Value::Text(word) => Variant { name: word, span: self.span, inside: None },
            Value::Map(map) => match map.as_slice() {
                [(key, value)] => Variant { name: &key.name, span: key.span, inside: Some(value) },
                [_, (second, _), ..] => {
                    return Err(error_at(second.span, "this is a choice of one: keep one"));
                }
                [] => return Err(error_at(self.span, "this map is empty: write one entry")),
            },
            _ => {
                let message = format!("this is {}: write one word", self.kind());
                return Err(error_at(self.span, message));
            }
        };
        visitor.visit_enum(variant).map_err(|error| error.at(self.span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string
        bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A key, or the name of a variant.
fn name_of(name: &str) -> BorrowedStrDeserializer<'_, ReadError> {
    BorrowedStrDeserializer::new(name)
}

impl<'de> IntoDeserializer<'de, ReadError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct Entries<'de, 'a> {
    rest: std::vec::IntoIter<(&'de Key, &'de Node)>,
    value: Option<&'de Node>,
    /// The location of the current entry; for an error after the last entry, the whole map.
    last_key: &'a Cell<Option<SourceSpan>>,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let entry = self.rest.next();
        self.last_key.set(entry.map(|(key, _)| key.span));
        let Some((key, value)) = entry else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(name_of(&key.name)).map(Some).map_err(|mut error| {
            if let Some(known) = error.known {
                let written = value.scalar().unwrap_or_default();
                error.message = unknown_key(&key.name, &written, known);
            }
            error.at(key.span)
        })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(|error| error.at(value.span)),
            None => Err(de::Error::custom("a value without a key")),
        }
    }
}

struct Variant<'de> {
    name: &'de str,
    span: SourceSpan,
    inside: Option<&'de Node>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let value = seed.deserialize(name_of(self.name)).map_err(|error| error.at(self.span))?;
        Ok((value, self))
    }
}

impl<'de> Variant<'de> {
    fn needed(&self) -> Result<&'de Node, ReadError> {
        self.inside.ok_or_else(|| {
            error_at(self.span, format!("`{0}` needs a setting: write `{0}: …`", self.name))
        })
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.inside {
            None | Some(Node { value: Value::Null, .. }) => Ok(()),
            Some(inside) => {
                let message = format!("`{}` has no settings: remove this", self.name);
                Err(error_at(inside.span, message))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        let node = self.needed()?;
        seed.deserialize(node).map_err(|error| error.at(node.span))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.needed()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.needed()?.deserialize_any(visitor)
    }
}
