//! The values that an attempt certainly moves, judging by its tokens, so that the next attempt has
//! none: a value passed to a function, put into a struct, iterated over, awaited, or moved into a
//! future. The compiler's own error about a moved value reports the others.
//!
//! This is for the arguments of a function: a check inside of `retrying!` would change how its
//! future captures the variables around it. A body is not parsed. A name that the body may bind
//! again is left to the borrow checker.

use std::slice;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use crate::tokens::search::{any_token, is_one_of, is_place, is_punct, is_word, mentions};

/// Calls `found` with each variable that `may_move` accepts, as a whole or as one of its fields, and
/// the `body` moves, as the body writes it: `name`, or `name.field`.
pub(crate) fn consumed(
    body: &TokenStream,
    may_move: &dyn Fn(&Ident, bool) -> bool,
    found: &mut dyn FnMut(TokenStream),
) {
    // Inner items have names of their own.
    const OTHER: [&str; 3] = ["fn", "use", "macro_rules"];
    if mentions(body.clone(), &|word| OTHER.contains(&word)) {
        return;
    }
    let mut seen = Vec::new();
    let mut found = |place: &[TokenTree]| {
        let TokenTree::Ident(variable) = &place[0] else { return };
        let word = variable.to_string();
        if may_move(variable, place.len() == 1)
            && !seen.contains(&word)
            && !binds(body.clone(), &word)
        {
            seen.push(word);
            found(place.iter().cloned().collect());
        }
    };
    each(body.clone(), &mut found);
}

/// Calls `found` with each place that is moved as a whole.
fn each(tokens: TokenStream, found: &mut dyn FnMut(&[TokenTree])) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        // `receiver.await`, `receiver.into()`
        if let [before @ .., name @ TokenTree::Ident(_)] = &tokens[..at] {
            let method = tokens.get(at + 1).filter(|_| is_punct(Some(token), '.'));
            let is_consumed =
                matches!(method, Some(TokenTree::Ident(name)) if is_one_of(name, CONSUMING));
            let is_member = [':', '.'].iter().any(|mark| is_punct(before.last(), *mark));
            if is_consumed && !is_member {
                found(slice::from_ref(name));
            }
        }
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let TokenTree::Group(group) = token else { continue };
        let is_opaque = is_punct(before, '!') || is_punct(before, '#');
        match group.delimiter() {
            Delimiter::Parenthesis if calls(before) => passed(group, found),
            Delimiter::Brace if is_word(before, "move") => captured(group.stream(), found),
            Delimiter::Brace if begins_with_a_capital(before) => passed(group, found),
            // `for item in items { … }`
            Delimiter::Brace if at > 1 && is_word(tokens.get(at - 2), "in") => {
                found(slice::from_ref(&tokens[at - 1]));
            }
            _ => {}
        }
        if !is_opaque {
            each(group.stream(), found);
        }
    }
}

/// Calls `found` with each place among these arguments, or fields of a struct, or that is the value
/// of this block.
fn passed(group: &Group, found: &mut dyn FnMut(&[TokenTree])) {
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    for item in inside.split(|token| is_punct(Some(token), ',')) {
        let value = match item {
            [TokenTree::Ident(_), colon, value @ ..] if is_punct(Some(colon), ':') => value,
            value => value,
        };
        if is_place(value) {
            found(value);
        }
    }
}

/// Returns whether this is the name of a type.
fn begins_with_a_capital(before: Option<&TokenTree>) -> bool {
    matches!(before, Some(TokenTree::Ident(name)) if name.to_string().starts_with(char::is_uppercase))
}

/// Words after a variable and a dot that move it.
const CONSUMING: &str = "await into into_bytes into_inner into_boxed_str into_boxed_slice";

/// Words after which a group is not a list of arguments.
const KEYWORDS: &str = "as await break else if in let match move return while";

/// Returns whether a parenthesis after this token contains the arguments of a function, or the
/// fields of a tuple struct. One that is a pattern binds its names.
fn calls(before: Option<&TokenTree>) -> bool {
    matches!(before, Some(TokenTree::Ident(name)) if !is_one_of(name, KEYWORDS))
}

/// Calls `found` with each name inside that may be a captured variable. Of `name.field`, only the
/// field would be moved.
fn captured(tokens: TokenStream, found: &mut dyn FnMut(&[TokenTree])) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => captured(group.stream(), found),
            TokenTree::Ident(_) => {
                let is_member =
                    at > 0 && ['.', ':'].iter().any(|mark| is_punct(tokens.get(at - 1), *mark));
                let has_member = is_punct(tokens.get(at + 1), '.')
                    && !matches!(tokens.get(at + 3), Some(TokenTree::Group(_)));
                // `Job { name: … }`, `path::…`, `info!(name = …)`, `name = …`
                let is_label = is_punct(tokens.get(at + 1), ':')
                    || is_punct(tokens.get(at + 1), '=')
                        && !['=', '>'].iter().any(|mark| is_punct(tokens.get(at + 2), *mark));
                let is_macro = is_punct(tokens.get(at + 1), '!');
                if !(is_member || has_member || is_label || is_macro) {
                    found(slice::from_ref(token));
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Macros that bind no names.
const MACROS: &str = "anyhow assert assert_eq bail debug debug_assert ensure eprintln error format \
     info panic println span trace unreachable vec warn write writeln dbg";

/// Returns whether a pattern or a macro in the body may bind the name.
pub(crate) fn binds(tokens: TokenStream, name: &str) -> bool {
    let is_name = |word: &str| word == name;
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let named = |part: &[TokenTree]| mentions(part.iter().cloned().collect(), &is_name);
    let until = |at: usize, is_end: &dyn Fn(&TokenTree) -> bool| {
        let rest = &tokens[at + 1..];
        named(&rest[..rest.iter().position(is_end).unwrap_or(rest.len())])
    };
    (0..tokens.len()).any(|at| match &tokens[at] {
        TokenTree::Ident(word) if word == "let" => {
            until(at, &|end| is_punct(Some(end), '=') || is_punct(Some(end), ';'))
        }
        TokenTree::Ident(word) if word == "for" => until(at, &|end| is_word(Some(end), "in")),
        // The first bar of a closure.
        TokenTree::Punct(bar) if bar.as_char() == '|' => {
            let bars = tokens[..at].iter().filter(|token| is_punct(Some(token), '|'));
            bars.count() % 2 == 0 && until(at, &|end| is_punct(Some(end), '|'))
        }
        // An arm of a `match`: from the arm before it.
        TokenTree::Punct(equals)
            if equals.as_char() == '=' && is_punct(tokens.get(at + 1), '>') =>
        {
            let is_end = |end: usize| {
                is_punct(tokens.get(end), ',')
                    || end > 1
                        && matches!(tokens.get(end), Some(TokenTree::Group(_)))
                        && is_punct(tokens.get(end - 1), '>')
                        && is_punct(tokens.get(end - 2), '=')
            };
            named(&tokens[(0..at).rev().find(|end| is_end(*end)).unwrap_or(0)..at])
        }
        TokenTree::Group(group) => {
            let is_macro = at > 1
                && is_punct(tokens.get(at - 1), '!')
                && !matches!(&tokens[at - 2], TokenTree::Ident(name) if is_one_of(name, MACROS));
            let is_written = |inside: &[TokenTree], at: usize| is_word(inside.get(at), name);
            is_macro && any_token(group.stream(), &is_written) || binds(group.stream(), name)
        }
        _ => false,
    })
}
