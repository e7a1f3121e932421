//! What holds for any text as the options of `#[retry( … )]` and `policy!( … )`.
//!
//! The fuzzer looks for a text for which it does not hold, and `cargo test` tries
//! those that the fuzzer has kept.

use proc_macro2::{TokenStream, TokenTree};

use crate::args::{Args, Syntax};
use crate::errors::Errors;
use crate::run_time::Scope;
use crate::{expand, ide, policy};

/// The function that the options stand on. A line of dashes in the text, and what
/// follows it takes the place of this.
const FUNCTION: &str = "async fn f<T: Clone>(&self, mut body: Vec<T>, (a, b): (u8, u8)) -> Result<T, RetryError<E>> { g(body).await? }";

/// Deeper brackets than anybody writes. A compiler refuses them before a macro
/// sees them; the parsers of proc-macro2 and syn run out of stack.
const DEEPEST: usize = 24;
const LONGEST: usize = 1024;

/// # Panics
/// It does not hold.
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
    let block = policy::policy(options.clone());
    let hints = ide::imports(&options);
    // Options are printed where they were parsed, so what is written parses, too.
    if item == FUNCTION {
        parses::<syn::ItemFn>(function, &options);
    }
    parses::<syn::Expr>(block, &options);
    parses::<syn::Item>(hints, &options);

    let mut errors = Errors::new();
    let args = Args::parse(options.clone(), Syntax::Attribute, &Scope::default(), &mut errors);
    let checked = args.check(&mut errors);
    if let (true, Some(policy)) = (errors.is_empty(), checked.known) {
        assert!(policy.validate().is_ok(), "`{options}` is taken: {policy:?}");
    }
    // The mistakes have been looked at.
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
