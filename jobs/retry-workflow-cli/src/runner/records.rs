//! Records of a job that its workers share: JSON under a key of the store.

use serde::Serialize;
use serde::de::DeserializeOwned;

use retry_workflow::{Filter, ItemRecord, Store, StoreError};

/// Reads a record; `None` if it does not exist, or cannot be read.
pub(crate) async fn read<T: DeserializeOwned>(
    store: &dyn Store,
    key: &str,
) -> Result<Option<T>, StoreError> {
    Ok(versioned(store, key).await?.1)
}

/// Reads a record and its revision.
pub(super) async fn versioned<T: DeserializeOwned>(
    store: &dyn Store,
    key: &str,
) -> Result<(u64, Option<T>), StoreError> {
    let (revision, text) = store.get(key).await?.unwrap_or_default();
    Ok((revision, serde_json::from_str(&text).ok()))
}

/// Writes a record; `false` if its revision is another one by now.
pub(super) async fn write<T: Serialize>(
    store: &dyn Store,
    key: &str,
    revision: u64,
    record: &T,
) -> Result<bool, StoreError> {
    store.cas(key, revision, &serde_json::to_string(record).unwrap_or_default()).await
}

/// Replaces a record by what `change` makes of it, again and again until no other process has
/// changed it in between; `change` returns `None` to leave it as it is.
pub(super) async fn update<T: Serialize + DeserializeOwned>(
    store: &dyn Store,
    key: &str,
    mut change: impl FnMut(Option<T>) -> Option<T>,
) -> Result<(), StoreError> {
    loop {
        let (revision, found) = versioned(store, key).await?;
        let Some(new) = change(found) else { return Ok(()) };
        if write(store, key, revision, &new).await? {
            return Ok(());
        }
    }
}

/// The number of items that are read at a time.
const PAGE: usize = 500;

/// Passes each item that a filter selects to `each`.
pub(crate) async fn each_item(
    store: &dyn Store,
    filter: &Filter,
    mut each: impl FnMut(ItemRecord),
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.list(filter, after, PAGE).await?;
        page.items.into_iter().for_each(&mut each);
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
