//! [`Condition`]: the `--where` condition on the payloads of items.

use std::borrow::Cow;

use serde_json::Value;

use crate::template::error::TemplateError;
use crate::template::expression::{Expression, Types};
use crate::template::path::{PathPart, at, item_path};
use crate::terminal::text::one_line;
use retry_workflow::ItemRecord;

/// A condition on payloads, in the grammar of `filter` in workflow files.
#[derive(Clone, Debug)]
pub(crate) struct Condition(Expression<Vec<PathPart>>);

impl Condition {
    /// Parses a condition. A field is written `item.priority`, as in placeholders, or `priority`,
    /// as in `filter`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let reference = |name: &str, _| {
            item_path(name).ok_or_else(|| format!("`{name}` is not a valid path into an item"))
        };
        Expression::parse(text, reference).map(Self).map_err(
            |TemplateError { at, message, .. }| {
                // The position, because the caller reports the condition without underlining it.
                let before = text.get(..at).unwrap_or_default().chars().count();
                format!("{message} (at character {})", before + 1)
            },
        )
    }

    /// Returns whether the condition holds for this item.
    pub(crate) fn holds(&self, item: &ItemRecord) -> Result<bool, String> {
        // A purged item has no payload, and so no fields.
        let payload: Value = serde_json::from_str(&item.payload).unwrap_or_default();
        self.0.holds(Types::Json, &|path| at(&payload, path).map(Cow::Borrowed)).map_err(|why| {
            format!("cannot evaluate `--where` for item {}: {why}", one_line(&item.id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str, payload: &str) -> Result<bool, String> {
        Condition::parse(condition)?.holds(&ItemRecord::new("j", "i", payload))
    }

    #[test]
    fn fields_are_named_as_in_placeholders_or_as_in_filters() {
        for field in ["item.priority", "priority"] {
            assert_eq!(holds(&format!("{field} >= 5"), r#"{"priority": 7}"#), Ok(true));
            assert_eq!(holds(&format!("{field} >= 5"), r#"{"priority": 3}"#), Ok(false));
            assert_eq!(holds(&format!("{field} >= 5"), "{}"), Ok(false));
        }
        assert_eq!(holds("priority >= 5", ""), Ok(false), "it was purged");
    }

    #[test]
    fn mistakes_are_reported_with_their_position_or_their_item() {
        let wrong = holds("priority >= && 5", "{}").unwrap_err();
        assert!(wrong.ends_with("(at character 13)"), "{wrong}");
        let wrong = holds("priority >= 5", r#"{"priority": "high"}"#).unwrap_err();
        assert!(wrong.starts_with("cannot evaluate `--where` for item i: "), "{wrong}");
    }
}
