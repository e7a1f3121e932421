//! `audit`: who has changed what; and who this process is, in the audit.

use serde_json::json;

use super::outcome::CommandError;
use super::screen::Screen;
use crate::terminal::text::{one_line, thousands};
use retry_workflow::audit::{Begun, Entry};
use retry_workflow::words::moment;
use retry_workflow::{Filter, Store, Timestamp};

/// Lists what has been done, the newest first.
pub(super) async fn audit(
    store: &dyn Store,
    limit: u32,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let entries = Entry::newest(store, limit).await?;
    let headings = &["when", "who", "action", "job", "what", ">items"];
    let none = "no user has changed anything yet";
    screen.list(&entries, |entry| json!(entry), none, (headings, row))
}

fn row(entry: &Entry) -> [String; 6] {
    let Entry { at, who, action, job, ids, class, signature, note, items, .. } = entry;
    let mut what = match &ids[..] {
        [] => Vec::new(),
        [one] => vec![format!("item {}", one_line(one))],
        several => vec![format!("{} items", several.len())],
    };
    what.extend(class.as_ref().map(|class| format!("class {}", one_line(class))));
    what.extend(signature.as_ref().map(|text| format!("signature {}", one_line(text))));
    what.extend(note.as_ref().map(|note| one_line(note)));
    [
        moment(*at),
        one_line(who),
        one_line(action),
        job.as_ref().map_or_else(|| "-".to_owned(), |job| one_line(job)),
        what.join(", "),
        items.map_or_else(|| "?".to_owned(), thousands),
    ]
}

/// Sets what an action is about: what a filter selects, and `more` about it.
pub(super) fn about(
    entry: Entry,
    filter: &Filter,
    more: impl IntoIterator<Item = String>,
) -> Entry {
    let said = |name: &str, at: Option<Timestamp>| at.map(|at| format!("{name} {}", moment(at)));
    let times = [said("since", filter.since), said("until", filter.until)];
    let notes: Vec<_> = times.into_iter().flatten().chain(more).collect();
    let entry = entry.about(filter);
    if notes.is_empty() { entry } else { entry.note(notes.join(", ")) }
}

/// Writes down that the user of this process begins an action.
pub(super) async fn begin(
    store: &dyn Store,
    action: &str,
    about: impl FnOnce(Entry) -> Entry,
) -> Result<Begun, CommandError> {
    // Behind `sudo`, who has called it.
    let names = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"];
    let who = names.into_iter().find_map(|name| std::env::var(name).ok());
    let who = who.filter(|name| !name.is_empty()).unwrap_or_else(|| "somebody".to_owned());
    Ok(about(Entry::new(who, action)).begin(store).await?)
}
