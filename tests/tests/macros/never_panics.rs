//! The expansion never panics, whatever tokens it is given: a mistake in an option produces a
//! message, never "custom attribute panicked".

use crate::macros::*;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use retry_rules::options::{BREAKER, Setting};

/// Fragments that a person might write next to the options and the breaker settings, valid and
/// invalid, in any order.
const SOUP: &[&str] = &[
    "retries",
    "atempts",
    "unlimited",
    "fixed",
    "linear",
    "exponential",
    "fibonacci",
    "custom",
    "base",
    "increment",
    "full",
    "equal",
    "decorrelated",
    "up",
    "none",
    "network",
    "server_error",
    "rate_limit",
    "conflict",
    "transient",
    "pattern",
    "matches",
    "when",
    "ok",
    "stop",
    "continue",
    "fallback",
    "self",
    "Self",
    "true",
    "false",
    "_",
    "r#fn",
    "HTTP",
    "if",
    "|",
    "||",
    "=>",
    "..",
    "::",
    "&",
    "-",
    "!",
    "#",
    "$",
    "'a",
    "=",
    "=",
    "=",
    "=",
    ",",
    ",",
    ",",
    ",",
    ",",
    ";",
    "0",
    "1",
    "5",
    "-1",
    "4294967296",
    "340282366920938463463374607431768211456",
    "1.0",
    "2.5",
    "1e400",
    "0.3f32",
    "5u8",
    "0x10",
    "\"\"",
    "\"1s\"",
    "\"5 parsecs\"",
    "\"-5s\"",
    "\"18446744073709551615s 1000000000ns\"",
    "\"99999999999999999999y\"",
    "\"(?i)locked (\"",
    "\"\\u{0}\"",
    "b\"bytes\"",
    "c\"c\"",
    "'c'",
    "r#\"raw\"#",
];

/// Whole options as a person would write them.
const OPTIONS: &[&str] = &[
    "attempts = 5",
    "attempts = 0",
    "attempts = unlimited",
    "attempts = N + 1",
    "attempts = -N",
    "backoff = exponential(base = 2.0)",
    "backoff = exponential(base = f64::NAN)",
    "backoff = linear",
    "backoff = linear(increment = \"0s\")",
    "backoff = custom(\"1s\", \"2s\", WAIT)",
    "backoff = custom()",
    "backoff = custom(\"1s\" \"2s\")",
    "backoff = fixed(\"1s\")",
    "initial_delay = \"1s\"",
    "initial_delay = \"60s\"",
    "initial_delay = \"584542046090y\"",
    "max_delay = 30",
    "max_delay = WAIT",
    "jitter",
    "jitter = 0.25",
    "jitter = decorrelated",
    "jitter = up(0.3)",
    "jitter = \"0ms..250ms\"",
    "jitter(0.5)",
    "jitter = 1e308",
    "jitter = 2e308",
    "backoff = exponential(base = -1e400)",
    "budget = \"1ms\"",
    "deadline = \"30s\"",
    "timeout = \"2s\"",
    "retry_on = [network, timeout]",
    "retry_on = network",
    "retry_on = []",
    "retry_on = [pattern(\"(\"), DbError::Busy(_)]",
    "retry_on = [ok(|v| *v == 0)]",
    "abort_on = [matches(A | B if x), when(f)]",
    "classify = kind_of",
    "retry_after = |e| e.wait()",
    "wait_by = |n, e, d| e.wait(n, d)",
    "breaker = DB",
    "breaker(failure_rate = 0.5, window_calls = 0)",
    "breaker(slow_call = \"2s\")",
    "breaker()",
    "quota = OUTBOUND",
    "quota(5)",
    "on_failure = continue",
    "on_failure = fallback(|_| 5)",
    "on_failure = fallback()",
    "on_retry = |event| log(event)",
    "history = 5",
    "history = 0",
    "history = MANY",
    "log = info",
    "log = loud",
    "policy = HTTP",
    "name = \"x\"",
    "clone(body, id)",
    "clone(self)",
    "clone()",
    "context = cx",
    "nested = once",
    "docs = false",
    "crate = again",
];

const ITEMS: &[&str] = &[
    "async fn f(&mut self, mut body: Vec<u8>, (a, b): (u8, u8)) -> Result<u8, E> { Ok(a) }",
    "pub(crate) fn f<'a, T: Clone, const N: u32>(body: &'a T, id: [u8; N]) -> Option<&'a T> { body. }",
    "fn f(body: u8) -> Result<impl Iterator<Item = u8>, RetryError<E>> { }",
    "fn f<'a>(&'a self, body: u8) -> Pin<Box<dyn Future<Output = Result<u8, E>> + 'a>> { \
        Box::pin(async move { let __self = self; let mut body = body; let __ret: Result<u8, E> = { __self.g(body) }; __ret }) }",
    "fn f() -> Pin<Box<dyn Future<Output = Result<u8, E>>>> { Box::pin(async) }",
    "fn f() -> Pin<Box<dyn Future<Output = ()>>> { }",
    "fn f() -> impl Future<Output = Result<u8, E>> { async { Ok(5) } }",
    "async fn f(self: Box<Self>, S { x, .. }: S, _: u8, ref y: u8, ...) { }",
    "const unsafe extern \"C\" fn r#fn(r#type: u8) -> Result { }",
    "async fn f() -> Result<u8, E>;",
    "#[doc = \"x\"] struct S { x: u8 }",
    "impl S { fn f() { } }",
    "trait T { }",
    "let x = 5;",
    "async { Ok(5) }",
    "async move |cx| -> Result<u8, RetryError<E>> { f(cx).await?; Ok(5) },",
    "|| -> Option<u8> { return None; }",
    "move |cx| f(cx),",
    "async |a, b: u8| {}",
    "async",
    "|",
    "async fn f() ->",
    "fn",
    "",
];

fn expand(args: TokenStream, item: TokenStream) {
    expand_options(args.clone());
    expand_on(args, item);
}

/// Options that need no item.
fn expand_options(args: TokenStream) {
    let _ = expand::policy::policy(args);
}

fn expand_on(args: TokenStream, item: TokenStream) {
    let _ = expand::retry(args.clone(), &item);
    // The item as the attempt of a block.
    let block: TokenStream = [args, tokens(","), item].into_iter().collect();
    let (options, attempt) = function::block::split(block);
    let _ = expand::retrying(options, attempt);
}

fn tokens(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// One fragment, or several in brackets of any kind, including the invisible ones of macros.
fn soup() -> impl Strategy<Value = TokenStream> {
    let options = args::Syntax::Attribute.options().into_iter();
    let settings = BREAKER.iter().map(Setting::name);
    let words: Vec<&str> = SOUP.iter().copied().chain(options).chain(settings).collect();
    let piece = prop_oneof![select(words), select(OPTIONS)].prop_map(tokens);
    piece.prop_recursive(3, 24, 6, |inside| {
        let delimiter = select(&[
            Delimiter::Parenthesis,
            Delimiter::Bracket,
            Delimiter::Brace,
            Delimiter::None,
        ]);
        (delimiter, vec(inside, 0..6)).prop_map(|(delimiter, inside)| {
            TokenTree::Group(Group::new(delimiter, inside.into_iter().collect())).into()
        })
    })
}

fn joined(separator: &'static str) -> impl Fn(Vec<&'static str>) -> TokenStream {
    move |pieces| tokens(&pieces.join(separator))
}

/// As many cases as can be run in a second or two.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 1200, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn on_options_that_do_not_go_together(
        args in vec(select(OPTIONS), 0..7).prop_map(joined(", ")),
        item in select(ITEMS),
    ) {
        expand(args, tokens(item));
    }

    #[test]
    fn on_invalid_options(args in vec(soup(), 0..16), item in select(ITEMS)) {
        expand(args.into_iter().collect(), tokens(item));
    }

    #[test]
    fn on_items_other_than_functions(
        args in vec(select(OPTIONS), 0..3).prop_map(joined(", ")),
        item in vec(prop_oneof![soup(), select(ITEMS).prop_map(tokens)], 0..12),
    ) {
        expand(args, item.into_iter().collect());
    }

    #[test]
    fn on_functions_that_are_half_typed(
        args in vec(select(OPTIONS), 0..3).prop_map(joined(", ")),
        item in select(ITEMS),
        kept in 0_usize..40,
        broken in soup(),
    ) {
        // The first tokens of a function, followed by something else.
        let mut item: TokenStream = tokens(item).into_iter().take(kept).collect();
        item.extend(broken);
        expand(args, item);
    }

    #[test]
    fn on_any_text(args in "\\PC{0,40}", item in "\\PC{0,40}") {
        if let (Ok(args), Ok(item)) = (args.parse(), item.parse()) {
            expand(args, item);
        }
    }
}

#[test]
fn on_every_option_alone_and_every_pair() {
    let items: Vec<_> = ITEMS.iter().copied().map(tokens).collect();
    for first in OPTIONS.iter().copied().map(tokens) {
        expand_options(first.clone());
        for item in &items {
            expand_on(first.clone(), item.clone());
        }
    }
    let item = tokens(ITEMS[0]);
    let no_function = tokens("let x = 5;");
    for (at, first) in OPTIONS.iter().enumerate() {
        for second in &OPTIONS[..=at] {
            expand(tokens(&format!("{first}, {second}")), item.clone());
            // The other way round they are read again; what is written of them knows no order.
            expand_on(tokens(&format!("{second}, {first}")), no_function.clone());
        }
        // Without the comma: which option it is that should not be there yet makes no difference.
        for second in ["attempts = 5", "jitter", "breaker()", "clone(self)"] {
            expand(tokens(&format!("{first} {second}")), item.clone());
        }
    }
}

#[test]
fn a_derive_never_panics() {
    let words = [
        "",
        "network",
        "conflict",
        "never",
        "text",
        "transparent",
        "transparent = 0",
        "status = 0",
        "status = 503",
        "status",
        "with = Self::f",
        "with = 7",
        "retry_after = wait",
        "crate = a::b",
        "crate",
        "transparent = 99999999999999999999",
        "a b",
        "= =",
        "\"timeout\"",
        "r#type",
        "transient",
        "network(1)",
        "retry_after = -1",
        "status = 1u8",
    ];
    let shapes = [
        "#[classify(@)] enum E { A, B(u16), C { wait: u8, r#type: T } }",
        "#[classify(#)] enum E { #[classify(@)] A(#[from] u8, u8), #[error(transparent)] B() }",
        "#[classify(@, #)] struct S<T: Copy, 'a, const N: usize>(T, &'a [u8; N]) where T: Sized;",
        "#[classify(@)] #[classify(#)] struct S { source: u8 }",
        "#[classify = \"@\"] struct S;",
        "enum E {}",
        "union U { a: u8 }",
        "fn f() {}",
        "",
    ];
    // If a shape has one place for a word, or none, all others would be the same again.
    let places = |shape: &str, place: &str| if shape.contains(place) { words.len() } else { 1 };
    for shape in shapes {
        for first in &words[..places(shape, "@")] {
            for second in &words[..places(shape, "#)")] {
                let item = shape.replace('@', first).replace('#', "\u{1}");
                let item = item.replace("\u{1}[", "#[").replace('\u{1}', second);
                if let Ok(item) = item.parse::<proc_macro2::TokenStream>() {
                    assert!(!crate::classify::derive(item.clone()).is_empty() || item.is_empty());
                }
            }
        }
    }
}
