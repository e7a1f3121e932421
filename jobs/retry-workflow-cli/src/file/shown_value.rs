//! Formats values of the input for messages.

use serde_json::Value;

use retry_workflow::sanitize::OneLine;
use retry_workflow::words::cut;

/// Describes a value: `has …`, or `is …`.
pub(super) fn contents(value: &Value) -> String {
    /// A longer list would not be read.
    const MOST: usize = 8;

    match value {
        Value::Object(map) if map.is_empty() => "is an empty map".to_owned(),
        Value::Object(map) => {
            let keys: Vec<_> =
                map.keys().take(MOST).map(|key| format!("`{}`", short(key))).collect();
            let more = if map.len() > MOST { ", …" } else { "" };
            format!("has {}{more}", keys.join(", "))
        }
        Value::Array(list) if list.is_empty() => "is an empty list".to_owned(),
        Value::Array(list) => format!("is a list of {}", list.len()),
        Value::String(_) => "is a text".to_owned(),
        Value::Number(_) => "is a number".to_owned(),
        Value::Bool(value) => format!("is `{value}`"),
        Value::Null => "is null".to_owned(),
    }
}

/// Shortens a text of the input for a message.
pub(super) fn short(text: &str) -> String {
    OneLine(&cut(text, 80)).to_string()
}
