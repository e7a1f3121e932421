//! Dead letters that match a filter: in groups of similar failures, and one by one.

use std::time::{Duration, Instant};

use retry_workflow::store::{Cursor, Group, HourCount, NEWEST_FAILURES};
use retry_workflow::{DeadLetters, Filter, ItemRecord, ItemState, Search, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

use super::bounded;
use crate::request::problem::Problem;
use crate::request::query::Address;
use retry_workflow::words::cut;

/// The number of items on a page.
const PAGE: usize = 50;
/// The number of groups on a page.
const GROUPS: usize = 100;
/// The limits of a search: rows read for a text, and time since the page was asked for. A page
/// takes one look at the store even if its groups took longer than that.
const ROWS: usize = 20_000;
const AT_MOST: Duration = Duration::from_millis(60);
/// The number of rows that a text search reads between two readings of the clock.
const BATCH: usize = 500;
/// The limit for messages in lists.
const MESSAGE: usize = 300;

/// A filter, with the fields of an address or a form.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct FilterFields {
    pub(crate) job: Option<String>,
    /// The id of one item of that job.
    pub(crate) item: Option<String>,
    /// The ids of several, as a JSON list.
    #[serde(deserialize_with = "list")]
    pub(crate) items: Option<String>,
    pub(crate) class: Option<String>,
    /// The signature's text, its id, or a prefix of its id.
    pub(crate) signature: Option<String>,
    /// Ended at this time or later: RFC 3339, a date, or `2h ago`.
    pub(crate) since: Option<String>,
    /// Ended before this time.
    pub(crate) until: Option<String>,
    /// Contained in the message or in one of its causes; or `item.priority >= 5`, a condition on
    /// the payload.
    pub(crate) text: Option<String>,
    /// `dead`, `skipped`, …, or `all`; `dead` by default.
    pub(crate) state: Option<String>,
}

impl FilterFields {
    /// All fields, by name.
    fn fields(&mut self) -> [(&'static str, &mut Option<String>); 9] {
        [
            ("job", &mut self.job),
            ("item", &mut self.item),
            ("items", &mut self.items),
            ("class", &mut self.class),
            ("signature", &mut self.signature),
            ("since", &mut self.since),
            ("until", &mut self.until),
            ("text", &mut self.text),
            ("state", &mut self.state),
        ]
    }

    /// Drops empty fields.
    pub(crate) fn cleaned(mut self) -> Self {
        for (_, field) in self.fields() {
            field.take_if(|text| text.trim().is_empty());
        }
        self
    }

    /// The part of the filter that the store can evaluate; text is searched separately.
    pub(crate) async fn filter(&self, letters: &DeadLetters) -> Result<Filter, Problem> {
        let mut filter = Filter::default();
        filter.job.clone_from(&self.job);
        filter.ids = self.ids()?;
        filter.class.clone_from(&self.class);
        filter.since = self.since.as_deref().map(time).transpose()?;
        filter.until = self.until.as_deref().map(time).transpose()?;
        filter.states = self.states()?;
        if let Some(given) = &self.signature {
            let mut failed = filter.clone();
            (failed.since, failed.until) = (None, None);
            let is_id = given.len() <= 8 && given.bytes().all(|byte| byte.is_ascii_hexdigit());
            // A signature that is given in full is valid even if no item has it any more.
            filter.signature = Some(match letters.signature(&failed, given).await {
                Ok(signature) => signature.as_str().to_owned(),
                Err(retry_workflow::dead_letters::SignatureError::None { .. }) if !is_id => {
                    given.clone()
                }
                Err(error) => return Err(error.into()),
            });
        }
        Ok(filter)
    }

    /// The ids of the items that are meant.
    pub(crate) fn ids(&self) -> Result<Option<Vec<String>>, Problem> {
        let listed = match &self.items {
            None => None,
            Some(_) if self.job.is_none() => {
                return Err(Problem::bad("Items have ids within a job: name the job, too."));
            }
            Some(listed) => Some(serde_json::from_str::<Vec<String>>(listed).map_err(|_| {
                Problem::bad("`items` is a list of ids: write one such as [\"17\", \"18\"]")
            })?),
        };
        Ok(match (listed, &self.item) {
            (None, None) => None,
            (listed, one) => Some(listed.into_iter().flatten().chain(one.clone()).collect()),
        })
    }

    fn states(&self) -> Result<Option<Vec<ItemState>>, Problem> {
        let Some(state) = self.state.as_deref() else { return Ok(None) };
        if state == "all" {
            return Ok(Some(ItemState::ALL.to_vec()));
        }
        match ItemState::ALL.into_iter().find(|known| known.as_str() == state) {
            Some(state) => Ok(Some(vec![state])),
            None => Err(Problem::bad(format!(
                "\"{state}\" is not a state: write pending, leased, succeeded, dead, skipped or all"
            ))),
        }
    }

    /// Returns whether the filter selects every dead letter of the store.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The address of a page with this filter.
    pub(crate) fn address(&self, page: &str) -> Address {
        let set = self.set().into_iter();
        set.fold(Address::new(page), |address, (name, value)| address.with(name, &value))
    }

    /// The fields that are set, by name.
    pub(crate) fn set(&self) -> Vec<(&'static str, String)> {
        let mut own = self.clone();
        own.fields().into_iter().filter_map(|(name, value)| Some((name, value.take()?))).collect()
    }
}

/// A list of ids, or its JSON.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Ids {
        Text(String),
        List(Vec<String>),
    }

    Ok(Option::<Ids>::deserialize(deserializer)?.map(|ids| match ids {
        Ids::Text(text) => text,
        Ids::List(ids) => serde_json::json!(ids).to_string(),
    }))
}

fn time(text: &str) -> Result<Timestamp, Problem> {
    text.parse()
        .map_err(|error: retry_workflow::job::InvalidTimestamp| Problem::bad(error.to_string()))
}

/// A group as one line of a list.
#[derive(Debug, Serialize)]
pub(crate) struct GroupLine {
    /// The signature's id, for use in filters.
    pub(crate) id: String,
    pub(crate) signature: String,
    pub(crate) class: String,
    pub(crate) count: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// The id of one of its items.
    pub(crate) example: String,
    pub(crate) message: String,
    pub(crate) advice: &'static str,
    /// The number that ended in each of the last hours.
    pub(crate) hours: Vec<HourCount>,
}

/// The number of hours shown.
const HOURS: usize = 48;

impl GroupLine {
    pub(crate) fn new(group: &Group) -> Self {
        Self {
            id: group.signature.id(),
            signature: cut(group.signature.as_str(), MESSAGE),
            class: cut(&group.class, MESSAGE),
            count: group.count,
            first: group.first,
            last: group.last,
            example: bounded::id(&group.example),
            message: cut(&group.message, MESSAGE),
            advice: group.advice(),
            hours: group.hours[group.hours.len().saturating_sub(HOURS)..].to_vec(),
        }
    }
}

/// An item as one line of a list.
#[derive(Debug, Serialize)]
pub(crate) struct ItemLine {
    pub(crate) job: String,
    pub(crate) id: String,
    pub(crate) state: ItemState,
    pub(crate) run: u32,
    pub(crate) attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl ItemLine {
    fn new(item: &ItemRecord) -> Self {
        let failure = item.failure.as_ref();
        Self {
            job: bounded::id(&item.job),
            id: bounded::id(&item.id),
            state: item.state,
            run: item.run,
            attempt: item.attempt,
            ended: item.ended,
            due: item.due,
            class: failure.map(|failure| cut(&failure.class, MESSAGE)),
            message: failure.map(|failure| cut(&failure.to_string(), MESSAGE)),
        }
    }
}

/// The data of the page of dead letters.
#[derive(Debug, Serialize)]
pub(crate) struct Letters {
    pub(crate) filter: FilterFields,
    pub(crate) groups: Vec<GroupLine>,
    /// The number of groups that are not shown.
    pub(crate) more_groups: usize,
    /// Set if only the newest failures are grouped: their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) groups_of_newest: Option<usize>,
    /// The number of dead letters of the job or the store; with any other filter, that of the items
    /// in all groups.
    pub(crate) count: u64,
    pub(crate) items: Vec<ItemLine>,
    /// The cursor of the next page.
    pub(crate) next: Option<Cursor>,
    /// The number of items that a text search has read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) searched: Option<usize>,
    /// Set if the search stopped before the page was full; `next` continues it.
    pub(crate) is_partial: bool,
    /// Set if this is not the first page.
    #[serde(skip)]
    pub(crate) is_later: bool,
    pub(crate) now: Timestamp,
}

impl Letters {
    pub(crate) async fn load(
        letters: &DeadLetters,
        fields: FilterFields,
        after: Option<Cursor>,
    ) -> Result<Self, Problem> {
        let began = Instant::now();
        let filter = fields.filter(letters).await?;
        let mut bare = Filter::default();
        bare.job.clone_from(&filter.job);
        bare.states.clone_from(&filter.states);
        // The groups ignore the text, which can only be found by reading each item.
        let (groups, failures) = match after {
            None => (
                letters.store().stats(&filter, Some(NEWEST_FAILURES)).await?,
                letters.count(&bare).await?,
            ),
            Some(_) => (Vec::new(), 0),
        };
        let groups_of_newest = of_newest(failures);
        let has_failure = filter.class.is_some() || filter.signature.is_some();
        let is_whole = after.is_none() && groups_of_newest.is_none();
        let found = if is_whole && has_failure && groups.is_empty() {
            // Without a group, no item matches the filter.
            SearchResult::default()
        } else {
            SearchResult::search(letters, &filter, fields.text.as_deref(), after, began).await?
        };
        Ok(Self {
            count: if filter == bare {
                failures
            } else {
                groups.iter().fold(0, |sum, group| sum.saturating_add(group.count))
            },
            groups_of_newest,
            more_groups: groups.len().saturating_sub(GROUPS),
            groups: groups.iter().take(GROUPS).map(GroupLine::new).collect(),
            items: found.items.iter().map(ItemLine::new).collect(),
            next: found.next,
            searched: fields.text.is_some().then_some(found.rows_read),
            is_partial: found.next.is_some() && found.items.len() < PAGE,
            is_later: after.is_some(),
            now: letters.store().now(),
            filter: fields,
        })
    }
}

/// The number of newest failures that a page looks at, if there are more.
pub(crate) fn of_newest(failures: u64) -> Option<usize> {
    (failures > NEWEST_FAILURES as u64).then_some(NEWEST_FAILURES)
}

/// A page of items, or the part of it that was found in time.
#[derive(Default)]
struct SearchResult {
    items: Vec<ItemRecord>,
    next: Option<Cursor>,
    rows_read: usize,
}

impl SearchResult {
    /// Finds the items that the filter selects and that are searched for, as far as the time limit
    /// allows.
    async fn search(
        letters: &DeadLetters,
        filter: &Filter,
        text: Option<&str>,
        after: Option<Cursor>,
        began: Instant,
    ) -> Result<Self, Problem> {
        let mut found = Self { next: after, ..Self::default() };
        let search = text.map(Search::parse).transpose()?;
        loop {
            let most = if text.is_some() { BATCH } else { PAGE - found.items.len() };
            let page = letters.store().list(filter, found.next, most).await?;
            found.rows_read += page.items.len();
            for item in page.items {
                if search.as_ref().map_or(Ok(true), |search| search.finds(&item))? {
                    found.items.push(item);
                }
            }
            found.next = page.next;
            if found.next.is_none()
                || found.items.len() >= PAGE
                || found.rows_read >= ROWS
                || began.elapsed() >= AT_MOST
            {
                return Ok(found);
            }
        }
    }
}
