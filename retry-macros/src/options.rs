//! The common parts of all options: the messages about unknown ones, and the words that an editor
//! completes after them.

pub(crate) mod backoff;
pub(crate) mod breaker;
pub(crate) mod check;
pub(crate) mod hedge;
pub(crate) mod jitter;
pub(crate) mod matcher;
pub(crate) mod settings;

use retry_rules::foreign_names::ForeignName;
use retry_rules::suggest;

use crate::tokens::grammar;

/// The message about an unknown `word` before `value`: what to write instead if it is an option of
/// another library or similar to one of these, else the list of the options.
pub(crate) fn unknown(
    what: &str,
    word: &str,
    value: &str,
    list: &str,
    options: &[&str],
    others: &[ForeignName],
) -> String {
    let meant = suggest::settings_meant(word, value, options, &[others]);
    let meant = meant.first().map(String::as_str);
    grammar::unknown(what, word, meant, &format!("{list} are {}", listed(options)))
}

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
