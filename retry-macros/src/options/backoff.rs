//! The growth of waits: the values of `backoff =`.

use core::time::Duration;

use proc_macro2::{Group, TokenStream};
use quote::ToTokens;
use retry_rules::{Backoff, Field, Fields};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::parse::discouraged::Speculative as _;
use syn::{Expr, Ident, Lit, Token, token};

use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, assigned, each, up_to_comma};
use crate::tokens::hygiene::quote;
use crate::tokens::text::short_text;
use crate::value::runtime::Scope;
use crate::value::{self, Tokens, Value};

/// The value of `backoff =`.
pub(crate) enum BackoffKind {
    Fixed,
    Linear(Value<Duration>),
    Exponential(Option<Value<f64>>),
    Fibonacci,
    Custom(Vec<Value<Duration>>),
    /// The variable that holds the whole backoff.
    Runtime(Ident),
}

impl BackoffKind {
    /// The backoff, if it is known at expansion.
    pub(crate) fn known(&self) -> Option<Backoff> {
        Some(match self {
            Self::Fixed => Backoff::Fixed,
            Self::Linear(increment) => Backoff::Linear { increment: increment.known? },
            Self::Exponential(None) => Backoff::DEFAULT,
            Self::Exponential(Some(base)) => Backoff::Exponential { base: base.known? },
            Self::Fibonacci => Backoff::Fibonacci,
            Self::Custom(delays) => {
                let known: Option<Vec<_>> = delays.iter().map(|delay| delay.known).collect();
                // A policy is `Copy`, so it holds a `'static` list; the process of a macro is
                // short-lived.
                Backoff::Custom(known?.leak())
            }
            Self::Runtime(_) => return None,
        })
    }

    /// The setting in its parentheses.
    pub(crate) fn part(&self) -> Option<(Field, TokenStream)> {
        match self {
            Self::Linear(increment) => Some((Field::Increment, increment.to_token_stream())),
            Self::Exponential(Some(base)) => Some((Field::Base, base.to_token_stream())),
            Self::Custom(delays) => Some((Field::Delays, quote!(#(#delays),*))),
            Self::Fixed | Self::Exponential(None) | Self::Fibonacci | Self::Runtime(_) => None,
        }
    }

    /// The fields that are known only at runtime.
    pub(crate) fn runtime(&self) -> Fields {
        Fields::NONE.with(match self {
            Self::Linear(increment) if increment.runtime.is_some() => Field::Increment,
            Self::Exponential(Some(base)) if base.runtime.is_some() => Field::Base,
            Self::Custom(delays) if is_runtime(delays) => Field::Delays,
            Self::Runtime(_) => Field::Backoff,
            _ => return Fields::NONE,
        })
    }

    /// The delays of a custom backoff.
    pub(crate) fn delays(&self) -> Vec<TokenStream> {
        match self {
            Self::Custom(delays) => delays.iter().map(ToTokens::to_token_stream).collect(),
            _ => Vec::new(),
        }
    }

    /// The backoff as an expression in the expansion.
    pub(crate) fn expression(&self) -> TokenStream {
        let variant = match self {
            Self::Runtime(local) => return local.to_token_stream(),
            Self::Custom(delays) if is_runtime(delays) => {
                let delays = delays.iter().map(Tokens);
                return quote!(__retry::runtime::custom(&[#(#delays),*]));
            }
            Self::Fixed => quote!(Fixed),
            Self::Linear(increment) => {
                let increment = Tokens(increment);
                quote!(Linear { increment: #increment })
            }
            Self::Exponential(None) => quote!(DEFAULT),
            Self::Exponential(Some(base)) => {
                let base = Tokens(base);
                quote!(Exponential { base: #base })
            }
            Self::Fibonacci => quote!(Fibonacci),
            Self::Custom(delays) => {
                let delays = delays.iter().map(Tokens);
                quote!(Custom(&[#(#delays),*]))
            }
        };
        quote!(__retry::Backoff::#variant)
    }
}

/// Returns whether one of the delays is known only at runtime.
fn is_runtime(delays: &[Value<Duration>]) -> bool {
    delays.iter().any(|delay| delay.runtime.is_some())
}

/// The names of the backoffs.
pub(crate) const NAMES: [&str; 5] = ["fixed", "linear", "exponential", "fibonacci", "custom"];

/// Parses what follows `backoff =`, and returns the value with its tokens.
pub(crate) fn read(
    input: ParseStream,
    scope: &mut Scope,
    errors: &mut Errors,
) -> syn::Result<(BackoffKind, TokenStream)> {
    let tokens = up_to_comma(input);
    let ahead = input.fork();
    if let Ok(expr) = ahead.parse::<Expr>() {
        let first = input.cursor().ident();
        let is_curve = first.is_some_and(|(first, _)| NAMES.iter().any(|name| first == name));
        if let (false, Some(inside)) = (is_curve, scope.runtime(&expr).cloned()) {
            let local = scope.read("backoff", &inside);
            input.advance_to(&ahead);
            return Ok((BackoffKind::Runtime(local), tokens));
        }
    }
    let word = tokens.to_string().rsplit("::").next().unwrap_or_default().to_lowercase();
    let curve = NAMES.into_iter().find(|name| word.trim_matches([' ', '"']).starts_with(name));
    if let (Some(curve), false) = (curve, input.peek(Ident::peek_any) && !input.peek2(Token![::])) {
        let curve = if matches!(curve, "linear" | "custom") { "exponential" } else { curve };
        let message =
            format!("a curve is a word without quotes: write one such as `backoff = {curve}`");
        return Err(error(tokens, message));
    }
    let name = grammar::name(input, "expected the name of a curve, such as `exponential`")?;
    let word = name.to_string();
    if !NAMES.contains(&word.as_str()) {
        return Err(error(name, grammar::unknown("backoff", &word, &NAMES)));
    }
    let arguments = grammar::parentheses(input);
    if input.peek(Token![.]) {
        let rest = up_to_comma(input);
        let message = "a curve has no methods: its setting is in parentheses, as in \
                       `exponential(base = 2.0)`, and `max_delay = \"30s\"` beside it caps its waits";
        return Err(error(rest, message));
    }
    let setting = |key, example| match &arguments {
        Some(content) => setting(content, &name, key, example),
        None => Ok(None),
    };
    let kind = match (word.as_str(), &arguments) {
        ("custom", Some(content)) if content.peek(token::Bracket) => {
            let list: Group = content.parse()?;
            let delays = short_text(&list.stream());
            let _rest: TokenStream = content.parse()?;
            let message =
                format!("the delays are not in brackets: write `backoff = custom({delays})`");
            return Err(error(list, message));
        }
        ("custom", Some(content)) => {
            let mut delays = Vec::new();
            each(content, errors, |content, _| {
                delays.push(scope.value("delay", content.parse()?, value::duration)?);
                Ok(())
            });
            BackoffKind::Custom(delays)
        }
        ("custom", None) => {
            return Err(error(
                name,
                "a custom backoff needs delays: write `backoff = custom(\"500ms\", \"1s\")`",
            ));
        }
        ("linear", _) => {
            let Some(increment) = setting("increment", "\"2s\"")? else {
                return Err(error(
                    name,
                    "a linear backoff needs an increment: write `backoff = linear(increment = \
                     \"2s\")`",
                ));
            };
            BackoffKind::Linear(scope.value("delay", increment, value::duration)?)
        }
        ("exponential", _) => {
            let read = |expr| value::float(expr, "base", "2.0");
            let base = setting("base", "2.0")?;
            let base = base.map(|base| scope.value("number", base, read));
            BackoffKind::Exponential(base.transpose()?)
        }
        (_, Some(content)) => {
            let wait = if word == "fixed" { "wait" } else { "first wait" };
            return Err(error(
                content.cursor().token_stream(),
                format!("`{word}` takes no settings: set the {wait} with `initial_delay = \"2s\"`"),
            ));
        }
        ("fixed", _) => BackoffKind::Fixed,
        _ => BackoffKind::Fibonacci,
    };
    Ok((kind, tokens))
}

/// Parses the one setting of a backoff: `increment = …` or `base = …`.
fn setting(
    content: ParseStream,
    curve: &Ident,
    key: &str,
    example: &str,
) -> syn::Result<Option<Expr>> {
    let all = content.cursor().token_stream();
    let lone = syn::parse2::<Lit>(all.clone()).ok().map(|value| quote!(#value).to_string());
    let is_like = |value: &String| value.starts_with('"') == example.starts_with('"');
    let value = lone.filter(is_like).unwrap_or_else(|| example.to_owned());
    let message = format!(
        "`{curve}` has one setting: write `backoff = {curve}({key} = {value})`, with the options \
         `initial_delay` and `max_delay` beside it"
    );
    let name = content.call(Ident::parse_any).map_err(|_| error(all, &message))?;
    if name != key {
        return Err(error(name, message));
    }
    let expr = assigned(&name, content, example)?;
    grammar::last(content, message)?;
    Ok(Some(expr))
}
