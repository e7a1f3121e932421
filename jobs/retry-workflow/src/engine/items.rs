//! [`Items`]: what a job can be made of, an iterator or a stream; and the ids of its items.

use std::task::{Context, Poll};

use futures_core::Stream;

/// Items for a job: any `IntoIterator`, or a [`Stream`]. `Kind` is inferred.
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
/// Without it, an item is identified by its position and its content.
///
/// Two items with the same id are one item: the first one is kept.
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
