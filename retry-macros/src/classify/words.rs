//! The words inside `#[classify(…)]`.

use std::mem;

use retry_rules::foreign_names::word_here;
use retry_rules::matchers::CLASSES;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Ident, Index, LitInt, Member, Meta, Path, Token};

use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, set_twice};

/// All words of a variant.
fn names() -> Vec<&'static str> {
    let others = ["never", "text", "transparent", "status", "with", "retry_after"];
    [&CLASSES[..], &others].concat()
}

/// The advice about a variant without a class.
pub(super) const WHAT_TO_WRITE: &str = "write `#[classify(server_error)]` or another kind \
     (`network`, `connect`, `timeout`, `rate_limit`, `conflict`), `#[classify(never)]` if no retry helps, or \
     `#[classify(transparent)]` if a field decides";

/// All words of one variant, struct or enum.
#[derive(Default)]
pub(super) struct Words {
    pub(super) classes: Vec<Ident>,
    /// The words that decide alone, without a class beside them. Only one of them is right.
    pub(super) deciders: Vec<(Ident, Decider)>,
    pub(super) retry_after: Option<(Ident, Member)>,
    /// On the type only: the name of this library, if it was renamed.
    pub(super) krate: Option<Path>,
    /// Set if some of them could not be read, which has been reported.
    pub(super) misread: bool,
}

/// The meaning of a word that decides alone.
pub(super) enum Decider {
    Never,
    Text,
    Transparent(Option<Member>),
    Status(Member),
    With(Path),
}

impl Words {
    /// Reads all `#[classify(…)]` among the attributes.
    pub(super) fn read(attributes: &[Attribute], on_type: bool, errors: &mut Errors) -> Self {
        let mut words = Self::default();
        let of_ours = |attribute: &&Attribute| attribute.path().is_ident("classify");
        for attribute in attributes.iter().filter(of_ours) {
            let list = match &attribute.meta {
                Meta::List(list) if !list.tokens.is_empty() => list,
                other => {
                    let message = format!("`classify` lists the kind of failure: {WHAT_TO_WRITE}");
                    errors.at(other, message);
                    words.misread = true;
                    continue;
                }
            };
            let read = |input: ParseStream| {
                grammar::each(input, errors, |input, _| {
                    words.word(input, on_type).inspect_err(|_| words.misread = true)
                });
                Ok(())
            };
            // Each word has reported its own mistakes.
            let _ = read.parse2(list.tokens.clone());
        }
        words
    }

    fn word(&mut self, input: ParseStream, on_type: bool) -> syn::Result<()> {
        let name = grammar::name(input, "expected a kind without quotes, as in `network`")?;
        let word = name.to_string();
        match word.as_str() {
            class if CLASSES.contains(&class) => {
                match self.classes.iter().find(|before| **before == name) {
                    Some(before) => return Err(set_twice(before, &name)),
                    None => self.classes.push(name),
                }
            }
            "never" => self.decide(name, Decider::Never)?,
            "text" => self.decide(name, Decider::Text)?,
            "transparent" => {
                let is_named = input.peek(Token![=]);
                let field = is_named.then(|| member(&name, input)).transpose()?;
                self.decide(name, Decider::Transparent(field))?;
            }
            "status" => {
                let field = member(&name, input)?;
                self.decide(name, Decider::Status(field))?;
            }
            "retry_after" => {
                let field = member(&name, input)?;
                if let Some((before, _)) = self.retry_after.replace((name.clone(), field)) {
                    return Err(set_twice(&before, &name));
                }
            }
            "with" => {
                grammar::equals(&name, input, "Self::judge")?;
                self.decide(name, Decider::With(input.parse()?))?;
            }
            "crate" if on_type => {
                grammar::equals(&name, input, "my_retry")?;
                self.krate = Some(input.call(Path::parse_mod_style)?);
            }
            _ => {
                if word == "transient" || word_here(&word, &["transient"]).is_some() {
                    let message = format!(
                        "`{word}` is all five kinds at once, and a failure is one or two of them: \
                         write `network`, `timeout`, `server_error`, `rate_limit` or `conflict`"
                    );
                    return Err(error(name, message));
                }
                return Err(error(&name, grammar::unknown("kind of failure", &word, &names())));
            }
        }
        Ok(())
    }

    fn decide(&mut self, name: Ident, decider: Decider) -> syn::Result<()> {
        if let Some((before, _)) = self.deciders.iter().find(|(before, _)| *before == name) {
            return Err(set_twice(before, &name));
        }
        self.deciders.push((name, decider));
        Ok(())
    }

    /// Removes the words about a field, and returns them.
    pub(super) fn take_fields(&mut self) -> Vec<Ident> {
        let is_about_field =
            |(_, of): &_| matches!(of, Decider::Transparent(_) | Decider::Status(_));
        let (fields, others): (Vec<_>, Vec<_>) =
            mem::take(&mut self.deciders).into_iter().partition(is_about_field);
        self.deciders = others;
        self.misread |= !fields.is_empty();
        let wait = self.retry_after.take().map(|(word, _)| word);
        fields.into_iter().map(|(word, _)| word).chain(wait).collect()
    }
}

/// The field after `name =`: its name, or its position.
fn member(name: &Ident, input: ParseStream) -> syn::Result<Member> {
    grammar::equals(name, input, "field")?;
    if let Ok(index) = input.fork().parse::<LitInt>() {
        input.parse::<LitInt>()?;
        return Ok(Member::Unnamed(Index { index: index.base10_parse()?, span: index.span() }));
    }
    grammar::name(input, "expected the name of a field, or its position").map(Member::Named)
}
