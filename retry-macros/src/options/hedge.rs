//! The option `hedge`: `hedge = "200ms"`, `hedge(after = "200ms", max = 2)`, `hedge = p95`, or
//! `hedge` alone, which uses the hedge of the policy.

use core::time::Duration;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::ParseStream;
use syn::{Expr, Ident, Token, parenthesized, token};

use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, assigned, each, set_twice};
use crate::value::runtime::Scope;
use crate::value::{self, Value};

/// The source of the delay after which attempts are hedged.
#[derive(Clone, Copy)]
pub(crate) enum HedgeDelay {
    Policy,
    /// The times that calls take.
    Percentile(u32),
}

/// The delay before a hedge.
pub(crate) enum After {
    /// The delay in the value of `policy`, which alone determines it.
    Policy,
    Never,
    Time(Box<Value<Duration>>),
    /// This percentile of the times that calls take.
    Percentile(u32),
}

/// All that was written, the delay, and the largest number of hedges.
type HedgeArg = (TokenStream, After, Option<Value<u32>>);

/// Parses what follows `hedge`, if anything.
pub(crate) fn read(
    name: &Ident,
    input: ParseStream,
    scope: &mut Scope,
    errors: &mut Errors,
) -> syn::Result<HedgeArg> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok((name.to_token_stream(), After::Policy, None));
    }
    if !input.peek(token::Paren) {
        let expr = assigned(name, input, "\"200ms\"")?;
        let tokens = expr.to_token_stream();
        return Ok((tokens, after(expr, scope)?, None));
    }
    let content;
    parenthesized!(content in input);
    let tokens = content.cursor().token_stream();
    let (mut time, mut max) = (None, None);
    let mut names: Vec<Ident> = Vec::new();
    let mut failed = false;
    each(&content, errors, |content, _| {
        let read = setting(content, scope, &mut names, &mut time, &mut max);
        failed |= read.is_err();
        read
    });
    match time {
        Some(after) => Ok((tokens, after, max)),
        // Reported already.
        None if failed => Ok((tokens, After::Never, None)),
        None => Err(syn::Error::new(
            name.span(),
            "`hedge` needs the time after which another attempt joins one that has not answered: \
             write `hedge(after = \"200ms\", max = 2)`, or `hedge = \"200ms\"`",
        )),
    }
}

/// Parses `after = …` or `max = …`.
fn setting(
    content: ParseStream,
    scope: &mut Scope,
    names: &mut Vec<Ident>,
    time: &mut Option<After>,
    max: &mut Option<Value<u32>>,
) -> syn::Result<()> {
    let name = grammar::name(content, "expected `after = \"200ms\"` or `max = 2`")?;
    if let Some(first) = names.iter().find(|first| **first == name) {
        return Err(set_twice(first, &name));
    }
    names.push(name.clone());
    if name == "after" {
        *time = Some(after(assigned(&name, content, "\"200ms\"")?, scope)?);
    } else if name == "max" {
        *max = Some(value::count(assigned(&name, content, "2")?, "max", "2")?);
    } else {
        return Err(error(
            &name,
            grammar::unknown("setting", &name.to_string(), &["after", "max"]),
        ));
    }
    Ok(())
}

/// The delay: a time, a percentile, or `unlimited`.
fn after(expr: Expr, scope: &mut Scope) -> syn::Result<After> {
    if value::is_unlimited(&expr) {
        return Ok(After::Never);
    }
    let word = match &expr {
        Expr::Path(path) => path.path.get_ident().map(Ident::to_string),
        expr => value::text(expr),
    };
    let digits = word.as_deref().and_then(|word| word.strip_prefix('p'));
    if let Some(percent) = digits.and_then(|digits| digits.parse::<u32>().ok()) {
        if !scope.has_calls() {
            return Err(syn::Error::new_spanned(
                expr,
                "a policy has no place to keep the times of calls: write a time here, such as \
                 `hedge = \"200ms\"`, or `hedge = p95` in `#[retry(…)]`",
            ));
        }
        if !matches!(expr, Expr::Lit(_)) && (50..100).contains(&percent) {
            return Ok(After::Percentile(percent));
        }
        return Err(syn::Error::new_spanned(
            expr,
            "a hedge follows a percentile from `p50` to `p99`, without quotes: write `hedge = p95`, \
             which makes about one call in twenty twice",
        ));
    }
    scope.value("bound", expr, value::duration).map(|time| After::Time(Box::new(time)))
}
