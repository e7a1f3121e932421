//! The body that `#[instrument]` leaves above `#[retry]`: it moves what the body mentions into a
//! future, which each attempt creates again.
//!
//! ```text
//! let __tracing_instrument_future = async move { body };
//! ```

use proc_macro2::{Group, Ident, TokenStream, TokenTree};

use crate::tokens::search::{is_punct, is_word};

/// Returns which of these arguments the first attempt moves, as the body names them.
pub(crate) fn moved(body: &Group, arguments: &[&Ident]) -> Vec<Ident> {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    if !tokens.iter().any(|token| is_word(Some(token), "__tracing_instrument_future")) {
        return Vec::new();
    }
    let futures = tokens.windows(3).filter_map(|three| match three {
        [first, second, TokenTree::Group(future)]
            if is_word(Some(first), "async") && is_word(Some(second), "move") =>
        {
            Some(future.stream())
        }
        _ => None,
    });
    let inside: TokenStream = futures.collect();
    arguments.iter().filter_map(|argument| first_use(inside.clone(), argument)).collect()
}

/// The first use of the variable.
fn first_use(tokens: TokenStream, variable: &Ident) -> Option<Ident> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    (0..tokens.len()).find_map(|at| match &tokens[at] {
        TokenTree::Group(group) => first_use(group.stream(), variable),
        TokenTree::Ident(ident) if ident == variable => {
            let is_member = at > 0 && is_punct(tokens.get(at - 1), '.');
            let is_label = is_punct(tokens.get(at + 1), ':');
            (!is_member && !is_label).then(|| ident.clone())
        }
        _ => None,
    })
}
