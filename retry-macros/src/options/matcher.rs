//! The entries of `retry_on = […]` and `abort_on = […]`.

use proc_macro2::{TokenStream, TokenTree};
use retry_rules::matchers::{CLASSES, covered, left_out, of_status};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Expr, ExprCall, ExprLit, Ident, Lit, LitInt, LitStr, Pat, Path, Token, token};

use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, meant, skip_to_comma, up_to_comma};
use crate::tokens::text::token_text;

/// One entry.
#[derive(Clone)]
pub(crate) enum Matcher {
    /// `network`, `connect`, `timeout`, `server_error`, `rate_limit`, `conflict`; `transient` is
    /// all of them.
    Class(Ident),
    /// `pattern("…")`: a regular expression over the error's text.
    Pattern(LitStr),
    /// `matches(Pattern if guard)`.
    Matches { pattern: Pat, guard: Option<Expr> },
    /// `when(f)`, with `f: Fn(&E) -> bool`.
    When(Expr),
    /// `ok(f)`, with `f: Fn(&T) -> bool`.
    Ok(Expr),
}

impl Matcher {
    /// The pattern of `matches(io::ErrorKind::TimedOut)`, and what to write instead.
    pub(crate) fn kind_as_pattern(&self) -> Option<(&Pat, String)> {
        let Self::Matches { pattern, guard: None } = self else { return None };
        let (first, is_one) = match pattern {
            Pat::Or(cases) => (cases.cases.first()?, false),
            pattern => (pattern, true),
        };
        let Pat::Path(path) = first else { return None };
        let segments: Vec<_> = path.path.segments.iter().map(|it| it.ident.to_string()).collect();
        let [.., module, kind, last] = &segments[..] else { return None };
        if module != "io" || kind != "ErrorKind" {
            return None;
        }
        let written = token_text(pattern);
        let instead = if is_one {
            compare_kind(&written, last)
        } else {
            format!(
                "to compare the kind of an `io::Error`, write `when(|error| \
                 matches!(error.kind(), {written}))`"
            )
        };
        Some((pattern, format!("`matches(…)` compares the error itself: {instead}")))
    }
}

/// The matchers that take an argument.
const WITH_ARGUMENT: [&str; 4] = ["pattern", "matches", "when", "ok"];

/// The names of all matchers.
pub(crate) fn names() -> Vec<&'static str> {
    [&["transient"][..], &CLASSES, &WITH_ARGUMENT].concat()
}

/// Parses the list after `retry_on =` or `abort_on =`; invalid entries are reported and left out.
pub(crate) fn list(
    input: ParseStream,
    option: &Ident,
    errors: &mut Errors,
) -> syn::Result<Vec<Matcher>> {
    if !input.peek(token::Bracket) {
        let rest: TokenStream = until_comma(input);
        let example = match token_text(&rest) {
            written if written.is_empty() => "transient".to_owned(),
            written if is_callable(&rest) => format!("when({written})"),
            written => written,
        };
        return Err(syn::Error::new_spanned(
            if rest.is_empty() { quote::quote!(#option) } else { rest },
            format!("`{option}` takes a list: write `{option} = [{example}]`"),
        ));
    }
    let content;
    let brackets = syn::bracketed!(content in input);
    let mut matchers = Vec::new();
    if content.is_empty() {
        return Err(syn::Error::new(
            brackets.span.join(),
            format!(
                "`{option}` is empty: list at least one matcher, as in `{option} = [transient]`, or \
                 leave it out"
            ),
        ));
    }
    while !content.is_empty() {
        match matcher(&content, option) {
            Ok(matcher) => {
                if let (Matcher::Ok(expr), true) = (&matcher, option == "abort_on") {
                    errors.at(expr, "`ok(…)` selects the values to retry, and a value that is not retried is simply returned: write it in `retry_on`");
                } else if let (Some(name), true) =
                    (class_named(&matcher, "conflict"), option == "breaker_on")
                {
                    errors.at(name, "a conflict never counts against a breaker, because a server that lets one transaction lose works: leave `conflict` out of `breaker_on`");
                } else {
                    matchers.push(matcher);
                }
                if !content.is_empty()
                    && content.parse::<Option<Token![,]>>().is_ok_and(|c| c.is_none())
                {
                    if content.peek(Token![|])
                        || content.peek(Token![||])
                        || content.peek(Token![&&])
                    {
                        errors.push(content.error(
                            "matchers are separated by commas, and one of them is enough: write \
                             `[network, timeout]`",
                        ));
                        return Ok(matchers_of_nothing(&content, matchers));
                    }
                    errors.push(content.error("missing comma before this matcher"));
                    if !content.peek(Ident::peek_any) {
                        skip_to_comma(&content);
                    }
                }
            }
            Err(error) => {
                errors.push(error);
                skip_to_comma(&content);
            }
        }
    }
    let listed = |word: &str| matchers.iter().find_map(|matcher| class_named(matcher, word));
    for pair in covered(|word| listed(word).is_some()) {
        errors.at(listed(pair.inner), pair);
    }
    Ok(matchers)
}

/// The matchers so far, without what follows an error.
fn matchers_of_nothing(rest: ParseStream, matchers: Vec<Matcher>) -> Vec<Matcher> {
    while rest.parse::<TokenTree>().is_ok() {}
    matchers
}

/// The word of this class, if the matcher is it.
fn class_named<'m>(matcher: &'m Matcher, wanted: &str) -> Option<&'m Ident> {
    match matcher {
        Matcher::Class(name) if name == wanted => Some(name),
        _ => None,
    }
}

fn until_comma(input: ParseStream) -> TokenStream {
    let tokens = up_to_comma(input);
    tokens.clone().into_iter().for_each(|_| drop(input.parse::<TokenTree>()));
    tokens
}

fn matcher(input: ParseStream, option: &Ident) -> syn::Result<Matcher> {
    if let Ok(number) = input.fork().parse::<LitInt>() {
        let message = of_a_status(number.base10_parse().unwrap_or_default());
        return Err(syn::Error::new_spanned(until_comma(input), message));
    }
    if input.peek(Token![!]) {
        let ahead = input.fork();
        ahead.parse::<Token![!]>()?;
        let inside = up_to_comma(&ahead);
        let other = if option == "abort_on" { "retry_on" } else { "abort_on" };
        let message = format!(
            "what is left out of a list goes into the other one: write `{other} = [{}]`",
            token_text(&inside)
        );
        return Err(syn::Error::new_spanned(until_comma(input), message));
    }
    if let Ok(text) = input.fork().parse::<LitStr>() {
        let word = text.value();
        let message = if names().contains(&word.as_str()) {
            format!("a matcher is written without quotes: write `{word}`")
        } else {
            let pattern = text.token();
            format!("to match the text of an error, use a pattern: write `pattern({pattern})`")
        };
        return Err(syn::Error::new(text.span(), message));
    }
    if input.peek(Token![|]) || input.peek(Token![move]) {
        let closure = until_comma(input);
        let message = format!(
            "a function of the error goes inside `when(…)`: write `when({})`",
            token_text(&closure)
        );
        return Err(syn::Error::new_spanned(closure, message));
    }
    let name = grammar::name(input, format_args!("expected a matcher: {}", listed()))?;
    let word = name.to_string();
    if is_kind(&word) {
        if input.peek(token::Paren) {
            let arguments: TokenTree = input.parse()?;
            return Err(syn::Error::new_spanned(
                quote::quote!(#name #arguments),
                format!("`{word}` takes no arguments: write `{word}`"),
            ));
        }
        return Ok(Matcher::Class(name));
    }
    if !WITH_ARGUMENT.contains(&word.as_str()) {
        return Err(not_a_matcher(&name, &word, input));
    }
    let example = match word.as_str() {
        "pattern" => "pattern(\"(?i)try again\")",
        "matches" => "matches(DbError::Busy | DbError::Locked { .. })",
        "when" => "when(is_transient)",
        _ => "ok(|page: &Page| page.is_pending())",
    };
    let content = grammar::parentheses(input)
        .ok_or_else(|| error(&name, format!("`{word}` needs an argument: write `{example}`")))?;
    let matcher = match word.as_str() {
        "pattern" => pattern(&content)?,
        "matches" => Matcher::Matches {
            pattern: Pat::parse_multi_with_leading_vert(&content)?,
            guard: if content.peek(Token![if]) {
                content.parse::<Token![if]>()?;
                Some(content.parse()?)
            } else {
                None
            },
        },
        "when" => {
            let expr = content.parse()?;
            let cure =
                ", and await in the body, which returns an error that the closure recognises";
            grammar::not_awaited("when", &expr, cure)?;
            Matcher::When(expr)
        }
        _ => Matcher::Ok(predicate(content.parse()?)?),
    };
    grammar::last(&content, format_args!("`{word}` takes one argument: `{example}`"))?;
    Ok(matcher)
}

/// Rejects a value or a pattern where a predicate of values is expected.
fn predicate(expr: Expr) -> syn::Result<Expr> {
    let is_value = match &expr {
        Expr::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase)),
        Expr::Lit(_) => true,
        _ => false,
    };
    if !is_value {
        return Ok(expr);
    }
    let message = format!(
        "`ok` takes a predicate of the value: write `ok(|value| matches!(value, {}))`",
        token_text(&expr)
    );
    Err(syn::Error::new_spanned(expr, message))
}

/// The way to match the kind of an `io::Error`, which is not the error itself.
fn compare_kind(written: &str, kind: &str) -> String {
    let word = match kind {
        "TimedOut" => " (`timeout` matches it too)",
        "ConnectionRefused" => " (`connect` matches it too)",
        "ConnectionReset" | "ConnectionAborted" | "BrokenPipe" | "UnexpectedEof"
        | "NotConnected" | "HostUnreachable" | "NetworkUnreachable" => {
            " (`network` matches it too)"
        }
        _ => "",
    };
    format!(
        "to compare the kind of an `io::Error`, write `when(|error| error.kind() == \
         {written})`{word}"
    )
}

/// The error for a bare path or pattern, which is most likely meant for `matches` or `when`.
fn not_a_matcher(name: &Ident, word: &str, input: ParseStream) -> syn::Error {
    let rest = until_comma(input);
    let whole = quote::quote!(#name #rest);
    let written = token_text(&whole);
    let is_upper = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
    let path = syn::parse2::<Path>(whole.clone()).ok();
    let segments: Vec<String> = path
        .iter()
        .flat_map(|path| &path.segments)
        .map(|segment| segment.ident.to_string())
        .collect();
    let class = segments.last().map(|last| snake_case(last));
    let class = class.filter(|word| is_kind(word));
    let message = match &segments[..] {
        [] if status_in(&whole).is_some() => of_a_status(status_in(&whole).unwrap_or_default()),
        [.., ty, _] if ty == "Class" && class.is_some() => {
            format!("a kind of failure is a word here: write `{}`", class.unwrap_or_default())
        }
        [_] if is_upper(word) && class.is_some() => format!(
            "`{written}` is not a matcher: the kind of failure is `{}`; to match a variant of your \
             error, write `matches({written})`",
            class.unwrap_or_default()
        ),
        [.., kind, last] if kind == "ErrorKind" => {
            format!("`{written}` is not a matcher: {}", compare_kind(&written, last))
        }
        // `std::io::Error`: a module path that ends in a type.
        [.., module, last] if is_upper(last) && !is_upper(module) => format!(
            "`{written}` is not a matcher, because a type does not say which failures to retry: to \
             match a variant of your error, write `matches(MyError::Io(_))`; to test it with a \
             function, `when(|error| …)`"
        ),
        [_] if !is_upper(word) => match meant(word, &names()) {
            Some(meant) => grammar::unknown("matcher", word, Some(meant), ""),
            None => format!(
                "unknown matcher `{word}`; to test the error with a function, write \
                 `when({word})`; the matchers are {}",
                listed()
            ),
        },
        [.., last] if !is_upper(last) => format!(
            "`{written}` is not a matcher: to test the error with a function, write \
             `when({written})`"
        ),
        _ if is_upper(word) || !segments.is_empty() => format!(
            "`{written}` is not a matcher: to match a variant of your error, write \
             `matches({written})`"
        ),
        _ => format!("unknown matcher `{written}`; the matchers are {}", listed()),
    };
    syn::Error::new_spanned(whole, message)
}

/// The error for an HTTP status.
fn of_a_status(status: u16) -> String {
    match left_out(status) {
        Some(status) => format!(
            "a status is not a matcher; `retry_on = [transient]` leaves out {status} anyway, and \
             `when(…)` with a function of the error tests for one"
        ),
        None => format!(
            "a status is not a matcher: write `{}`, or `when(…)` with a function of the error",
            of_status(status).unwrap_or("transient")
        ),
    }
}

/// The status in `status(503)`.
fn status_in(tokens: &TokenStream) -> Option<u16> {
    let call: ExprCall = syn::parse2(tokens.clone()).ok()?;
    let Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) = call.args.first() else {
        return None;
    };
    number.base10_parse().ok().filter(|status| (100..600).contains(status))
}

/// Returns whether this is the word for a kind of failure.
fn is_kind(word: &str) -> bool {
    word == "transient" || CLASSES.contains(&word)
}

/// `ServerError` and `SERVER_ERROR` as `server_error`.
fn snake_case(name: &str) -> String {
    let is_constant = !name.contains(char::is_lowercase);
    let mut word = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !is_constant && !word.is_empty() {
            word.push('_');
        }
        word.extend(character.to_lowercase());
    }
    word
}

/// Returns whether these tokens are most likely a function of the error: a closure, or a path to a
/// function.
fn is_callable(tokens: &TokenStream) -> bool {
    match syn::parse2::<Expr>(tokens.clone()) {
        Ok(Expr::Closure(_)) => true,
        Ok(Expr::Path(path)) => {
            let last = path.path.segments.last().map(|segment| segment.ident.to_string());
            last.is_some_and(|last| {
                !names().contains(&last.as_str()) && last.starts_with(|c: char| c.is_lowercase())
            })
        }
        _ => false,
    }
}

fn listed() -> String {
    let arguments = |name| if WITH_ARGUMENT.contains(name) { "(…)" } else { "" };
    let listed: Vec<_> =
        names().iter().map(|name| format!("`{name}{}`", arguments(name))).collect();
    listed.join(", ")
}

fn pattern(input: ParseStream) -> syn::Result<Matcher> {
    let Ok(text) = input.parse::<LitStr>() else {
        let rest = input.cursor().token_stream();
        skip_all(input);
        return Err(syn::Error::new_spanned(
            rest,
            "a pattern must be a string literal, so that it can be checked at compile time: write \
             `pattern(\"(?i)try again\")`",
        ));
    };
    check_pattern(&text)?;
    Ok(Matcher::Pattern(text))
}

fn skip_all(input: ParseStream) {
    let _ = input.parse::<TokenStream>();
}

#[cfg(feature = "pattern")]
fn check_pattern(text: &LitStr) -> syn::Result<()> {
    if text.value().is_empty() {
        return Err(syn::Error::new(
            text.span(),
            "an empty pattern matches every text: remove it, or write what to look for",
        ));
    }
    match regex::Regex::new(&text.value()) {
        Ok(_) => Ok(()),
        Err(error) => Err(syn::Error::new(
            text.span(),
            format!("this pattern is not a valid regular expression: {error}"),
        )),
    }
}

#[cfg(not(feature = "pattern"))]
fn check_pattern(text: &LitStr) -> syn::Result<()> {
    Err(syn::Error::new(
        text.span(),
        "`pattern` needs the `pattern` feature of retry-runtime: enable it in Cargo.toml, or write \
         `when(|error| …)`",
    ))
}
