//! The small words of the grammar: `name = value`, what follows a comma, and what
//! an unknown word was meant to be.

use proc_macro2::{TokenStream, TokenTree};
use retry_rules::suggest;
use syn::parse::ParseStream;
use syn::{Expr, Ident, Token};

use crate::errors::Errors;
use crate::hygiene::quote;
use crate::value::plain;

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

/// Reads what stands between commas, each by itself: one that is wrong is reported
/// and left out, and the others are read all the same.
pub(crate) fn each(
    input: ParseStream,
    errors: &mut Errors,
    mut read: impl FnMut(ParseStream, &mut Errors) -> syn::Result<()>,
) {
    while !input.is_empty() {
        match read(input, errors) {
            Ok(()) => after_option(input, errors),
            Err(error) => {
                errors.push(error);
                skip_to_comma(input);
            }
        }
    }
}

/// After an option there is a comma, or the end.
fn after_option(input: ParseStream, errors: &mut Errors) {
    if input.is_empty() || input.parse::<Option<Token![,]>>().is_ok_and(|comma| comma.is_some()) {
        return;
    }
    let next = input.cursor().token_stream().into_iter().next();
    if let Some(TokenTree::Ident(ident)) = &next {
        errors.at(ident, format!("missing comma before `{ident}`"));
    } else if input.peek(Token![:]) {
        errors.at(&next, "options are set with `=`, not `:`");
        skip_to_comma(input);
    } else {
        errors.at(&next, "unexpected after this option: options are separated by commas");
        skip_to_comma(input);
    }
}

/// The complaint about an option that stands there for the second time.
pub(crate) fn set_twice(first: &Ident, second: &Ident) -> syn::Error {
    // From the first to the second: both places in one picture.
    let both = quote!(#first #second);
    syn::Error::new_spanned(both, format!("`{second}` is set twice: keep one of them"))
}

/// The complaint about an unknown `what`: what was `meant`, or else, `listed`, what there is.
pub(crate) fn unknown(what: &str, word: &str, meant: Option<&str>, listed: &str) -> String {
    match meant {
        Some(meant) => format!("unknown {what} `{word}`: did you mean `{meant}`?"),
        None => format!("unknown {what} `{word}`; {listed}"),
    }
}

/// The value that stands behind an unknown name, as it was written.
pub(crate) fn written(input: ParseStream) -> String {
    let mut tokens = up_to_comma(input).into_iter();
    match tokens.next() {
        Some(TokenTree::Punct(equals)) if equals.as_char() == '=' => {
            plain(&tokens.collect::<TokenStream>())
        }
        _ => String::new(),
    }
}

/// The tokens up to the next comma, which stay.
pub(crate) fn up_to_comma(input: ParseStream) -> TokenStream {
    let tokens = input.cursor().token_stream().into_iter();
    tokens
        .take_while(|token| !matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','))
        .collect()
}

pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    suggest::nearest(word, known.iter().copied())
}
