//! The forms of values in the schema, and [`keys`]: the keys of a map, each with its form.

use serde_json::{Map, Value, json};

/// Defines the keys of a map once: a list of their names, by which files are read, and a function
/// that returns the form of each, for the schema.
macro_rules! keys {
    ($(#[$about:meta])* $names:ident, $form_of:ident { $($name:literal => $form:expr;)+ }) => {
        $(#[$about])*
        pub(super) const $names: &[&str] = &[$($name),+];

        pub(super) fn $form_of(name: &'static str) -> Value {
            match name {
                $($name => $form,)+
                _ => Value::Bool(true),
            }
        }
    };
}
pub(super) use keys;

/// The schema of a key's value, with a description.
pub(super) fn key(form: &Value, says: &str) -> Value {
    with(form.clone(), &json!({ "description": says }))
}

/// The same for a form that has a name.
pub(super) fn named(form: &str, says: &str) -> Value {
    key(&reference(form), says)
}

pub(super) fn reference(form: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{form}") })
}

pub(super) fn words(names: impl IntoIterator<Item = &'static str>, says: &str) -> Value {
    key(&json!({ "enum": names.into_iter().collect::<Vec<_>>() }), says)
}

pub(super) fn whole(least: u32, says: &str) -> Value {
    key(&json!({ "type": "integer", "minimum": least }), says)
}

pub(super) fn number(says: &str) -> Value {
    key(&json!({ "type": "number" }), says)
}

pub(super) fn yes_or_no(says: &str) -> Value {
    key(&json!({ "type": "boolean" }), says)
}

/// Adds members to a schema.
pub(super) fn with(mut schema: Value, more: &Value) -> Value {
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        schema.extend(more.clone());
    }
    schema
}

/// A map that has only these keys, and ignored ones.
pub(super) fn object(keys: &[&'static str], of: fn(&'static str) -> Value) -> Value {
    let properties: Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), of(key))).collect();
    json!({
        "type": "object", "properties": properties, "additionalProperties": false,
        "patternProperties": { "^x-": true },
    })
}

/// The same, where these keys are required.
pub(super) fn needing(
    required: &[&str],
    keys: &[&'static str],
    of: fn(&'static str) -> Value,
) -> Value {
    with(object(keys, of), &json!({ "required": required }))
}

/// A map whose keys are names that the author chooses.
pub(super) fn each(form: &str) -> Value {
    json!({ "type": "object", "additionalProperties": reference(form) })
}

/// One of these forms, or a list of them.
pub(super) fn one_or_more(forms: &Value) -> Value {
    json!({ "anyOf": [
        { "anyOf": forms },
        { "type": "array", "minItems": 1, "items": { "anyOf": forms } },
    ] })
}

/// A duration or a time limit, or none.
pub(super) fn bound(form: &str) -> Value {
    json!({ "anyOf": [reference(form), { "const": "unlimited" }] })
}
