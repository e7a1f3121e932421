//! The common parts of all options: their names in messages, and the words that an editor completes
//! after them.

pub(crate) mod backoff;
pub(crate) mod breaker;
pub(crate) mod check;
pub(crate) mod hedge;
pub(crate) mod jitter;
pub(crate) mod matcher;
pub(crate) mod settings;

/// Formats the names as `` `attempts`, `backoff` ``.
pub(crate) fn listed(options: &[&str]) -> String {
    let names: Vec<_> = options.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The words that an editor completes after an option's name, or in its parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing, or an expression, which an editor handles by itself.
    Nothing,
    /// `(setting = …, …)`
    Settings,
    /// `= word`, or `= word(setting = …)`
    Word,
    /// `= [word, word( … )]`
    List,
    /// `= path`: the path of this library.
    Library,
    /// An expression that may also be this word.
    Perhaps(&'static str),
}
