//! A place in a program that retries.

/// A place in a program that retries: one annotated function, or one retrier.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Its name: module path and function name, unless set.
    pub name: &'static str,
}
