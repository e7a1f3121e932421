//! What an option is, whoever reads it: its name, an example, the words that other
//! libraries have for it, and what an editor completes behind it.

use retry_rules::suggest;

use crate::grammar;

/// A row in a table of options. `K` says how its value is read.
pub(crate) struct Opt<K> {
    pub(crate) name: &'static str,
    pub(crate) kind: K,
    /// What may stand behind `name =`.
    pub(crate) example: &'static str,
    /// Other libraries' words for it.
    elsewhere: &'static [&'static str],
    /// How what those words say is written here.
    instead: &'static str,
}

impl<K> Opt<K> {
    pub(crate) const fn new(name: &'static str, kind: K, example: &'static str) -> Self {
        Self { name, kind, example, elsewhere: &[], instead: name }
    }

    /// Adds the words that other libraries have for the same.
    pub(crate) const fn known_as(self, words: &'static [&'static str]) -> Self {
        let instead = self.name;
        self.written(instead, words)
    }

    /// The same where it is not enough to write the option for the word.
    pub(crate) const fn written(
        mut self,
        instead: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        self.elsewhere = words;
        self.instead = instead;
        self
    }

    /// The row without its kind, for those who only look at the names.
    pub(crate) fn words(&self) -> Words {
        Words { name: self.name, elsewhere: self.elsewhere, instead: self.instead }
    }
}

/// What an option is called, here and elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    pub(crate) name: &'static str,
    elsewhere: &'static [&'static str],
    instead: &'static str,
}

/// The complaint about an unknown `word` in front of `value`: what to write instead, if it is an
/// option in another library or like one of these, else the list of the options.
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

/// `` `attempts`, `backoff` ``
pub(crate) fn listed(options: &[Words]) -> String {
    let names: Vec<_> = options.iter().map(|option| format!("`{}`", option.name)).collect();
    names.join(", ")
}

/// What an editor completes behind an option's name, or in its brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing, or an expression, which an editor knows by itself.
    Nothing,
    /// `(setting = …, …)`
    Settings,
    /// `= word`, or `= word(setting = …)`
    Word,
    /// `= [word, word( … )]`
    List,
    /// `= path`: where this library is.
    Library,
    /// An expression that may also be a word: taken for one only if it is.
    Perhaps(&'static str),
}
