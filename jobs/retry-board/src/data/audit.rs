//! The audit of changes in a store.

use retry_workflow::audit::Entry;
use retry_workflow::{Store, StoreError, Timestamp};
use serde::Serialize;

use super::bounded::LONGEST_ID;
use retry_workflow::words::cut;

/// The number of entries that are looked at: the newest ones.
pub(crate) const NEWEST: usize = 500;
/// The limit for what else is said of an action.
const NOTE: usize = 300;

/// The data of the audit's page.
#[derive(Debug, Serialize)]
pub(crate) struct AuditPage {
    /// The newest first.
    pub(crate) entries: Vec<AuditLine>,
    /// Set if there may be more.
    pub(crate) is_partial: bool,
    pub(crate) now: Timestamp,
}

/// An action that a user has taken.
#[derive(Debug, Serialize)]
pub(crate) struct AuditLine {
    pub(crate) at: Timestamp,
    pub(crate) who: String,
    pub(crate) action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<String>,
    /// The item, if it was a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<String>,
    /// The selection, in words.
    pub(crate) what: String,
    /// `null` if it is not known to have ended.
    pub(crate) items: Option<u64>,
}

impl AuditPage {
    pub(crate) async fn load(store: &dyn Store) -> Result<Self, StoreError> {
        let entries = Entry::newest(store, NEWEST).await?;
        Ok(Self {
            is_partial: entries.len() == NEWEST,
            entries: entries.iter().map(AuditLine::new).collect(),
            now: store.now(),
        })
    }
}

impl AuditLine {
    pub(crate) fn new(entry: &Entry) -> Self {
        let Entry { at, who, action, job, ids, class, signature, note, items, .. } = entry;
        let short = |text: &String| cut(text, LONGEST_ID);
        let mut what: Vec<String> = Vec::new();
        match &ids[..] {
            [] | [_] => {}
            several => what.push(format!("{} items", several.len())),
        }
        what.extend(class.as_ref().map(|class| format!("class {}", short(class))));
        what.extend(signature.as_ref().map(|text| format!("signature {}", short(text))));
        what.extend(note.as_ref().map(|note| cut(note, NOTE)));
        Self {
            at: *at,
            who: short(who),
            action: short(action),
            job: job.as_ref().map(short),
            item: ids.first().filter(|_| ids.len() == 1).map(short),
            what: what.join(", "),
            items: *items,
        }
    }
}
