//! [`DeadLetters`]: the items of a store that have failed for good. They can be listed, inspected,
//! re-driven, purged, and moved to another store; none is ever dropped because of its age or size.

// First, because the page of the type lists methods in this order.
mod operations;
mod exchange;
mod signature;
mod redrive;

use std::sync::Arc;

pub use self::exchange::{ExportError, ImportError, Imported};
pub use self::redrive::{Preview, Redrive};
pub use self::signature::SignatureError;
use crate::store::Store;

/// The dead letters of a store.
///
/// A [`Filter`](crate::Filter) selects them; [`Filter::all`](crate::Filter::all) selects all.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use retry_workflow::*;
/// # let store = SqliteStore::in_memory();
/// # let letter = r#"{"job":"orders","id":"17","payload":"{}","correlation":"orders/17","state":"dead",
/// #   "run":0,"attempt":3,"ended":"2026-11-21T08:00:00Z","failure":{"class":"timeout",
/// #   "message":"no answer after 30s","signature":"no answer after <n>s"}}"#.replace('\n', "");
/// # DeadLetters::new(store.clone()).import(letter.as_bytes(), None).await?;
/// use retry_workflow::{DeadLetters, Filter, Redrive};
///
/// let letters = DeadLetters::new(store);
/// for group in letters.stats(&Filter::job("orders")).await? {
///     println!("{} × {}: {}", group.count, group.class, group.signature);
/// }
///
/// let timeouts = Filter::job("orders").class("timeout");
/// let redrive = Redrive::new().max(100).rate("10/s".parse()?);
/// assert_eq!(letters.retry(timeouts, redrive).await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DeadLetters {
    store: Arc<dyn Store>,
}

retry_rules::partial_debug!(DeadLetters);
