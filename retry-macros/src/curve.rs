//! How long to wait: what may stand behind `backoff =` and `jitter`.

use core::time::Duration;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use retry_rules::Jitter;
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, Ident, Lit, Token, parenthesized, token};

use crate::errors::Errors;
use crate::grammar::{assigned, did_you_mean, skip_to_comma};
use crate::hygiene::quote;
use crate::value::{self, Value};

/// What `backoff =` says.
pub(crate) struct BackoffArg {
    pub(crate) tokens: TokenStream,
    pub(crate) curve: BackoffKind,
}

pub(crate) enum BackoffKind {
    Fixed,
    Linear(Value<Duration>),
    Exponential(Option<Value<f64>>),
    Fibonacci,
    Custom(Vec<Value<Duration>>),
}

pub(crate) const CURVES: [&str; 5] = ["fixed", "linear", "exponential", "fibonacci", "custom"];

pub(crate) fn backoff(input: ParseStream, errors: &mut Errors) -> syn::Result<BackoffArg> {
    let start = input.fork();
    let unknown = |name: &dyn ToTokens, hint: String| {
        let listed = "`fixed`, `linear(increment = \"2s\")`, `exponential`, `exponential(base = 2.0)`, \
                      `fibonacci`, `custom(\"500ms\", \"1s\")`";
        syn::Error::new_spanned(
            name.to_token_stream(),
            format!("unknown backoff{hint}the curves are {listed}"),
        )
    };
    let Ok(name) = input.call(Ident::parse_any) else {
        let token = input.cursor().token_stream().into_iter().next();
        return Err(unknown(&token, "; ".to_owned()));
    };
    let word = name.to_string();
    if !CURVES.contains(&word.as_str()) {
        return Err(unknown(&name, format!(" `{word}`{}", did_you_mean(&word, &CURVES))));
    }
    let arguments = if input.peek(token::Paren) {
        let content;
        parenthesized!(content in input);
        Some(content)
    } else {
        None
    };
    let tokens: TokenStream = {
        let count = if arguments.is_some() { 2 } else { 1 };
        start.cursor().token_stream().into_iter().take(count).collect()
    };
    let curve = match (word.as_str(), arguments) {
        ("custom", Some(content)) if !content.is_empty() => {
            BackoffKind::Custom(delays(&content, errors)?)
        }
        ("custom", _) => {
            return Err(syn::Error::new(
                name.span(),
                "a custom backoff needs its delays: write `backoff = custom(\"500ms\", \"1s\", \"2s\")`",
            ));
        }
        ("linear", Some(content)) => match setting(&content, &name, "increment", "\"2s\"")? {
            Some(expr) => BackoffKind::Linear(value::duration(expr)?),
            None => return Err(no_increment(&name)),
        },
        ("linear", None) => return Err(no_increment(&name)),
        ("exponential", Some(content)) => BackoffKind::Exponential(
            setting(&content, &name, "base", "2.0")?
                .map(|expr| value::float(expr, "base", "base = 2.0"))
                .transpose()?,
        ),
        ("exponential", None) => BackoffKind::Exponential(None),
        (_, Some(content)) if !content.is_empty() => {
            let instead = if word == "fixed" {
                "set the wait by `initial_delay = \"2s\"`"
            } else {
                "set the first wait by `initial_delay = \"2s\"`"
            };
            return Err(syn::Error::new_spanned(
                content.cursor().token_stream(),
                format!("`{word}` takes no settings: {instead}"),
            ));
        }
        ("fixed", _) => BackoffKind::Fixed,
        _ => BackoffKind::Fibonacci,
    };
    Ok(BackoffArg { tokens, curve })
}

fn no_increment(name: &Ident) -> syn::Error {
    syn::Error::new(
        name.span(),
        "a linear backoff needs its increment: write `backoff = linear(increment = \"2s\")`",
    )
}

/// The one setting of a curve: `increment = …` or `base = …`.
fn setting(
    content: ParseStream,
    curve: &Ident,
    key: &str,
    example: &str,
) -> syn::Result<Option<Expr>> {
    if content.is_empty() {
        return Ok(None);
    }
    let wrong = |tokens: TokenStream| {
        syn::Error::new_spanned(
            tokens,
            format!("`{curve}` has one setting: write `{curve}({key} = {example})`"),
        )
    };
    let all = content.cursor().token_stream();
    if !content.peek(Ident::peek_any) {
        return Err(wrong(all));
    }
    let name = Ident::parse_any(content)?;
    if name != key {
        return Err(wrong(quote!(#name)));
    }
    let expr = assigned(&name, content, example)?;
    content.parse::<Option<Token![,]>>()?;
    if content.is_empty() { Ok(Some(expr)) } else { Err(wrong(content.cursor().token_stream())) }
}

fn delays(content: ParseStream, errors: &mut Errors) -> syn::Result<Vec<Value<Duration>>> {
    let mut delays = Vec::new();
    let mut wrong = None;
    while !content.is_empty() {
        match content.parse::<Expr>().and_then(value::duration) {
            Ok(delay) => delays.push(delay),
            // All but the last go straight to the list; that one poisons the option.
            Err(error) => {
                if let Some(earlier) = wrong.replace(error) {
                    errors.push(earlier);
                }
            }
        }
        if !content.is_empty() && content.parse::<Token![,]>().is_err() {
            let next = content.cursor().token_stream().into_iter().next();
            let error = syn::Error::new_spanned(next, "missing comma between the delays");
            if let Some(earlier) = wrong.replace(error) {
                errors.push(earlier);
            }
            skip_to_comma(content);
        }
    }
    match wrong {
        Some(error) => {
            while content.parse::<TokenTree>().is_ok() {}
            Err(error)
        }
        None => Ok(delays),
    }
}

/// What `jitter` says.
pub(crate) struct JitterArg {
    pub(crate) tokens: TokenStream,
    pub(crate) spread: JitterKind,
}

pub(crate) enum JitterKind {
    Named(Jitter),
    Factor(Value<f64>),
}

pub(crate) fn jitter(name: &Ident, input: ParseStream) -> syn::Result<JitterArg> {
    const NAMES: [&str; 4] = ["full", "equal", "decorrelated", "none"];
    let listed = "`jitter` (±30 %), `jitter = 0.25`, `jitter = full`, `jitter = equal`, `jitter = decorrelated` or `jitter = none`";

    if !input.peek(Token![=]) {
        if input.peek(token::Paren) {
            let content;
            parenthesized!(content in input);
            let inside = content.cursor().token_stream().to_string();
            return Err(syn::Error::new(
                name.span(),
                format!("write `jitter = {inside}`; the forms are {listed}"),
            ));
        }
        return Ok(JitterArg { tokens: quote!(#name), spread: JitterKind::Named(Jitter::DEFAULT) });
    }
    let expr = assigned(name, input, "0.25")?;
    let tokens = quote!(#expr);
    let capitalised = quote!(#expr).to_string().to_lowercase();
    if NAMES.contains(&capitalised.as_str()) && value::word(&expr).is_none() {
        return Err(syn::Error::new_spanned(&expr, format!("write `jitter = {capitalised}`")));
    }
    let spread = match value::word(&expr).as_deref() {
        Some("full") => JitterKind::Named(Jitter::Full),
        Some("equal") => JitterKind::Named(Jitter::Equal),
        Some("decorrelated") => JitterKind::Named(Jitter::Decorrelated),
        Some("none") => JitterKind::Named(Jitter::None),
        Some(word) => {
            let hint = did_you_mean(word, &NAMES);
            return Err(syn::Error::new_spanned(
                &expr,
                format!("unknown jitter `{word}`{hint}the forms are {listed}"),
            ));
        }
        None => {
            if let Expr::Lit(ExprLit { lit: Lit::Bool(on), .. }) = &expr {
                let instead = if on.value {
                    "write `jitter` alone"
                } else {
                    "leave it out, or write `jitter = none`"
                };
                return Err(syn::Error::new_spanned(
                    &expr,
                    format!("{instead}; the forms are {listed}"),
                ));
            }
            JitterKind::Factor(value::float(expr, "jitter", "jitter = 0.25")?)
        }
    };
    Ok(JitterArg { tokens, spread })
}
