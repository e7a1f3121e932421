//! [`Names`]: one name, or several.

/// One name or several: a text, or anything that iterates over texts. `Kind` is inferred.
///
/// ```
/// use retry_workflow::Filter;
///
/// let one = Filter::job("import-1").ids("17");
/// let two = Filter::job("import-1").ids(["17", "23"]);
/// assert_eq!((one.ids.unwrap().len(), two.ids.unwrap().len()), (1, 2));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a name nor a list of names",
    label = "expected a text, or a list of texts",
    note = "write one name, such as `\"17\"`, or several, such as `[\"17\", \"23\"]`"
)]
pub trait Names<Kind> {
    /// Collects them.
    fn into_names(self) -> Vec<String>;
}

/// A single [name](Names).
#[derive(Debug)]
pub enum One {}

/// Several [names](Names).
#[derive(Debug)]
pub enum Several {}

#[diagnostic::do_not_recommend]
impl<T: Into<String>> Names<One> for T {
    fn into_names(self) -> Vec<String> {
        vec![self.into()]
    }
}

#[diagnostic::do_not_recommend]
impl<T: IntoIterator<Item: Into<String>>> Names<Several> for T {
    fn into_names(self) -> Vec<String> {
        self.into_iter().map(Into::into).collect()
    }
}
