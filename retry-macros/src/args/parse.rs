//! The parser of the options, and the messages about unknown ones.

use proc_macro2::TokenStream;
use retry_rules::foreign_names;
use retry_rules::options::{BREAKER, POLICY, Setting};
use syn::parse::{ParseStream, Parser as _};
use syn::{LitInt, Token, token};

use super::Args;
use super::table::FUNCTION;
use super::values::Reading;
use crate::options::{backoff, matcher};
use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, each, set_twice, unknown_option, up_to_comma, written};
use crate::tokens::search::is_constant;
use crate::tokens::text::short_text;
use crate::value::runtime::Scope;

/// The macro being expanded: `#[retry(…)]` accepts all options, `policy!(…)` only the options of
/// a policy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Attribute,
    Policy,
}

impl Syntax {
    /// The accepted options, in the order in which they are listed. For `policy!`, this omits
    /// `crate`, which the macro sets itself.
    pub(crate) fn options(self) -> Vec<&'static str> {
        let policy = POLICY.iter().map(Setting::name);
        match self {
            Self::Attribute => policy.chain(FUNCTION.iter().map(|option| option.name)).collect(),
            Self::Policy => {
                let before = FUNCTION.iter().filter(|option| option.in_policy);
                let listed = before.map(|option| option.name).filter(|name| *name != "crate");
                listed.chain(policy).collect()
            }
        }
    }
}

impl Args {
    /// Parses all options. Mistakes go to `errors`.
    pub(crate) fn parse(
        tokens: TokenStream,
        syntax: Syntax,
        scope: &mut Scope,
        errors: &mut Errors,
    ) -> Self {
        let mut args = Self::default();
        let read = |input: ParseStream| {
            each(input, errors, |input, errors| args.option(input, syntax, scope, errors));
            Ok(())
        };
        // Tokens left over inside brackets are not a mistake in addition to the one that caused
        // them.
        if let (Err(error), true) = (read.parse2(tokens), errors.is_empty()) {
            errors.push(error);
        }
        args.policy.locals = scope.take_locals();
        args
    }

    fn option(
        &mut self,
        input: ParseStream,
        syntax: Syntax,
        scope: &mut Scope,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        if let Ok(attempts) = input.fork().parse::<LitInt>() {
            let message = match attempts.base10_parse::<u32>() {
                Ok(count @ 1..) => format!("an option has a name: write `attempts = {count}`"),
                _ => "an option has a name, as in `attempts = 5`".to_owned(),
            };
            return Err(error(attempts, message));
        }
        let name = grammar::name(input, "an option has a name, as in `initial_delay = \"1s\"`")?;
        let word = name.to_string();
        let setting = self.policy.settings.option(&word);
        let option = FUNCTION
            .iter()
            .find(|option| option.name == word)
            .filter(|option| syntax == Syntax::Attribute || option.in_policy);
        if setting.is_none() && option.is_none() {
            return Err(match explanation(&word, &input.fork(), syntax) {
                Some(message) => error(&name, message),
                None => {
                    let what = ("option", "the documentation of `retry_runtime::retry`");
                    let (options, others) = (syntax.options(), foreign_names::RETRY);
                    unknown_option(what, &name, input, &options, others)
                }
            });
        }
        if let Some(first) = self.written(&word) {
            // The first one may be of `retrying!` itself, at no place of the user's.
            if word == "crate" {
                return Err(error(name, "`crate` is set already: remove it"));
            }
            return Err(set_twice(first, &name));
        }
        self.names.push(name.clone());
        match (setting, option) {
            (Some(setting), _) => self.policy.settings.read(setting, &name, input, scope, errors),
            (None, Some(option)) => {
                let example = option.example;
                let mut reading = Reading { name: &name, example, input, scope, errors };
                (option.read)(self, &mut reading)?;
                if let Some(field) = option.field {
                    self.fields = self.fields.with(field);
                    self.policy.settings.beside.push((field, name.clone()));
                }
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }
}

/// The message about an unknown word that is more than a misspelt or foreign option.
fn explanation(word: &str, value: ParseStream, syntax: Syntax) -> Option<String> {
    if foreign_names::counts_retries(word) {
        let retries = written(value);
        let more = match foreign_names::attempts_for(&retries) {
            Some(attempts) => format!("`attempts = {attempts}` is the same as {retries} retries"),
            None => "it is one more than the number of retries".to_owned(),
        };
        return Some(format!(
            "unknown option `{word}`: `attempts` counts all calls, including the first, so {more}"
        ));
    }
    let inside = written(&value.fork());
    if let ("runtime", Some((option, inside))) = (word, inside.split_once(" = ")) {
        return Some(format!(
            "`runtime(…)` is around a value, not an option: write `{option} = runtime({inside})`"
        ));
    }
    let is_policy = word.starts_with("Policy") || is_constant(word.parse().unwrap_or_default());
    if is_policy && !value.peek(Token![=]) {
        let policy = format!("{word}{}", short_text(&up_to_comma(value)));
        return Some(format!("to start from a policy, write `policy = {policy}`"));
    }
    let call =
        if value.peek(token::Paren) { short_text(&up_to_comma(value)) } else { String::new() };
    if backoff::NAMES.contains(&word) {
        return Some(format!("`{word}` is a curve: write `backoff = {word}{call}`"));
    }
    if matcher::names().contains(&word) && !matches!(word, "timeout" | "when" | "ok") {
        return Some(format!("`{word}` is a matcher: write `retry_on = [{word}{call}]`"));
    }
    let setting = word.strip_prefix("breaker_").unwrap_or(word);
    let of_breaker = BREAKER.iter().find(|known| known.name() == setting);
    if let (Syntax::Attribute, Some(setting)) = (syntax, of_breaker) {
        let value = written(value);
        let value = if value.is_empty() { setting.example } else { &value };
        return Some(format!(
            "`{word}` is a setting of a breaker: set it where the breaker is declared, or write \
             `breaker({} = {value})` for one of this function alone",
            setting.name()
        ));
    }
    if of_breaker.is_some()
        || syntax == Syntax::Policy && FUNCTION.iter().any(|option| option.name == word)
    {
        return Some(format!(
            "`{word}` belongs to a function, not to a policy: move it to `#[retry(…)]`"
        ));
    }
    let advice = foreign_names::cures(word, "", foreign_names::RETRY_ADVICE).next();
    advice.map(|advice| format!("unknown option `{word}`: {advice}"))
}
