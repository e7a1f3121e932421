//! The data that jobs read and write in any store: values as JSON, and all items that a filter
//! selects. Public for the command, which keeps values of its own.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Store, StoreError, StoreResult};
use crate::item::record::{Filter, ItemRecord};

/// The number of items that are read at once.
const PAGE: usize = 500;

impl dyn Store + '_ {
    /// Returns the revision of a value, which is 0 if it does not exist, and the value if this
    /// program can read it.
    ///
    /// # Errors
    /// The store cannot be read.
    #[doc(hidden)]
    pub async fn json<T: DeserializeOwned>(&self, key: &str) -> StoreResult<(u64, Option<T>)> {
        let Some((revision, text)) = self.get(key).await? else { return Ok((0, None)) };
        Ok((revision, serde_json::from_str(&text).ok()))
    }

    /// Changes a value as [`cas`](Store::cas) does.
    ///
    /// # Errors
    /// The store cannot be written to, or the value is not JSON.
    #[doc(hidden)]
    pub async fn cas_json<T: Serialize + Sync>(
        &self,
        key: &str,
        revision: u64,
        value: &T,
    ) -> StoreResult<bool> {
        let text = serde_json::to_string(value).map_err(StoreError::other)?;
        self.cas(key, revision, &text).await
    }

    /// Replaces a value by what `change` makes of it, again and again until no other process has
    /// changed it in between; `change` returns `None` to leave it as it is.
    ///
    /// # Errors
    /// The store cannot be written to, or the value is not JSON.
    #[doc(hidden)]
    pub async fn update_json<T: Serialize + DeserializeOwned + Sync>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<T>) -> Option<T>,
    ) -> StoreResult<()> {
        loop {
            let (revision, found) = self.json(key).await?;
            let Some(new) = change(found) else { return Ok(()) };
            if self.cas_json(key, revision, &new).await? {
                return Ok(());
            }
        }
    }

    /// Sets a value, whatever it was.
    pub(crate) async fn set(&self, key: &str, value: &str) -> StoreResult<()> {
        loop {
            let (revision, there) = self.get(key).await?.unwrap_or_default();
            if (revision > 0 && there == value) || self.cas(key, revision, value).await? {
                return Ok(());
            }
        }
    }

    /// Visits the items that a filter selects, in order and without their histories.
    ///
    /// # Errors
    /// The store cannot be read.
    #[doc(hidden)]
    pub async fn each_item(
        &self,
        filter: &Filter,
        mut visit: impl FnMut(ItemRecord) + Send,
    ) -> StoreResult<()> {
        let mut after = None;
        loop {
            let page = self.list(filter, after, PAGE).await?;
            page.items.into_iter().for_each(&mut visit);
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }
}
