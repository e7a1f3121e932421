//! [`Source`]: where the items of a job come from while it runs.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::Poll;

use serde::Serialize;

use crate::engine::items::NextItem;
use crate::item::record::{ItemState, NewItem};
use crate::item::signature::fnv;
use crate::job::error::WorkflowError;

/// More are not put into a store at once.
const BATCH: usize = 1_000;
/// Nor are more bytes of payload: items may be large.
const BATCH_BYTES: usize = 4 << 20;

/// Where the items of a job come from while it runs.
pub trait Source: Send {
    /// The next items, as soon as there are some; `None` after the last ones. An empty
    /// batch says that the store has got items in another way.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<NewItem>>, WorkflowError>> + Send;

    /// Whether these are all items that the job is to have.
    fn is_whole(&self) -> bool {
        true
    }

    /// An item has come to its end; says whether there are further items by that.
    fn ended(&mut self, _id: &str, _state: ItemState) -> bool {
        false
    }
}

/// No more items than are in the store.
pub struct Nothing {
    /// Whether the input has been read to its end before.
    pub is_whole: bool,
}

impl Source for Nothing {
    async fn next(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        Ok(None)
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// Items that are all there.
pub struct Listed(std::vec::IntoIter<NewItem>);

impl Listed {
    pub fn new(items: Vec<NewItem>) -> Self {
        Self(items.into_iter())
    }
}

impl Source for Listed {
    async fn next(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        let mut bytes = 0;
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && bytes < BATCH_BYTES
            && let Some(item) = self.0.next()
        {
            bytes += item.payload.len();
            batch.push(item);
        }
        Ok(if batch.is_empty() { None } else { Some(batch) })
    }
}

/// What a caller's iterator or stream gives.
pub struct Given<I, N> {
    items: Pin<Box<N>>,
    // Those that are put in so far.
    position: u64,
    done: bool,
    kind: PhantomData<fn() -> I>,
}

impl<I, N: NextItem<Item = I>> Given<I, N> {
    pub fn new(items: N) -> Self {
        Self { items: Box::pin(items), position: 0, done: false, kind: PhantomData }
    }
}

impl<I: Serialize, N: NextItem<Item = I> + Send> Source for Given<I, N> {
    async fn next(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        poll_fn(|cx| {
            while !self.done && batch.len() < BATCH && bytes < BATCH_BYTES {
                match self.items.as_mut().poll_next_item(cx) {
                    Poll::Ready(Some((id, item))) => {
                        self.position += 1;
                        let payload = match serde_json::to_string(&item) {
                            Ok(payload) => payload,
                            Err(error) => {
                                return Poll::Ready(Err(WorkflowError::Item {
                                    item: id.unwrap_or_else(|| self.position.to_string()),
                                    detail: error.to_string(),
                                }));
                            }
                        };
                        let id = id.unwrap_or_else(|| own_id(self.position, &item, &payload));
                        bytes += payload.len();
                        batch.push(NewItem { id, payload, correlation: None });
                    }
                    Poll::Ready(None) => self.done = true,
                    // What is there already need not wait for the rest.
                    Poll::Pending if batch.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await?;
        Ok(if batch.is_empty() { None } else { Some(batch) })
    }
}

/// What an item without a key is known by: its position and its content, so that other items
/// in the same place are other items.
fn own_id(position: u64, item: &impl Serialize, payload: &str) -> String {
    // By way of a value, whose maps are in order: that of a `HashMap` differs from process to
    // process.
    let content = serde_json::to_value(item).map(|value| value.to_string());
    let content = content.as_deref().unwrap_or(payload);
    format!("{position}-{:08x}", fnv(content))
}
