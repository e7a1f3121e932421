//! Without the feature `testing`, an expansion contains nothing for it: not one token that an
//! attempt would pay for.
//!
//! This program's own feature of that name is on only on request.

use crate::macros::*;
use proc_macro2::TokenStream;

/// The name, in `retry-runtime/src/private.rs`, of what only tests need.
const OF_TESTS: &str = "inject";

fn expansions() -> impl Iterator<Item = String> {
    let options = "breaker(failure_threshold = 5), quota = OUTBOUND";
    let functions = [
        "async fn f(id: u64) -> Result<u64, Error> { get(id).await }",
        "fn f(id: u64) -> Option<u64> { get(id) }",
        "fn f(text: &str) -> Result<u64, Error<'_>> { get(text) }",
        "fn f(&self) -> Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + '_>> \
         { Box::pin(async move { let __ret: Result<u64, Error> = { get().await }; __ret }) }",
    ];
    functions.into_iter().map(move |function| {
        let tokens = |text: &str| text.parse::<TokenStream>().expect("tokens");
        expand::retry(tokens(options), &tokens(function)).to_string()
    })
}

#[test]
fn an_expansion_has_it_with_the_feature_and_only_with_it() {
    for expansion in expansions() {
        assert_eq!(expansion.contains(OF_TESTS), cfg!(feature = "testing"), "{expansion}");
        // The runtime decides: in another part of the build, it may be compiled without the
        // feature.
        let first = expansion.find(OF_TESTS).map_or("", |at| &expansion[..at]);
        assert_eq!(first.contains("for_tests"), cfg!(feature = "testing"), "{expansion}");
    }
}
