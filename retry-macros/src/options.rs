//! What all options have in common: a name, an example, the names that other libraries have for
//! them, and what an editor completes after them.

pub(crate) mod backoff;
pub(crate) mod breaker;
pub(crate) mod check;
pub(crate) mod jitter;
pub(crate) mod matcher;
pub(crate) mod settings;

use retry_rules::suggest;

use crate::grammar;

/// A row in a table of options. `K` says how its value is parsed.
pub(crate) struct Opt<K> {
    pub(crate) name: &'static str,
    pub(crate) kind: K,
    /// An example of what follows `name =`.
    pub(crate) example: &'static str,
    /// The names that other libraries have for it.
    elsewhere: &'static [&'static str],
    /// What to write here instead of those.
    instead: &'static str,
}

impl<K> Opt<K> {
    pub(crate) const fn new(name: &'static str, kind: K, example: &'static str) -> Self {
        Self { name, kind, example, elsewhere: &[], instead: name }
    }

    /// Adds names that other libraries have for the same option.
    pub(crate) const fn known_as(self, words: &'static [&'static str]) -> Self {
        let instead = self.name;
        self.written(instead, words)
    }

    /// Like [`known_as`](Self::known_as), if replacing the name is not enough.
    pub(crate) const fn written(
        mut self,
        instead: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        self.elsewhere = words;
        self.instead = instead;
        self
    }

    /// The row without its kind, for code that needs only the names.
    pub(crate) fn words(&self) -> Words {
        Words { name: self.name, elsewhere: self.elsewhere, instead: self.instead }
    }
}

/// The names of an option, here and elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    pub(crate) name: &'static str,
    elsewhere: &'static [&'static str],
    instead: &'static str,
}

/// The message about an unknown `word` before `value`: what to write instead if it is an option of
/// another library or similar to one of these, else the list of the options.
pub(crate) fn unknown(
    what: &str,
    word: &str,
    value: &str,
    list: &str,
    options: &[Words],
) -> String {
    let assigned = |name: &str| match value {
        "" => name.to_owned(),
        value => format!("{name} = {value}"),
    };
    let elsewhere = options.iter().find(|option| option.elsewhere.contains(&word));
    let meant = match elsewhere {
        Some(option) if option.instead == option.name => Some(assigned(option.name)),
        Some(option) => Some(option.instead.to_owned()),
        None => suggest::nearest(word, options.iter().map(|option| option.name)).map(str::to_owned),
    };
    grammar::unknown(what, word, meant.as_deref(), &format!("{list} are {}", listed(options)))
}

/// Formats the names as `` `attempts`, `backoff` ``.
pub(crate) fn listed(options: &[Words]) -> String {
    let names: Vec<_> = options.iter().map(|option| format!("`{}`", option.name)).collect();
    names.join(", ")
}

/// What an editor completes after an option's name, or in its parentheses.
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
