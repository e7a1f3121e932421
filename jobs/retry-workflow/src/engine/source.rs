//! [`Source`]: where the items of a job come from while it runs.

pub(crate) mod batch;
pub(crate) mod input;

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::task::{Context, Poll};

use serde::Serialize;

use crate::engine::items::{ContentIds, NextItem};
use crate::engine::source::batch::Batch;
use crate::engine::work::BoxFuture;
use crate::item::record::{ItemState, NewItem};
use crate::job::error::WorkflowError;

/// A source of a job's items while it runs.
///
/// A list of items is a source: `items.into_iter()` for a `Vec<NewItem>`. Your own can read from a
/// queue, from the pages of a service, or from anything endless; [`JobRunner`] runs it.
///
/// ```
/// use retry_workflow::store::NewItem;
/// use retry_workflow::{Source, WorkflowError};
///
/// /// The orders of a service that lists them page by page.
/// struct Orders {
///     next_page: Option<u32>,
/// }
///
/// impl Source for Orders {
///     async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
///         let Some(number) = self.next_page else { return Ok(None) };
///         let page = read_page(number).await.map_err(WorkflowError::input)?;
///         // After the last await: if the future is dropped before, the page is read again.
///         self.next_page = page.next;
///         Ok(Some(page.orders.iter().map(|id| NewItem::new(id, format!("\"{id}\""))).collect()))
///     }
/// }
/// # struct Page { orders: Vec<String>, next: Option<u32> }
/// # async fn read_page(number: u32) -> std::io::Result<Page> {
/// #     let orders = vec![format!("A-{number}"), format!("B-{number}")];
/// #     Ok(Page { orders, next: (number < 2).then_some(number + 1) })
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), WorkflowError> {
///
/// let mut orders = Orders { next_page: Some(1) };
/// let first = orders.next_batch().await?.unwrap();
/// assert_eq!((first.len(), first[0].id.as_str()), (2, "A-1"));
/// # assert!(orders.next_batch().await?.is_some());
/// # assert!(orders.next_batch().await?.is_none());
/// # Ok(())
/// # }
/// ```
///
/// [`JobRunner`]: crate::JobRunner
pub trait Source: Send {
    /// Returns the next items as soon as there are some; `None` after the last ones. An empty batch
    /// means that the store got items in another way.
    ///
    /// The store ignores items whose ids it already has, so after a restart a source may start from
    /// its beginning, and a source that polls may give the same items with each batch. If the
    /// payload of such an item differs from the stored one, the job keeps what it has, and counts
    /// the item in [`JobReport::changed`](crate::JobReport::changed). Only if the source has an
    /// [`id_rule`](Self::id_rule), and this process alone has begun the job, does `run` return
    /// [`WorkflowError::SameId`]. Items that have failed are not compared, because they may have
    /// been edited.
    ///
    /// The future is dropped and recreated whenever something else happens to the job. Anything it
    /// has already taken from elsewhere must stay in the source.
    ///
    /// # Errors
    /// The items cannot be read. Running items finish, the job stops with
    /// [`StopReason::Input`](crate::StopReason::Input), `run` returns this error, and the job can be
    /// run again.
    fn next_batch(
        &mut self,
    ) -> impl Future<Output = Result<Option<Vec<NewItem>>, WorkflowError>> + Send;

    /// Returns `true` if the items from this source are all that the job will have. If not, a job
    /// whose items have ended is stopped rather than finished.
    fn is_complete(&self) -> bool {
        true
    }

    /// Returns the rule by which its items get their ids, such as "the field `id`", if it gives each
    /// item once, and all of them again after a restart. Default: `None`.
    ///
    /// The rule is stored with the job, and queried again with each batch until it is known.
    /// Until the job has all its items, a source with another rule is refused
    /// ([`WorkflowError::OtherIds`]), because it would add the same items again under other ids.
    fn id_rule(&self) -> Option<String> {
        None
    }

    /// Reports to the source that an item has ended in this process. Returns whether there are more
    /// items because of that: then [`next_batch`](Self::next_batch) is called again, even if it has
    /// returned `None` before.
    fn item_ended(&mut self, _id: &str, _state: ItemState) -> bool {
        false
    }
}

/// The result of [`Source::next_batch`].
pub(crate) type NextBatch = Result<Option<Vec<NewItem>>, WorkflowError>;

/// A [`Source`] behind a pointer: the engine is compiled once, not for each of them.
pub(crate) trait DynSource: Send {
    /// See [`Source::next_batch`].
    fn next_batch_boxed(&mut self) -> BoxFuture<'_, NextBatch>;

    /// See [`Source::is_complete`].
    fn is_whole(&self) -> bool;

    /// See [`Source::id_rule`].
    fn id_rule(&self) -> Option<String>;

    /// See [`Source::item_ended`].
    fn report_end(&mut self, id: &str, state: ItemState) -> bool;
}

impl<T: Source> DynSource for T {
    fn next_batch_boxed(&mut self) -> BoxFuture<'_, NextBatch> {
        Box::pin(self.next_batch())
    }

    fn is_whole(&self) -> bool {
        self.is_complete()
    }

    fn id_rule(&self) -> Option<String> {
        Source::id_rule(self)
    }

    fn report_end(&mut self, id: &str, state: ItemState) -> bool {
        self.item_ended(id, state)
    }
}

/// A source without items: the job has those in the store.
pub(crate) struct StoredItems {
    /// Set if the input has been read to its end before.
    pub(crate) is_complete: bool,
}

impl Source for StoredItems {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        Ok(None)
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// Items that are all known, enqueued in batches.
impl Source for std::vec::IntoIter<NewItem> {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        let mut batch = Batch::default();
        while !batch.is_full()
            && let Some(item) = self.next()
        {
            batch.push(item);
        }
        Ok(batch.into_items())
    }
}

/// The items of a caller's iterator or stream, serialised as JSON.
pub(crate) struct JsonItems<I, N> {
    next: N,
    // The number of items that it has returned so far.
    position: u64,
    ids: ContentIds,
    /// The source of the ids, once there is an item.
    id_rule: Option<&'static str>,
    done: bool,
    /// The error of an item, until the items before it have been returned.
    failed: Option<WorkflowError>,
    kind: PhantomData<fn() -> I>,
}

impl<I, N: FnMut(&mut Context<'_>) -> NextItem<I>> JsonItems<I, N> {
    pub(crate) fn new(next: N) -> Self {
        Self {
            next,
            position: 0,
            ids: ContentIds::default(),
            id_rule: None,
            done: false,
            failed: None,
            kind: PhantomData,
        }
    }
}

impl<I: Serialize, N> Source for JsonItems<I, N>
where
    N: FnMut(&mut Context<'_>) -> NextItem<I> + Send,
{
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        let mut batch = Batch::default();
        poll_fn(|cx| {
            while !self.done && self.failed.is_none() && !batch.is_full() {
                match (self.next)(cx) {
                    Poll::Ready(Some((id, item))) => {
                        self.position += 1;
                        self.id_rule =
                            Some(if id.is_some() { "`keyed`" } else { "their contents" });
                        let payload = match serde_json::to_string(&item) {
                            Ok(payload) => payload,
                            Err(error) => {
                                self.failed = Some(WorkflowError::Item {
                                    item: id.unwrap_or_else(|| self.position.to_string()),
                                    source: error.into(),
                                });
                                break;
                            }
                        };
                        let id = id.unwrap_or_else(|| {
                            let value = serde_json::to_value(&item);
                            self.ids.next(&mut value.unwrap_or_else(|_| payload.as_str().into()))
                        });
                        batch.push(NewItem::new(id, payload));
                    }
                    Poll::Ready(None) => self.done = true,
                    // Items that are ready need not wait for the rest.
                    Poll::Pending if batch.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(())
        })
        .await;
        let items = batch.into_items();
        if items.is_some() { Ok(items) } else { self.failed.take().map_or(Ok(None), Err) }
    }

    fn id_rule(&self) -> Option<String> {
        self.id_rule.map(str::to_owned)
    }
}
