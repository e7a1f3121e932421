//! [`Items`]: what a job can be made of, an iterator or a stream; and the ids of its items.

use std::collections::{HashMap, HashSet};
use std::task::{Context, Poll};

use futures_core::Stream;
use serde_json::Value;

use crate::item::signature::fnv1a;

/// Items for a job: any `IntoIterator`, or a [`Stream`]. `Kind` is inferred.
///
/// An endless stream should be [`keyed`]: the ids of other items keep about 16 bytes per item in
/// memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not provide items",
    label = "neither an iterator nor a stream",
    note = "pass anything that implements `IntoIterator`, such as a `Vec` or `[item]`, or a \
            `futures_core::Stream`"
)]
pub trait Items<Kind> {
    /// The type of an item.
    type Item;

    /// Turns this into a source that returns one item after another.
    fn into_source(self) -> impl FnMut(&mut Context<'_>) -> NextItem<Self::Item> + Send;
}

/// The next item, with its id if it has one of its own; `None` after the last one.
pub type NextItem<I> = Poll<Option<(Option<String>, I)>>;

/// [`Items`] of an iterator.
#[derive(Debug)]
pub enum ByIterator {}

/// [`Items`] of a stream.
#[derive(Debug)]
pub enum ByStream {}

/// [`Items`] with their own ids.
#[derive(Debug)]
pub struct ByKey<Kind>(core::marker::PhantomData<Kind>);

impl<I> Items<ByIterator> for I
where
    I: IntoIterator,
    I::IntoIter: Send,
{
    type Item = I::Item;

    fn into_source(self) -> impl FnMut(&mut Context<'_>) -> NextItem<I::Item> + Send {
        let mut items = self.into_iter();
        move |_| Poll::Ready(items.next().map(|item| (None, item)))
    }
}

impl<S: Stream + Send> Items<ByStream> for S {
    type Item = S::Item;

    fn into_source(self) -> impl FnMut(&mut Context<'_>) -> NextItem<S::Item> + Send {
        let mut items = Box::pin(self);
        move |cx| items.as_mut().poll_next(cx).map(|next| next.map(|item| (None, item)))
    }
}

/// Items with their own ids; see [`keyed`].
#[derive(Clone, Debug)]
pub struct Keyed<T, F> {
    items: T,
    key: F,
}

/// Gives each item an id, so that another process recognises it, in whatever order the items come.
/// Without it, an item is identified by its content, and of several equal items by their number.
///
/// Two items with the same id are one item, which runs once;
/// [`JobReport::repeated`](crate::JobReport::repeated) counts the others. If they differ, that is an error in a job that this
/// process alone has begun ([`WorkflowError::SameId`](crate::WorkflowError::SameId)). In a job that
/// had items before, the first one is kept, and [`JobReport::changed`](crate::JobReport::changed)
/// counts the others. An item that has failed is not compared, because it may have been edited.
///
/// ```
/// use retry_workflow::{Workflow, keyed};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let orders = [("A-17", 3), ("B-4", 1)];
/// let report = Workflow::new("ship")
///     .run(keyed(orders.map(|(id, n)| (id.to_owned(), n)), |order| order.0.clone()),
///         |(id, n): (String, u32), _| async move {
///             if n > 0 { Ok(()) } else { Err(format!("nothing to ship for {id}")) }
///         })
///     .await
///     .unwrap();
/// assert_eq!(report.succeeded(), 2);
/// # }
/// ```
pub fn keyed<T, Kind, F>(items: T, key: F) -> Keyed<T, F>
where
    T: Items<Kind>,
    F: Fn(&T::Item) -> String,
{
    Keyed { items, key }
}

#[diagnostic::do_not_recommend]
impl<T, F, Kind> Items<ByKey<Kind>> for Keyed<T, F>
where
    T: Items<Kind>,
    F: Fn(&T::Item) -> String + Send,
{
    type Item = T::Item;

    fn into_source(self) -> impl FnMut(&mut Context<'_>) -> NextItem<T::Item> + Send {
        let Self { items, key } = self;
        let mut next = items.into_source();
        move |cx| next(cx).map(|next| next.map(|(_, item)| (Some(key(&item)), item)))
    }
}

/// The ids of items that have none of their own: by their content, so that they do not depend on
/// what comes before an item. The k-th of several equal items ends in `~k`.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct ContentIds {
    /// The hashes of all ids so far.
    seen: HashSet<u64>,
    /// The number of equal items so far, if there are several, by the hash of the first one's id.
    repeated: HashMap<u64, u32>,
}

impl ContentIds {
    /// Returns the id of the next item.
    pub fn next(&mut self, item: &mut Value) -> String {
        let id = content_id(item);
        let hash = fnv1a(&id);
        if self.seen.insert(hash) {
            return id;
        }
        let number = self.repeated.entry(hash).or_insert(1);
        *number = number.saturating_add(1);
        format!("{id}~{number}")
    }
}

/// A short text or a number is its own id, and anything else is identified by its hash. Items often
/// come in the order of a number: with it in front, neighbours are neighbours in the store's index.
fn content_id(item: &mut Value) -> String {
    /// A longer text is not a useful id.
    const LONGEST: usize = 200;

    let text = match &*item {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    // The id of one of several equal items.
    let is_numbered =
        text.rsplit_once('~').is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    if (1..=LONGEST).contains(&text.len()) && !text.contains(char::is_control) && !is_numbered {
        return text;
    }
    // The order of a `HashMap` differs from process to process.
    item.sort_all_objects();
    let hash = fnv1a(&serde_json::to_string(item).unwrap_or_default());
    let number = match item {
        Value::Object(fields) => fields.values().find_map(Value::as_u64),
        Value::Array(elements) => elements.iter().find_map(Value::as_u64),
        _ => None,
    };
    number.map_or_else(|| format!("{hash:016x}"), |number| format!("{number}-{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_texts_numbers_or_hashes_and_differ() {
        let mut ids = ContentIds::default();
        let mut id = |mut item| ids.next(&mut item);
        assert_eq!(id(json!("a b")), "a b");
        assert_eq!(id(json!(1.5)), "1.5");
        assert_eq!(id(json!("a b")), "a b~2");
        assert_eq!(id(json!("a b")), "a b~3");
        assert_eq!(id(json!({ "n": "one" })), "e5255042cc4693f9");
        assert_eq!(id(json!({ "n": 1 })), "1-0c85d1734a1666a0");
        assert_eq!(id(json!({ "n": 1 })), "1-0c85d1734a1666a0~2");
        assert_eq!(id(json!(["a", -7, 2.5, 3])).rsplit_once('-').expect("a hash").0, "3");
        let first = id(json!({ "b": 1, "a": 2 }));
        assert_eq!(id(json!({ "a": 2, "b": 1 })), format!("{first}~2"));
        for other in [json!(""), json!("a\n"), json!("a b~2"), json!("x".repeat(201)), json!(null)]
        {
            let hash = id(other);
            assert!(hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{hash}");
        }
    }
}
