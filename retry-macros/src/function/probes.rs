//! The expressions of a body that move an argument or not, depending on its type: a method may take
//! `self`, and a pattern may bind a part. The compiler decides that again for a copy of the
//! expression, in a closure that is never called: the closure is `FnOnce` if it moves anything.
//!
//! A copy must compile wherever the body does. Only methods are copied that return a type of their
//! own, as `into_bytes` does and `collect` does not, and that are called without arguments.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use crate::tokens::hygiene::quote;
use crate::tokens::search::{is_one_of, is_place, is_punct, is_word};

/// Methods that take `self` in most types that have them.
const METHODS: &str = "build close commit enumerate err finish join ok rev rollback send shutdown \
     unwrap unwrap_err unwrap_or_default expect";

/// Calls `found` with each place in a body that a copy of its expression, the second argument, moves
/// or not. A method of which `takes` is true for the place moves it in any case.
pub(super) fn each(
    tokens: TokenStream,
    takes: &dyn Fn(&Ident, &Ident) -> bool,
    found: &mut dyn FnMut(&[TokenTree], Option<TokenStream>),
) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        match token {
            TokenTree::Group(group) if !is_punct(before, '!') && !is_punct(before, '#') => {
                each(group.stream(), takes, found);
            }
            TokenTree::Ident(word) if word == "let" => bound(&tokens[at..], found),
            TokenTree::Ident(word) if word == "match" => matched(&tokens[at..], found),
            TokenTree::Ident(name) if !is_punct(before, '.') && !is_punct(before, ':') => {
                let Some((place, method, arguments)) = method_call(&tokens[at..]) else { continue };
                if place.len() == 1 && takes(name, method) {
                    found(place, None);
                } else if is_copied(method, arguments) {
                    let call = of(&tokens[at..][..place.len() + 3]);
                    found(place, Some(quote!(let _ = #call;)));
                }
            }
            _ => {}
        }
    }
}

/// The place, the method and its arguments, if the tokens begin with `name.method(…)` or
/// `name.field.method(…)`.
fn method_call(tokens: &[TokenTree]) -> Option<(&[TokenTree], &Ident, &Group)> {
    let mut length = 1;
    loop {
        let [dot, TokenTree::Ident(method), rest @ ..] = &tokens[length..] else { return None };
        match rest.first() {
            _ if !is_punct(Some(dot), '.') => return None,
            Some(TokenTree::Group(arguments))
                if arguments.delimiter() == Delimiter::Parenthesis =>
            {
                return Some((&tokens[..length], method, arguments));
            }
            _ => length += 2,
        }
    }
}

/// Returns whether a call of the method can be repeated word for word elsewhere.
fn is_copied(method: &Ident, arguments: &Group) -> bool {
    (method.to_string().starts_with("into_") || is_one_of(method, METHODS))
        && arguments.stream().into_iter().all(|token| matches!(token, TokenTree::Literal(_)))
}

/// Calls `found` with the place in `let pattern = place`, and with that statement.
fn bound(tokens: &[TokenTree], found: &mut dyn FnMut(&[TokenTree], Option<TokenStream>)) {
    let Some(equals) = tokens.iter().position(|token| is_punct(Some(token), '=')) else { return };
    let (pattern, value) = tokens.split_at(equals + 1);
    let Some(place) = place(value) else { return };
    let (pattern, variable) = (of(pattern), of(place));
    let statement = match value.get(place.len()) {
        Some(TokenTree::Group(_)) => quote!(if #pattern #variable {}),
        end if is_word(end, "else") => quote!(#pattern #variable else { return };),
        end if is_punct(end, ';') => quote!(#pattern #variable;),
        _ => return,
    };
    found(place, Some(statement));
}

/// Calls `found` with the place in `match place { … }`, and with its patterns. A guard may name
/// variables of the body, so it is left out.
fn matched(tokens: &[TokenTree], found: &mut dyn FnMut(&[TokenTree], Option<TokenStream>)) {
    let Some(place) = place(&tokens[1..]) else { return };
    let Some(TokenTree::Group(arms)) = tokens.get(place.len() + 1) else { return };
    let inside: Vec<TokenTree> = arms.stream().into_iter().collect();
    let (mut rest, mut patterns) = (&inside[..], TokenStream::new());
    let is_arrow = |pair: &[TokenTree]| is_punct(pair.first(), '=') && is_punct(pair.get(1), '>');
    while let Some(arrow) = rest.windows(2).position(is_arrow) {
        let pattern = rest[..arrow].split(|token| is_word(Some(token), "if")).next();
        let pattern = of(pattern.unwrap_or_default());
        patterns.extend(quote!(#pattern => {}));
        rest = &rest[arrow + 2..];
        let is_block = matches!(rest.first(), Some(TokenTree::Group(block))
            if block.delimiter() == Delimiter::Brace);
        let comma = rest.iter().position(|token| is_punct(Some(token), ','));
        rest = match comma {
            _ if is_block && !is_punct(rest.get(1), ',') => &rest[1..],
            Some(comma) => &rest[comma + 1..],
            None => &[],
        };
    }
    let variable = of(place);
    found(place, Some(quote!(match #variable { #patterns })));
}

/// The place with which these tokens begin, before a statement's end or a block.
fn place(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    let end = tokens.iter().position(|token| {
        matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
            || is_punct(Some(token), ';')
            || is_word(Some(token), "else")
    })?;
    is_place(&tokens[..end]).then_some(&tokens[..end])
}

fn of(tokens: &[TokenTree]) -> TokenStream {
    tokens.iter().cloned().collect()
}
