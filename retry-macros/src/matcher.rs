//! The entries of `retry_on = […]` and `abort_on = […]`.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Expr, Ident, LitStr, Pat, Token, parenthesized, token};

use crate::errors::Errors;
use crate::grammar::{did_you_mean, skip_to_comma};
use crate::value::plain;

/// One entry.
#[derive(Clone)]
pub(crate) enum Matcher {
    /// `network`, `timeout`, `server_error`, `rate_limit`.
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

const CLASSES: [&str; 4] = ["network", "timeout", "server_error", "rate_limit"];
pub(crate) const NAMES: [&str; 8] =
    ["network", "timeout", "server_error", "rate_limit", "pattern", "matches", "when", "ok"];

/// Reads the list behind `retry_on =` or `abort_on =`; the entries that are wrong are left out.
pub(crate) fn list(
    input: ParseStream,
    option: &Ident,
    errors: &mut Errors,
) -> syn::Result<Vec<Matcher>> {
    if !input.peek(token::Bracket) {
        let rest: TokenStream = until_comma(input);
        let written = plain(&rest);
        return Err(syn::Error::new_spanned(
            if rest.is_empty() { quote::quote!(#option) } else { rest },
            if written.is_empty() {
                format!("`{option}` takes a list: write `{option} = [network, timeout]`")
            } else {
                format!("`{option}` takes a list: write `{option} = [{written}]`")
            },
        ));
    }
    let content;
    let brackets = syn::bracketed!(content in input);
    let mut matchers = Vec::new();
    if content.is_empty() {
        return Err(syn::Error::new(
            brackets.span.join(),
            format!(
                "`{option}` is empty: name what it is about, as in `{option} = [network, timeout]`, or leave it out"
            ),
        ));
    }
    while !content.is_empty() {
        match matcher(&content) {
            Ok(matcher) => {
                if let (Matcher::Ok(expr), true) = (&matcher, option == "abort_on") {
                    errors.at(expr, "`ok(…)` says which values are retried, and aborting at a value is just returning it: write it in `retry_on`");
                } else {
                    matchers.push(matcher);
                }
                if !content.is_empty()
                    && content.parse::<Option<Token![,]>>().is_ok_and(|c| c.is_none())
                {
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
    Ok(matchers)
}

fn until_comma(input: ParseStream) -> TokenStream {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        match input.parse::<proc_macro2::TokenTree>() {
            Ok(token) => tokens.extend([token]),
            Err(_) => break,
        }
    }
    tokens
}

fn matcher(input: ParseStream) -> syn::Result<Matcher> {
    if let Ok(text) = input.fork().parse::<LitStr>() {
        return Err(syn::Error::new(
            text.span(),
            format!("a text is matched by a pattern: write `pattern({})`", text.token()),
        ));
    }
    if input.peek(Token![|]) || input.peek(Token![move]) {
        return Err(syn::Error::new_spanned(
            until_comma(input),
            "a function of the error stands in `when(…)`: write `when(|error| …)`",
        ));
    }
    if !input.peek(Ident::peek_any) {
        return Err(input.error(format!("expected a matcher: {}", listed())));
    }
    let name = Ident::parse_any(input)?;
    let word = name.to_string();
    if CLASSES.contains(&word.as_str()) {
        if input.peek(token::Paren) {
            let arguments: TokenTree = input.parse()?;
            return Err(syn::Error::new_spanned(
                quote::quote!(#name #arguments),
                format!("`{word}` takes no arguments: write `{word}`"),
            ));
        }
        return Ok(Matcher::Class(name));
    }
    if !NAMES.contains(&word.as_str()) {
        // A path or a pattern that stands there bare is most likely meant for `matches` or `when`.
        let (blamed, hint) = if word.chars().next().is_some_and(char::is_uppercase) {
            let rest = until_comma(input);
            let pattern = quote::quote!(#name #rest);
            let written = plain(&pattern);
            (pattern, format!("; for a pattern of your error write `matches({written})`; "))
        } else {
            let guess = did_you_mean(&word, &NAMES);
            let hint = if guess == "; " {
                format!("; for a function of the error write `when({word})`; ")
            } else {
                guess
            };
            (quote::quote!(#name), hint)
        };
        return Err(syn::Error::new_spanned(
            blamed,
            format!("unknown matcher `{word}`{hint}the matchers are {}", listed()),
        ));
    }
    let example = match word.as_str() {
        "pattern" => "pattern(\"(?i)database is locked\")",
        "matches" => "matches(DbError::Busy | DbError::Locked { .. })",
        "when" => "when(is_transient)",
        _ => "ok(|page: &Page| page.is_pending())",
    };
    let incomplete =
        || syn::Error::new(name.span(), format!("`{word}` needs its argument: write `{example}`"));
    if !input.peek(token::Paren) {
        return Err(incomplete());
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        return Err(incomplete());
    }
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
        "when" => Matcher::When(content.parse()?),
        _ => Matcher::Ok(content.parse()?),
    };
    content.parse::<Option<Token![,]>>()?;
    if content.is_empty() {
        Ok(matcher)
    } else {
        let rest = content.cursor().token_stream();
        Err(syn::Error::new_spanned(rest, format!("`{word}` takes one argument: `{example}`")))
    }
}

fn listed() -> String {
    NAMES
        .map(
            |name| {
                if CLASSES.contains(&name) { format!("`{name}`") } else { format!("`{name}(…)`") }
            },
        )
        .join(", ")
}

fn pattern(input: ParseStream) -> syn::Result<Matcher> {
    let Ok(text) = input.parse::<LitStr>() else {
        let rest = input.cursor().token_stream();
        skip_all(input);
        return Err(syn::Error::new_spanned(
            rest,
            "a pattern is a string literal, so that it can be checked here: `pattern(\"(?i)database is locked\")`",
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
            "an empty pattern matches every text: leave it out, or say what to look for",
        ));
    }
    match regex::Regex::new(&text.value()) {
        Ok(_) => Ok(()),
        Err(error) => Err(syn::Error::new(
            text.span(),
            format!("this pattern is not a regular expression: {error}"),
        )),
    }
}

#[cfg(not(feature = "pattern"))]
fn check_pattern(text: &LitStr) -> syn::Result<()> {
    Err(syn::Error::new(
        text.span(),
        "`pattern` needs the feature `pattern` of retry-runtime: \
         add it in Cargo.toml, or write `when(|error| …)`",
    ))
}
