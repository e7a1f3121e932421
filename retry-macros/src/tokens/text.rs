//! Tokens in messages.

use quote::ToTokens;

/// [`token_text`] in a message, which a long text would hide: `…` in place of one.
pub(crate) fn short_text(tokens: &impl ToTokens) -> String {
    let text = token_text(tokens);
    if text.len() > 100 || text.contains('\n') { "…".to_owned() } else { text }
}

/// Tokens as a person would write them, without the spaces that `to_string` inserts.
pub(crate) fn token_text(tokens: &impl ToTokens) -> String {
    let joined = tokens
        .to_token_stream()
        .to_string()
        .replace(" :: ", "::")
        .replace(" . ", ".")
        .replace("& ", "&")
        .replace("! ", "!")
        // A turbofish.
        .replace("::< ", "::<")
        .replace(" > ()", ">()")
        .replace("__self", "self");
    // The arguments of a closure.
    match joined.strip_prefix("| ").and_then(|rest| rest.split_once(" |")) {
        Some((arguments, body)) => format!("|{}|{body}", arguments.replace(" : ", ": ")),
        None => joined,
    }
}
