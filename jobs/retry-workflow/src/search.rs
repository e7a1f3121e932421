//! [`Search`]: what is searched for in items one by one, because no index answers it.

use std::borrow::Cow;

use serde_json::Value;
use thiserror::Error;

use crate::condition::expression::{Expression, Types};
use crate::condition::path::{PathPart, at, item_path};
use crate::item::record::{Filter, ItemRecord};
use crate::sanitize::OneLine;
use crate::store::{Store, StoreError};

/// The number of items that are read at a time.
const PAGE: usize = 500;

/// A text in the failure of an item, or a condition on its payload.
///
/// ```
/// use retry_workflow::{ItemRecord, Search};
///
/// let rush = Search::condition("item.priority >= 5 && item.customer = 'Ada'")?;
/// let item = ItemRecord::new("orders-1", "17", r#"{"priority": 7, "customer": "Ada"}"#);
/// assert_eq!(rush.finds(&item), Ok(true));
/// # Ok::<(), retry_workflow::search::InvalidCondition>(())
/// ```
#[derive(Clone, Debug)]
pub struct Search(Subject);

#[derive(Clone, Debug)]
enum Subject {
    Text(String),
    Condition(Expression<Vec<PathPart>>),
}

impl Search {
    /// Searches for a text in the message of a failure, or in one of its causes.
    pub fn text(text: impl Into<String>) -> Self {
        Self(Subject::Text(text.into()))
    }

    /// Searches for payloads for which a condition holds. A field is written `item.priority`, as in
    /// placeholders, or `priority`, as in `filter`. A text is read as a number beside a number.
    ///
    /// # Errors
    /// The text is not a condition.
    pub fn condition(text: &str) -> Result<Self, InvalidCondition> {
        let reference = |name: &str, _| {
            item_path(name).ok_or_else(|| format!("`{name}` is not a valid path into an item"))
        };
        match Expression::parse(text, reference) {
            Ok(condition) => Ok(Self(Subject::Condition(condition))),
            Err(error) => {
                // The position, because the caller reports the condition without underlining it.
                let before = text.get(..error.at).unwrap_or_default().chars().count();
                Err(InvalidCondition(format!("{} (at character {})", error.message, before + 1)))
            }
        }
    }

    /// Reads what a user has written into a field for both: a condition, if it begins with `item` or
    /// a field such as `item.priority` and has an operator; otherwise a text.
    ///
    /// ```
    /// use retry_workflow::Search;
    ///
    /// assert!(Search::parse("no tax rate").is_ok());
    /// assert!(Search::parse("item.priority >= 5").is_ok());
    /// assert!(Search::parse("item.priority >=").is_err());
    /// ```
    ///
    /// # Errors
    /// The text looks like a condition, and is not valid.
    pub fn parse(text: &str) -> Result<Self, InvalidCondition> {
        let begin = text.trim_start_matches([' ', '(', '!']);
        let is_field = begin
            .strip_prefix("item")
            .is_some_and(|rest| rest.trim_start().starts_with(['.', '[', '=', '!', '<', '>']));
        let has_operator = text.contains(['=', '<', '>']) || text.contains(" matches ");
        if is_field && has_operator { Self::condition(text) } else { Ok(Self::text(text)) }
    }

    /// Returns whether it finds this item.
    ///
    /// # Errors
    /// The values of the item cannot be compared as the condition does.
    pub fn finds(&self, item: &ItemRecord) -> Result<bool, SearchError> {
        match &self.0 {
            Subject::Text(text) => {
                let failure = item.failure.as_ref();
                let mut said = failure.iter().flat_map(|it| it.chain.iter().chain([&it.message]));
                Ok(said.any(|said| said.contains(text)))
            }
            Subject::Condition(condition) => {
                // A purged item has no payload, and so no fields.
                let payload: Value = serde_json::from_str(&item.payload).unwrap_or_default();
                let value = |path: &Vec<PathPart>| {
                    at(&payload, path).map(|value| Cow::Owned(value.clone()))
                };
                let holds = condition.holds(Types::Texts, &value);
                holds.map_err(|why| SearchError::Condition { item: item.id.clone(), why })
            }
        }
    }

    /// Returns the ids of the items that a filter selects and all of these searches find.
    ///
    /// # Errors
    /// More than `max` items are found, a condition cannot be evaluated, or the store cannot be
    /// read.
    pub async fn ids(
        searches: &[Self],
        store: &dyn Store,
        filter: &Filter,
        max: usize,
    ) -> Result<Vec<String>, SearchError> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = store.list(filter, after, PAGE).await?;
            for item in page.items {
                let mut is_found = true;
                for search in searches {
                    is_found = is_found && search.finds(&item)?;
                }
                if is_found {
                    ids.push(item.id);
                }
            }
            if ids.len() > max {
                return Err(SearchError::TooMany { max });
            }
            after = page.next;
            if after.is_none() {
                return Ok(ids);
            }
        }
    }
}

/// A text that is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidCondition(String);

/// The reason why a search failed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The condition cannot be evaluated for an item.
    #[error("cannot evaluate the condition for item {}: {why}", OneLine(.item))]
    Condition {
        /// The id of the item.
        item: String,
        /// The reason.
        why: String,
    },
    /// More items were found than wanted.
    #[error("more than {max} items match")]
    TooMany {
        /// The largest number.
        max: usize,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::failure::Failure;

    fn holds(condition: &str, payload: &str) -> Result<bool, String> {
        let search = Search::condition(condition).map_err(|error| error.to_string())?;
        search.finds(&ItemRecord::new("j", "i", payload)).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_named_as_in_placeholders_or_as_in_filters() {
        for field in ["item.priority", "priority"] {
            assert_eq!(holds(&format!("{field} >= 5"), r#"{"priority": 7}"#), Ok(true));
            assert_eq!(holds(&format!("{field} >= 5"), r#"{"priority": "7"}"#), Ok(true));
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
        assert!(wrong.starts_with("cannot evaluate the condition for item i: "), "{wrong}");
    }

    #[test]
    fn a_field_is_found_by_its_path_and_a_text_in_the_failure() {
        let payload = r#"{"customer":"42","count":42,"orders":[{"id":7}],"gone":null}"#;
        let mut item = ItemRecord::new("import-1", "A-17", payload);
        item.failure = Some(Failure::new("other", "the item.customer is 42, and a = b"));
        for found in [
            "item.customer = \"42\"",
            "item.customer=42",
            "item.count == 42 && item.count < 43",
            "!(item.count != 42)",
            "item.orders[0].id = 7",
            "item.gone = null",
            "item != null",
            "a = b",
            "customer is",
        ] {
            assert_eq!(Search::parse(found).unwrap().finds(&item), Ok(true), "{found}");
        }
        for not in [
            "item.customer = 4",
            "item.orders[1].id = 7",
            "item.missing = null",
            "item.count > 42",
            "items.customer = 42",
            "c = d",
        ] {
            assert_eq!(Search::parse(not).unwrap().finds(&item), Ok(false), "{not}");
        }
        for invalid in ["item.customer = ", "item.count => 1", "item.customer is 42, and a = b"] {
            assert!(Search::parse(invalid).is_err(), "{invalid}");
        }
    }
}
