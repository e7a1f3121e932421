//! The parsers of the values of a function's options.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Expr, Ident, LitBool, Pat, Token, parenthesized, token};

use super::{Breaker, OnFailure};
use crate::function::types;
use crate::options::breaker::BreakerArgs;
use crate::options::matcher::{self, Matcher};
use crate::options::settings::BREAKER;
use crate::tokens::errors::Errors;
use crate::tokens::grammar::{self, assigned, at_next, equals, meant, up_to_comma};
use crate::tokens::text::token_text;
use crate::value::runtime::Scope;
use crate::value::{self, Value};

/// An option whose value is about to be parsed.
pub(super) struct Reading<'a> {
    pub(super) name: &'a Ident,
    pub(super) example: &'static str,
    pub(super) input: ParseStream<'a>,
    pub(super) scope: &'a mut Scope,
    pub(super) errors: &'a mut Errors,
}

impl Reading<'_> {
    /// Parses `= expression` after the name.
    pub(super) fn expr(&self) -> syn::Result<Expr> {
        assigned(self.name, self.input, self.example)
    }

    /// Parses the `=`.
    pub(super) fn equals(&self) -> syn::Result<()> {
        equals(self.name, self.input, self.example)
    }
}

pub(super) fn matchers(option: &mut Reading<'_>) -> syn::Result<Vec<Matcher>> {
    option.equals()?;
    matcher::list(option.input, option.name, option.errors)
}

pub(super) fn breaker(option: &mut Reading<'_>) -> syn::Result<Breaker> {
    if option.input.is_empty() || option.input.peek(Token![,]) {
        return Err(syn::Error::new(
            option.name.span(),
            "`breaker` needs a circuit breaker: a shared one, as in `breaker = DB`, or an inline \
             one for this function alone, as in `breaker(failure_threshold = 5)`",
        ));
    }
    if !option.input.peek(token::Paren) {
        let expr = without_reference(option.expr()?);
        check_call(&expr)?;
        return Ok(Breaker::Shared(expr));
    }
    let content;
    parenthesized!(content in option.input);
    let in_place = BreakerArgs::parse(&content, option.name, option.scope, option.errors);
    Ok(Breaker::InPlace(Box::new(in_place)))
}

/// Rejects a string literal, and an expression that would create a new instance for each call.
fn check_shared(
    expr: &Expr,
    option: &str,
    name: &str,
    kind: &str,
    arguments: &str,
) -> syn::Result<()> {
    let declared = |arguments: &str| {
        format!("write `static {name}: {kind} = {kind}::new({arguments});` and `{option} = {name}`")
    };
    let message = match expr {
        Expr::Lit(syn::ExprLit { lit: number @ syn::Lit::Int(_), .. }) => {
            let setting = if kind == "RetryQuota" { "capacity" } else { "failure_threshold" };
            let arguments = format!("{arguments}.{setting}({})", token_text(number));
            format!("`{option}` takes the {option} itself, not a number: {}", declared(&arguments))
        }
        Expr::Lit(literal) => {
            let named = token_text(&literal.lit);
            let rest = arguments.split_once(',').map_or("", |(_, rest)| rest);
            format!(
                "`{option}` takes the {option} itself, not its name: {}",
                declared(&format!("{named},{rest}"))
            )
        }
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => {
                let mut segments = path.path.segments.iter().rev();
                let is_new = segments.next().is_some_and(|last| last.ident == "new")
                    && segments.next().is_some_and(|owner| owner.ident == kind);
                if !is_new {
                    return Ok(());
                }
                let arguments = token_text(&call.args);
                format!(
                    "this creates a {option} for each call, so that no two calls share it and it \
                     never acts: {}",
                    declared(&arguments)
                )
            }
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    Err(syn::Error::new_spanned(expr, message))
}

/// Rejects `DB(failure_threshold = 5)`: settings belong where a breaker is created.
fn check_call(expr: &Expr) -> syn::Result<()> {
    check_shared(expr, "breaker", "DB", "CircuitBreaker", "\"db\", BreakerConfig::new()")?;
    let Expr::Call(call) = expr else { return Ok(()) };
    let is_setting = |argument: &Expr| match argument {
        Expr::Assign(assign) => value::word(&assign.left)
            .is_some_and(|word| BREAKER.iter().any(|setting| setting.name == word)),
        _ => false,
    };
    if !call.args.iter().any(is_setting) {
        return Ok(());
    }
    let (shared, settings) = (token_text(&call.func), token_text(&call.args));
    Err(syn::Error::new_spanned(
        expr,
        format!(
            "a shared breaker is configured where it is declared: write `breaker = {shared}`, or \
             `breaker({settings})` for an inline breaker of this function alone"
        ),
    ))
}

pub(super) fn quota(option: &Reading<'_>) -> syn::Result<Expr> {
    if option.input.peek(token::Paren) {
        return Err(syn::Error::new(
            option.name.span(),
            "a quota limits nothing unless calls share it: write `quota = OUTBOUND`, and declare \
             `static OUTBOUND: RetryQuota = RetryQuota::new(\"outbound\", QuotaConfig::new());`",
        ));
    }
    let quota = without_reference(option.expr()?);
    check_shared(&quota, "quota", "OUTBOUND", "RetryQuota", "\"outbound\", QuotaConfig::new()")?;
    Ok(quota)
}

/// A breaker or a quota is given by name; `&DB` means the same.
fn without_reference(expr: Expr) -> Expr {
    match expr {
        Expr::Reference(reference) if reference.mutability.is_none() => {
            without_reference(*reference.expr)
        }
        other => other,
    }
}

pub(super) fn on_failure(option: &Ident, input: ParseStream) -> syn::Result<OnFailure> {
    const NAMES: [&str; 3] = ["stop", "continue", "fallback"];
    let wrong = |span: Span, hint: String| {
        syn::Error::new(
            span,
            format!(
                "unknown action{hint}`on_failure` is `stop` (the default), `continue` or `fallback(f)`"
            ),
        )
    };
    if !input.peek(Ident::peek_any) {
        return Err(match input.parse::<Expr>() {
            Ok(value) => {
                let call = match &value {
                    Expr::Closure(_) => format!("fallback({})", token_text(&value)),
                    _ => format!("fallback(|_| {})", token_text(&value)),
                };
                syn::Error::new_spanned(
                    &value,
                    format!("`on_failure` takes an action: to return this instead, write `{call}`"),
                )
            }
            Err(_) => wrong(option.span(), "; ".to_owned()),
        });
    }
    let name = Ident::parse_any(input)?;
    let word = name.to_string();
    match word.as_str() {
        "stop" => Ok(OnFailure::Stop),
        "continue" => Ok(OnFailure::Continue),
        "fallback" => {
            let missing = "`fallback` needs a function or a closure: write `on_failure = fallback(f)` or `fallback(|error| …)`";
            if !input.peek(token::Paren) {
                return Err(syn::Error::new(name.span(), missing));
            }
            let content;
            parenthesized!(content in input);
            if content.is_empty() {
                return Err(syn::Error::new(name.span(), missing));
            }
            let function = content.parse()?;
            content.parse::<Option<Token![,]>>()?;
            if content.is_empty() {
                Ok(OnFailure::Fallback(function))
            } else {
                Err(syn::Error::new_spanned(
                    content.cursor().token_stream(),
                    "`fallback` takes one callable: the function's arguments are in scope, \
                     so write `fallback(|error| f(id, error))`",
                ))
            }
        }
        // `Ok(0)`, `None`: what the caller is to get.
        word if word.starts_with(char::is_uppercase) => {
            let rest = up_to_comma(input);
            Err(syn::Error::new_spanned(
                quote::quote!(#name #rest),
                format!(
                    "`on_failure` takes an action: to return this instead, write `fallback(|_| \
                     {word}{})`",
                    token_text(&rest)
                ),
            ))
        }
        _ => Err(match meant(&word, &NAMES) {
            Some(meant) => {
                syn::Error::new(name.span(), grammar::unknown("action", &word, Some(meant), ""))
            }
            None => {
                wrong(name.span(), format!(" `{word}`; to call it, write `fallback({word})`; "))
            }
        }),
    }
}

/// Checks that this can be called with a `RetryError`.
pub(super) fn map_error(map: Expr) -> syn::Result<Expr> {
    let message = "`map_error` takes a function of the error of the call, `Fn(RetryError<E>) -> F`: write \
                   `map_error = |error: RetryError<E>| …`, with the error of an attempt for `E`";
    let is_right = match &map {
        Expr::Lit(_) | Expr::Macro(_) | Expr::Block(_) => false,
        Expr::Closure(closure) => match closure.inputs.first() {
            Some(Pat::Type(_)) => closure.inputs.len() == 1 && types::mapped_error(&map).is_some(),
            Some(_) => closure.inputs.len() == 1,
            None => false,
        },
        _ => true,
    };
    if is_right { Ok(map) } else { Err(syn::Error::new_spanned(map, message)) }
}

/// Parses the number of failures to keep: a literal, which is checked, or a constant.
pub(super) fn history(option: &Reading<'_>) -> syn::Result<Value<u32>> {
    let expr = option.expr()?;
    if option.scope.runtime(&expr).is_some() {
        return Err(syn::Error::new_spanned(
            expr,
            "`history` belongs to the function and is the same for all its calls: write a literal or \
             a constant, such as `history = 5`",
        ));
    }
    option.scope.check_constant(&expr)?;
    let failures = value::count(expr, "history", option.example)?;
    match failures.known.and_then(retry_rules::history::complaint) {
        None => Ok(failures),
        Some(complaint) => Err(syn::Error::new_spanned(failures, complaint)),
    }
}

/// Parses the level of the event `gave up`; returns the variant of `LogLevel`.
pub(super) fn log(input: ParseStream) -> syn::Result<Ident> {
    let value = input.fork();
    let level = match Ident::parse_any(input) {
        Ok(word) if word == "off" => "Off",
        Ok(word) if word == "debug" => "Debug",
        Ok(word) if word == "info" => "Info",
        Ok(word) if word == "warn" => "Warn",
        _ => {
            return Err(at_next(
                &value,
                "`log` is the level at which `tracing` logs that a call gave up: write `log = off`, \
                 `debug`, `info` or `warn`",
            ));
        }
    };
    Ok(Ident::new(level, Span::mixed_site()))
}

pub(super) fn when_open(input: ParseStream) -> syn::Result<bool> {
    let value = input.fork();
    match Ident::parse_any(input) {
        Ok(word) if word == "wait" => Ok(true),
        Ok(word) if word == "give_up" => Ok(false),
        _ => Err(at_next(
            &value,
            "`when_open` is `give_up` (the default), which ends a call that the breaker rejects, \
             or `wait`, which waits until the breaker admits it",
        )),
    }
}

pub(super) fn nested_once(input: ParseStream) -> syn::Result<bool> {
    let value = input.fork();
    match Ident::parse_any(input) {
        Ok(word) if word == "once" => Ok(true),
        _ => Err(at_next(
            &value,
            "`nested` can only be `once`, which gives each annotated function that is called while \
             this one is retried a single attempt: write `nested = once`, or leave it out",
        )),
    }
}

pub(super) fn docs(input: ParseStream) -> syn::Result<bool> {
    let value = input.fork();
    let on: LitBool = input.parse().map_err(|_| {
        at_next(
            &value,
            "`docs` must be `true` or `false`: write `docs = false` to leave the section out",
        )
    })?;
    Ok(on.value)
}

/// Parses the names in parentheses after `clone` or `carry`.
pub(super) fn argument_names(option: &Reading<'_>, meaning: &str) -> syn::Result<Vec<Ident>> {
    let Reading { name, example, input, .. } = option;
    let missing = || {
        let message = format!("`{name}` names {meaning}: write `{name}{example}`");
        syn::Error::new(name.span(), message)
    };
    if input.peek(Token![=]) {
        let ahead = input.fork();
        ahead.parse::<Token![=]>()?;
        let names = up_to_comma(&ahead);
        let listed = token_text(&names).replace(['(', ')', '[', ']'], "");
        return Err(syn::Error::new_spanned(names, format!("write `{name}({listed})`")));
    }
    if !input.peek(token::Paren) {
        return Err(missing());
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        return Err(missing());
    }
    let names = content.parse_terminated(Ident::parse_any, Token![,]).map_err(|error| {
        syn::Error::new(
            error.span(),
            format!("`{name}` takes the names of arguments: write `{name}{example}`"),
        )
    })?;
    Ok(names.into_iter().collect())
}
