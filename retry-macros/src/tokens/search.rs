//! Questions about tokens.

use proc_macro2::{Ident, TokenStream, TokenTree};

/// Returns whether this is the punctuation `char`.
pub(crate) fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

/// Returns whether this is the identifier or keyword `word`.
pub(crate) fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

/// Returns whether the identifier is one of the `words`, which are separated by spaces.
pub(crate) fn is_one_of(ident: &Ident, words: &str) -> bool {
    words.split(' ').any(|word| ident == word)
}

/// Returns whether the tokens are just the name of a constant, such as `MAX_RETRIES`.
pub(crate) fn is_constant(tokens: TokenStream) -> bool {
    let mut tokens = tokens.into_iter();
    let (Some(TokenTree::Ident(name)), None) = (tokens.next(), tokens.next()) else { return false };
    name.to_string().chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Returns whether these tokens are `name` or `name.field`.
pub(crate) fn is_place(tokens: &[TokenTree]) -> bool {
    tokens.len() % 2 == 1
        && tokens.iter().enumerate().all(|(at, token)| match token {
            TokenTree::Ident(name) => at % 2 == 0 && name != "await",
            TokenTree::Literal(_) => at % 2 == 0 && at > 0,
            TokenTree::Punct(dot) => at % 2 == 1 && dot.as_char() == '.',
            TokenTree::Group(_) => false,
        })
}

/// Returns whether a token `is` wanted, in a group or outside. It is passed as a place in the list
/// of its neighbours.
pub(crate) fn any_token(tokens: TokenStream, is: &dyn Fn(&[TokenTree], usize) -> bool) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    (0..tokens.len()).any(|at| match &tokens[at] {
        TokenTree::Group(group) => any_token(group.stream(), is),
        _ => is(&tokens, at),
    })
}

/// Returns whether an identifier that `is_wanted` occurs anywhere in `tokens`, including as
/// `{identifier}` in a string, where a formatting macro would find it.
pub(crate) fn mentions(tokens: TokenStream, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    any_token(tokens, &|tokens, at| match &tokens[at] {
        TokenTree::Ident(ident) => is_wanted(&ident.to_string()),
        TokenTree::Literal(literal) => literal.to_string().split('{').skip(1).any(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            is_wanted(&rest[..end.unwrap_or(rest.len())])
        }),
        _ => false,
    })
}

/// Finds the identifier `name` in `tokens`, with the hygiene that it has there.
pub(crate) fn find(tokens: TokenStream, name: &str) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == name => Some(ident),
        TokenTree::Group(group) => find(group.stream(), name),
        _ => None,
    })
}
