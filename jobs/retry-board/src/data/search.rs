//! [`Search`]: what is searched for in dead letters, one by one: a text in a failure, or a field of
//! the payload.

use retry_workflow::ItemRecord;
use serde_json::Value;

/// The subject of a search.
#[derive(Debug, PartialEq)]
pub(crate) enum Search<'a> {
    /// A text in the message of a failure, or in one of its causes.
    Text(&'a str),
    /// A field of the payload that has this value: `item.customer = "42"`.
    Field { path: Vec<Step<'a>>, wanted: Wanted<'a> },
}

/// A step into a value.
#[derive(Debug, PartialEq)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Place(usize),
}

/// The value that a field should have.
#[derive(Debug, PartialEq)]
pub(crate) enum Wanted<'a> {
    /// In quotes: this text.
    Text(String),
    /// Without: this text, or what it is as JSON.
    Either(&'a str, Option<Value>),
}

impl<'a> Search<'a> {
    /// Reads what a visitor has written. What is not a field is a text.
    pub(crate) fn new(text: &'a str) -> Self {
        Self::field(text.trim()).unwrap_or(Self::Text(text))
    }

    fn field(text: &'a str) -> Option<Self> {
        let (path, wanted) = text.split_once('=')?;
        let path = steps(path.trim())?;
        let wanted = wanted.trim_start_matches('=').trim();
        let json = serde_json::from_str(wanted).ok();
        let wanted = match json {
            Some(Value::String(text)) => Wanted::Text(text),
            json => Wanted::Either(wanted, json),
        };
        Some(Self::Field { path, wanted })
    }

    /// Returns whether an item is meant.
    pub(crate) fn finds(&self, item: &ItemRecord) -> bool {
        match self {
            Self::Text(text) => item.failure.as_ref().is_some_and(|failure| {
                let says = |said: &String| said.contains(text);
                says(&failure.message) || failure.chain.iter().any(says)
            }),
            Self::Field { path, wanted } => {
                let payload: Value = serde_json::from_str(&item.payload).unwrap_or_default();
                let found = path.iter().try_fold(&payload, |value, step| match step {
                    Step::Key(key) => value.get(key),
                    Step::Place(place) => value.get(place),
                });
                found.is_some_and(|found| wanted.is(found))
            }
        }
    }
}

impl Wanted<'_> {
    fn is(&self, found: &Value) -> bool {
        match self {
            Self::Text(text) => found.as_str() == Some(text),
            Self::Either(text, json) => {
                found.as_str() == Some(text) || json.as_ref() == Some(found)
            }
        }
    }
}

/// The steps of `item.orders[0].id`.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let rest = path.strip_prefix("item")?;
    let mut steps = Vec::new();
    let mut rest = rest;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (place, after) = inner.split_once(']')?;
            steps.push(Step::Place(place.trim().parse().ok()?));
            rest = after;
        } else {
            let inner = rest.strip_prefix('.')?;
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            let key = &inner[..end];
            if key.is_empty() || key.contains(char::is_whitespace) {
                return None;
            }
            steps.push(Step::Key(key));
            rest = &inner[end..];
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use retry_workflow::{Failure, ItemRecord};

    use super::Search;

    #[test]
    fn a_field_is_found_by_its_path_and_a_text_in_the_failure() {
        let payload = r#"{"customer":"42","count":42,"orders":[{"id":7}],"gone":null,"x y":1}"#;
        let mut item = ItemRecord::new("import-1", "A-17", payload);
        item.failure = Some(Failure::new("other", "item.customer is 42, and a = b"));
        for found in [
            "item.customer = \"42\"",
            "item.customer=42",
            "item.count == 42",
            "item.orders[0].id = 7",
            "item.orders[0] = {\"id\":7}",
            "item.gone = null",
            "a = b",
            "customer is",
        ] {
            assert!(Search::new(found).finds(&item), "{found}");
        }
        for not in [
            "item.count = \"42\"",
            "item.customer = 4",
            "item.orders[1].id = 7",
            "item.orders.0.id = 7",
            "item.missing = null",
            "item.x y = 1",
            "items.customer = 42",
            "item.customer = ",
            "c = d",
        ] {
            assert!(!Search::new(not).finds(&item), "{not}");
        }
    }
}
