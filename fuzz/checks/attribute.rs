//! Properties that hold for any text as the options of `#[retry( … )]` and `policy!( … )`.
//!
//! The fuzzer looks for a text that violates one, and `cargo test` checks the texts that the fuzzer
//! has kept.

use proc_macro2::{TokenStream, TokenTree};

use crate::args::{Args, Syntax};
use crate::expand;
use crate::tokens::errors::Errors;
use crate::value::runtime::Scope;

/// The function under the attribute. A line of dashes in the text, followed by another item,
/// replaces it.
const FUNCTION: &str = "async fn f<T: Clone>(&self, mut body: Vec<T>, (a, b): (u8, u8)) -> Result<T, RetryError<E>> { g(body).await? }";

/// Deeper than anyone nests brackets. A compiler rejects deeper ones before a macro sees them, and
/// the parsers of proc-macro2 and syn would run out of stack.
const DEEPEST: usize = 24;
const LONGEST: usize = 1024;

/// # Panics
/// If a property is violated.
pub(crate) fn check(text: &str) {
    let (options, item) = text.split_once("\n---\n").unwrap_or((text, FUNCTION));
    if text.len() > LONGEST {
        return;
    }
    let (Ok(options), Ok(tokens)) = (options.parse(), item.parse::<TokenStream>()) else { return };
    if depth(&options) > DEEPEST || depth(&tokens) > DEEPEST {
        return;
    }

    let function = expand::retry(TokenStream::clone(&options), &tokens);
    let block = expand::policy::policy(options.clone());
    // Options are emitted where they were parsed, so the output must parse too.
    if item == FUNCTION {
        parses::<syn::ItemFn>(function, &options);
    }
    parses::<syn::Expr>(block, &options);

    let mut errors = Errors::new();
    let args = Args::parse(options.clone(), Syntax::Attribute, &mut Scope::default(), &mut errors);
    let checked = args.check(&mut errors);
    if let (true, Some(policy)) = (errors.is_empty(), checked.known) {
        assert!(policy.validate().is_ok(), "`{options}` is taken: {policy:?}");
    }
    // Marks the errors as reported.
    let _ = errors.into_tokens();
}

fn parses<T: syn::parse::Parse>(tokens: TokenStream, options: &TokenStream) {
    let text = tokens.to_string();
    if let Err(error) = syn::parse2::<T>(tokens) {
        panic!("`{options}` is expanded to what does not parse: {error}\n{text}");
    }
}

fn depth(tokens: &TokenStream) -> usize {
    let inside = |token| match token {
        TokenTree::Group(group) => 1 + depth(&group.stream()),
        _ => 0,
    };
    tokens.clone().into_iter().map(inside).max().unwrap_or_default()
}
