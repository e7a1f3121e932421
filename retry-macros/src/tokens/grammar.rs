//! The basic pieces of the grammar: `name = value`, the commas in between, and the suggestion for
//! an unknown word.

use core::fmt::Display;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use retry_rules::foreign_names::ForeignName;
use retry_rules::suggest::{instead, meant, settings_meant};
use syn::ext::IdentExt as _;
use syn::parse::{ParseBuffer, ParseStream};
use syn::{Expr, ExprLit, Ident, LitStr, Token, parenthesized};

use crate::tokens::errors::{Errors, error};
use crate::tokens::hygiene::quote;
use crate::tokens::text::short_text;

/// An error at the next token.
pub(crate) fn at_next(input: ParseStream, message: impl Display) -> syn::Error {
    let next = input.cursor().token_stream().into_iter().next();
    syn::Error::new_spanned(next, message)
}

/// Skips the rest of something invalid.
pub(crate) fn skip_to_comma(input: ParseStream) {
    for _ in up_to_comma(input) {
        if input.parse::<TokenTree>().is_err() {
            return;
        }
    }
    // The last value may have no comma.
    drop(input.parse::<Token![,]>());
}

/// The content of parentheses; `None` if there are none, or nothing is in them.
pub(crate) fn parentheses<'a>(input: &ParseBuffer<'a>) -> Option<ParseBuffer<'a>> {
    let parse = || {
        let content;
        parenthesized!(content in input);
        Ok::<_, syn::Error>(content)
    };
    parse().ok().filter(|content| !content.is_empty())
}

/// Expects the end of parentheses, perhaps after a comma.
pub(crate) fn last(content: ParseStream, message: impl Display) -> syn::Result<()> {
    content.parse::<Option<Token![,]>>()?;
    if content.is_empty() { Ok(()) } else { Err(error(content.cursor().token_stream(), message)) }
}

/// Parses a name; without one, `expected` is the error.
pub(crate) fn name(input: ParseStream, expected: impl Display) -> syn::Result<Ident> {
    if input.peek(Ident::peek_any) {
        input.call(Ident::parse_any)
    } else {
        Err(at_next(input, expected))
    }
}

pub(crate) fn equals(name: &Ident, input: ParseStream, example: &str) -> syn::Result<()> {
    let ahead = input.fork();
    let is_doubled = ahead.parse::<Token![==]>().is_ok();
    if is_doubled || input.peek(Token![:]) && !input.peek(Token![::]) {
        let value = if is_doubled { short_text(&up_to_comma(&ahead)) } else { written(input) };
        let value = if value.is_empty() { example } else { &value };
        return Err(error(name, format!("options are set with one `=`: write `{name} = {value}`")));
    }
    let assigns = input.peek(Token![=]);
    if assigns {
        input.parse::<Token![=]>()?;
    }
    if assigns && !input.is_empty() && !input.peek(Token![,]) {
        return Ok(());
    }
    Err(error(name, format!("`{name}` needs a value, as in `{name} = {example}`")))
}

/// The words of a flag.
pub(crate) const BOOLEANS: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Parses one of these words. `message` is the error for another word.
pub(crate) fn one_of<T: Copy>(
    input: ParseStream,
    words: &[(&str, T)],
    message: &str,
) -> syn::Result<T> {
    let value = input.fork();
    let word = Ident::parse_any(input).map(|word| word.to_string()).unwrap_or_default();
    let found = words.iter().find(|(known, _)| *known == word);
    let quotes = if value.peek(LitStr) { "; a word is written without quotes" } else { "" };
    found.map(|(_, value)| *value).ok_or_else(|| at_next(&value, format!("{message}{quotes}")))
}

/// Parses the expression after `name`, including the `=`.
pub(crate) fn assigned(name: &Ident, input: ParseStream, example: &str) -> syn::Result<Expr> {
    equals(name, input, example)?;
    // Most values are literals, for which a parser of expressions is a long way round.
    let is_literal = input.cursor().literal().is_some_and(|(_, rest)| {
        rest.eof() || rest.punct().is_some_and(|(punct, _)| punct.as_char() == ',')
    });
    if is_literal {
        return Ok(Expr::Lit(ExprLit { attrs: Vec::new(), lit: input.parse()? }));
    }
    input.parse()
}

/// Parses the elements of a comma-separated list, one by one: an invalid one is reported and left
/// out, and the others are still parsed.
pub(crate) fn each(
    input: ParseStream,
    errors: &mut Errors,
    mut read: impl FnMut(ParseStream, &mut Errors) -> syn::Result<()>,
) {
    while !input.is_empty() {
        if input.peek(Token![,]) {
            errors.push(at_next(input, "there is nothing before this comma: remove it"));
            skip_to_comma(input);
            continue;
        }
        match read(input, errors) {
            Ok(()) => after_option(input, errors),
            Err(error) => {
                errors.push(error);
                skip_to_comma(input);
            }
        }
    }
}

/// Expects a comma or the end after an option.
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
    } else if let Some(separator) = other_separator(input) {
        errors.at(&separator, format!("`{separator}` is unexpected: write `,`"));
    } else {
        let found = next.as_ref().map(ToString::to_string).unwrap_or_default();
        let message = format!("`{found}` is unexpected: the option before it ends here");
        errors.at(&next, message);
        skip_to_comma(input);
    }
}

/// Parses what separates alternatives elsewhere.
fn other_separator(input: ParseStream) -> Option<TokenStream> {
    let rest = input.cursor().token_stream().to_string();
    let sign = ["||", "|", "+", ";"].into_iter().find(|sign| rest.starts_with(sign))?;
    sign.chars().map(|_| input.parse::<TokenTree>().ok()).collect()
}

/// The error for an option that occurs a second time.
pub(crate) fn set_twice(first: &Ident, second: &Ident) -> syn::Error {
    // Spans from the first to the second, so that the error shows both.
    let both = quote!(#first #second);
    syn::Error::new_spanned(both, format!("`{second}` is set twice: keep one of them"))
}

/// The message about an unknown `what`, which is none of the `known` words.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    format!("unknown {what} `{word}`{}", instead(meant(word, known), known, ""))
}

/// The error about an unknown `name` of an option before `input`, which `others` or `known` may have.
/// Where neither is near, `all` names the place of the list.
pub(crate) fn unknown_option(
    (what, all): (&str, &str),
    name: &Ident,
    input: ParseStream,
    known: &[&str],
    others: &[ForeignName],
) -> syn::Error {
    let word = name.to_string();
    let meant = settings_meant(&word, &written(input), known, &[others]);
    let instead = instead(meant.first().map(String::as_str), known, all);
    error(name, format!("unknown {what} `{word}`{instead}"))
}

/// The value after an unknown name, as written: after `=` or `:`, or in parentheses.
pub(crate) fn written(input: ParseStream) -> String {
    let mut tokens = up_to_comma(input).into_iter();
    match tokens.next() {
        Some(TokenTree::Punct(punct)) if matches!(punct.as_char(), '=' | ':') => {
            short_text(&tokens.collect::<TokenStream>())
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            short_text(&group.stream())
        }
        _ => String::new(),
    }
}

/// The tokens up to the next comma that is not between the arguments of a closure, without
/// consuming them.
pub(crate) fn up_to_comma(input: ParseStream) -> TokenStream {
    let mut in_arguments = false;
    let tokens = input.cursor().token_stream().into_iter();
    tokens
        .take_while(|token| match token {
            TokenTree::Punct(punct) if punct.as_char() == '|' => {
                in_arguments = !in_arguments;
                true
            }
            TokenTree::Punct(punct) => punct.as_char() != ',' || in_arguments,
            _ => true,
        })
        .collect()
}
