//! [`OneOrMany`]: a value, or several.

/// A value of type `T`, or anything that iterates over such values. `Kind` is inferred.
///
/// ```
/// use retry_workflow::{Filter, ItemState};
///
/// let one = Filter::job("import-1").ids("17").states(ItemState::Skipped);
/// let two = Filter::job("import-1").ids(["17", "23"]).states([ItemState::Dead, ItemState::Skipped]);
/// assert_eq!((one.ids.unwrap().len(), two.ids.unwrap().len()), (1, 2));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `{T}` nor a list of them",
    label = "expected a `{T}`, or several",
    note = "write one value, or several in brackets: `[a, b]`"
)]
pub trait OneOrMany<T, Kind> {
    /// Collects the values.
    fn into_list(self) -> Vec<T>;
}

/// [`OneOrMany`]: one value.
#[derive(Debug)]
pub enum One {}

/// [`OneOrMany`]: several values.
#[derive(Debug)]
pub enum Many {}

#[diagnostic::do_not_recommend]
impl<T, V: Into<T>> OneOrMany<T, One> for V {
    fn into_list(self) -> Vec<T> {
        vec![self.into()]
    }
}

#[diagnostic::do_not_recommend]
impl<T, I: IntoIterator<Item: Into<T>>> OneOrMany<T, Many> for I {
    fn into_list(self) -> Vec<T> {
        self.into_iter().map(Into::into).collect()
    }
}
