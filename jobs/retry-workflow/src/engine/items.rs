//! [`Items`]: what a job can be made of, an iterator or a stream; and the ids of its items.

use std::pin::Pin;
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
    fn into_source(self) -> impl NextItem<Item = Self::Item> + Send;
}

/// A source of items, one after another.
pub trait NextItem {
    /// The type of an item.
    type Item;

    /// Returns the next item, with its id if it has one of its own; `None` after the last one.
    fn poll_next_item(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Option<String>, Self::Item)>>;
}

/// [`Items`] of an iterator.
#[derive(Debug)]
pub enum ByIterator {}

/// [`Items`] of a stream.
#[derive(Debug)]
pub enum ByStream {}

/// [`Items`] with their own ids.
#[derive(Debug)]
pub struct ByKey<Kind>(core::marker::PhantomData<Kind>);

struct FromIterator<I>(I);

impl<I: Iterator + Unpin> NextItem for FromIterator<I> {
    type Item = I::Item;

    fn poll_next_item(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<(Option<String>, I::Item)>> {
        Poll::Ready(self.0.next().map(|item| (None, item)))
    }
}

impl<I> Items<ByIterator> for I
where
    I: IntoIterator,
    I::IntoIter: Send,
{
    type Item = I::Item;

    fn into_source(self) -> impl NextItem<Item = I::Item> + Send {
        // Boxed, so that the iterator need not be `Unpin`.
        FromIterator(Box::new(self.into_iter()))
    }
}

struct FromStream<S>(Pin<Box<S>>);

impl<S: Stream> NextItem for FromStream<S> {
    type Item = S::Item;

    fn poll_next_item(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Option<String>, S::Item)>> {
        self.0.as_mut().poll_next(cx).map(|item| item.map(|item| (None, item)))
    }
}

impl<S: Stream + Send> Items<ByStream> for S {
    type Item = S::Item;

    fn into_source(self) -> impl NextItem<Item = S::Item> + Send {
        FromStream(Box::pin(self))
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

pin_project_lite::pin_project! {
    struct FromKeyed<N, F> {
        #[pin]
        items: N,
        key: F,
    }
}

impl<N: NextItem, F: Fn(&N::Item) -> String> NextItem for FromKeyed<N, F> {
    type Item = N::Item;

    fn poll_next_item(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Option<String>, N::Item)>> {
        let this = self.project();
        this.items.poll_next_item(cx).map(|next| {
            next.map(|(_, item)| {
                let id = (this.key)(&item);
                (Some(id), item)
            })
        })
    }
}

#[diagnostic::do_not_recommend]
impl<T, F, Kind> Items<ByKey<Kind>> for Keyed<T, F>
where
    T: Items<Kind>,
    F: Fn(&T::Item) -> String + Send,
{
    type Item = T::Item;

    fn into_source(self) -> impl NextItem<Item = T::Item> + Send {
        FromKeyed { items: self.items.into_source(), key: self.key }
    }
}
