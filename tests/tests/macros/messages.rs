//! The messages of the macro.

use proc_macro2::{TokenStream, TokenTree};

use crate::macros::*;

/// The texts of the errors in an expansion.
fn errors(tokens: TokenStream) -> Vec<String> {
    let (mut errors, mut is_error) = (Vec::new(), false);
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => is_error = ident == "compile_error",
            TokenTree::Group(group) => match syn::parse2::<syn::LitStr>(group.stream()) {
                Ok(message) if is_error => errors.push(message.value()),
                _ => errors.extend(self::errors(group.stream())),
            },
            _ => {}
        }
    }
    errors
}

#[test]
fn a_message_shows_no_more_than_the_beginning_of_a_value() {
    let long = "ä".repeat(2_000);
    // Each `@` stands for a long word.
    for options in [
        "@",
        "@ = 3",
        "attempts = \"@\"",
        "attempts = \"5@\"",
        "initial_delay = \"@\"",
        "timeout = \"5@\"",
        "backoff = @",
        "backoff = linear(@ = 1)",
        "backoff = custom(\"@\")",
        "jitter = \"@\"",
        "retry_on = [@]",
        "retry_on = [\"@\"]",
        "retry_on = [not(@)]",
        "retry_on = [pattern(\"(@\")]",
        "retry_on = network | @",
        "uncounted = [@]",
        "breaker(@ = 1)",
        "breaker(timeout = \"@\")",
        "when_open = @",
        "hedge(@ = 1)",
        "hedge = \"@\"",
        "log = @",
        "log_retries = \"@\"",
        "clone(@)",
        "nested = @",
        "on_failure = @",
        "history = \"@\"",
    ] {
        let written = options.replace('@', &long).parse().unwrap();
        let item = "async fn fetch() -> Result<(), String> { Ok(()) }".parse().unwrap();
        let errors = errors(expand::retry(written, &item));
        assert!(!errors.is_empty(), "no mistake in {options}");
        for error in errors {
            let shown = error.matches('ä').count();
            assert!(shown <= 900, "{options}: {shown}: {error:.300}");
        }
    }
}
