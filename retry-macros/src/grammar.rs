//! The small words of the grammar: `name = value`, what follows a comma, and what
//! was meant by a word that nobody knows.

use core::time::Duration;

use proc_macro2::TokenTree;
use retry_rules::suggest;
pub(crate) use retry_rules::suggest::or_else;
use syn::parse::ParseStream;
use syn::{Expr, Ident, Token};

use crate::value::{self, Value};

/// A mistake in the token that comes next.
pub(crate) fn at_next(input: ParseStream, message: impl core::fmt::Display) -> syn::Error {
    let next = input.cursor().token_stream().into_iter().next();
    syn::Error::new_spanned(next, message)
}

/// Leaves the rest of something that is wrong behind.
pub(crate) fn skip_to_comma(input: ParseStream) {
    while let Ok(token) = input.parse::<TokenTree>() {
        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',') {
            return;
        }
    }
}

pub(crate) fn equals(name: &Ident, input: ParseStream, example: &str) -> syn::Result<()> {
    if !input.peek(Token![=]) || input.peek(Token![==]) {
        return Err(syn::Error::new(
            name.span(),
            format!("`{name}` needs a value: write `{name} = {example}`"),
        ));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(syn::Error::new(
            name.span(),
            format!("`{name}` needs a value: write `{name} = {example}`"),
        ));
    }
    Ok(())
}

/// The expression behind `name =`.
pub(crate) fn assigned(name: &Ident, input: ParseStream, example: &str) -> syn::Result<Expr> {
    equals(name, input, example)?;
    input.parse()
}

pub(crate) fn time(
    name: &Ident,
    input: ParseStream,
    example: &str,
) -> syn::Result<Value<Duration>> {
    value::duration(assigned(name, input, &format!("\"{example}\""))?)
}

/// What goes between a complaint about `word` and the list of what is `known`:
/// `: did you mean …?`, if one of these is near.
pub(crate) fn did_you_mean(word: &str, known: &[&str]) -> String {
    or_else(nearest(word, known))
}

pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    suggest::nearest(word, known.iter().copied())
}
