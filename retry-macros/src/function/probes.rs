//! The expressions of a body that move an argument or not, depending on its type: a method may take
//! `self`, and a pattern may bind a part. The compiler decides that again for a copy of the
//! expression, in a closure that is never called: the closure is `FnOnce` if it moves anything.
//!
//! A copy must compile wherever the body does. Only methods are copied that return a type of their
//! own, as `into_bytes` does and `collect` does not, and that are called without arguments.

use std::slice;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use crate::tokens::hygiene::quote;
use crate::tokens::search::{is_punct, is_word};

/// Methods that take `self` in most types that have them.
const METHODS: [&str; 16] = [
    "build",
    "close",
    "commit",
    "enumerate",
    "err",
    "finish",
    "join",
    "ok",
    "rev",
    "rollback",
    "send",
    "shutdown",
    "unwrap",
    "unwrap_err",
    "unwrap_or_default",
    "expect",
];

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
            TokenTree::Ident(name) if !is_punct(before, '.') && !is_punct(before, ':') => {
                let Some((place, method, arguments)) = method_call(&tokens[at..]) else { continue };
                if place.len() == 1 && takes(name, method) {
                    found(place, None);
                } else if is_copied(method, arguments) {
                    let call: TokenStream =
                        tokens[at..][..place.len() + 3].iter().cloned().collect();
                    found(place, Some(quote!(let _ = #call;)));
                }
            }
            _ => {}
        }
    }
}

/// The place, the method and its arguments, if the tokens begin with `name.method(…)` or
/// `self.field.method(…)`.
fn method_call(tokens: &[TokenTree]) -> Option<(&[TokenTree], &Ident, &Group)> {
    let is_self = ["self", "__self"].iter().any(|this| is_word(tokens.first(), this));
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
            _ if is_self => length += 2,
            _ => return None,
        }
    }
}

/// Returns whether a call of the method can be repeated word for word elsewhere.
fn is_copied(method: &Ident, arguments: &Group) -> bool {
    let method = method.to_string();
    (method.starts_with("into_") || METHODS.contains(&&*method))
        && arguments.stream().into_iter().all(|token| matches!(token, TokenTree::Literal(_)))
}

/// Calls `found` with the variable in `let pattern = variable`, and with that statement.
fn bound(tokens: &[TokenTree], found: &mut dyn FnMut(&[TokenTree], Option<TokenStream>)) {
    let Some(equals) = tokens.iter().position(|token| is_punct(Some(token), '=')) else { return };
    let [pattern @ .., variable @ TokenTree::Ident(_)] = &tokens[..tokens.len().min(equals + 2)]
    else {
        return;
    };
    let pattern: TokenStream = pattern.iter().cloned().collect();
    let statement = match tokens.get(equals + 2) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            quote!(if #pattern #variable {})
        }
        end if is_word(end, "else") => quote!(#pattern #variable else { return };),
        end if is_punct(end, ';') => quote!(#pattern #variable;),
        _ => return,
    };
    found(slice::from_ref(variable), Some(statement));
}
