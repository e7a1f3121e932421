//! The parsers of the values of a function's options.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens as _;
use retry_rules::Field;
use retry_rules::options::BREAKER;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Pat, Path, Token, parenthesized, token};

use super::{Args, Breaker, OnFailure, PolicyBase};
use crate::function::types;
use crate::options::breaker::BreakerArgs;
use crate::options::matcher::{self, Matcher};
use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, assigned, at_next, equals, meant, not_awaited, up_to_comma};
use crate::tokens::search::find;
use crate::tokens::text::token_text;
use crate::value::runtime::{Scope, ValueKind};
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
    fn equals(&self) -> syn::Result<()> {
        equals(self.name, self.input, self.example)
    }

    /// Parses a value, each of which is a word. `message` is the error for another word.
    fn word<T: Copy>(&self, words: &[(&str, T)], message: &str) -> syn::Result<T> {
        self.equals()?;
        grammar::one_of(self.name, self.input, words, message)
    }

    /// Parses a value that belongs to the function, and not to a call.
    fn constant(&self) -> syn::Result<Expr> {
        let (expr, Self { name, example, .. }) = (self.expr()?, self);
        if self.scope.runtime(&expr).is_none() {
            return Ok(expr);
        }
        let message = format!(
            "`{name}` belongs to the function and is the same for all its calls: write a literal \
             or a constant, such as `{name} = {example}`"
        );
        Err(error(expr, message))
    }
}

pub(super) fn matchers(option: &mut Reading<'_>) -> syn::Result<Vec<Matcher>> {
    option.equals()?;
    matcher::list(option.input, option.name, option.errors)
}

/// A function of the error replaces the wait that a server asked for. One that also takes the wait
/// that would follow adjusts it.
pub(super) fn retry_after(args: &mut Args, option: &mut Reading<'_>) -> syn::Result<()> {
    let expr = option.expr()?;
    if matches!(&expr, Expr::Lit(_)) {
        return Err(error(
            expr,
            "`retry_after` takes a function of the error, `Fn(&E) -> Option<Duration>`: write \
             `retry_after = |error| error.wait()`; the header `Retry-After` is read without it if \
             the error is a `StatusError` (`http::check`)",
        ));
    }
    not_awaited("retry_after", &expr, ", and await in the body")?;
    let sees_wait = matches!(&expr, Expr::Closure(closure) if closure.inputs.len() == 2);
    *(if sees_wait { &mut args.adjust_wait } else { &mut args.retry_after }) = Some(expr);
    Ok(())
}

pub(super) fn breaker(option: &mut Reading<'_>) -> syn::Result<Breaker> {
    if option.input.is_empty() || option.input.peek(Token![,]) {
        return Err(error(
            option.name,
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
    let declared_as = |kind: &str, arguments: &str| {
        format!("write `static {name}: {kind} = {kind}::new({arguments});` and `{option} = {name}`")
    };
    let declared = |arguments: &str| declared_as(kind, arguments);
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
        Expr::Call(call) if types::is_new(&call.func, kind) => format!(
            "this creates a {option} for each call, so that no two calls share it and it never \
             acts: {}",
            declared_as(
                token_text(&call.func).strip_suffix("::new").unwrap_or(kind),
                &token_text(&call.args),
            )
        ),
        _ => return Ok(()),
    };
    Err(error(expr, message))
}

/// Rejects `DB(failure_threshold = 5)`: settings belong where a breaker is created.
fn check_call(expr: &Expr) -> syn::Result<()> {
    check_shared(expr, "breaker", "DB", "CircuitBreaker", "\"db\", BreakerConfig::new()")?;
    let Expr::Call(call) = expr else { return Ok(()) };
    let is_setting = |argument: &Expr| match argument {
        Expr::Assign(assign) => value::word(&assign.left)
            .is_some_and(|word| BREAKER.iter().any(|setting| setting.name() == word)),
        _ => false,
    };
    if !call.args.iter().any(is_setting) {
        return Ok(());
    }
    let (shared, settings) = (token_text(&call.func), token_text(&call.args));
    Err(error(
        expr,
        format!(
            "a shared breaker is configured where it is declared: write `breaker = {shared}`, or \
             `breaker({settings})` for an inline breaker of this function alone"
        ),
    ))
}

pub(super) fn quota(option: &mut Reading<'_>) -> syn::Result<Expr> {
    if option.input.peek(token::Paren) {
        return Err(error(
            option.name,
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

pub(super) fn on_failure(option: &mut Reading<'_>) -> syn::Result<OnFailure> {
    const NAMES: [&str; 3] = ["stop", "continue", "fallback"];

    option.equals()?;
    let input = option.input;
    grammar::not_quoted(option.name, input, NAMES)?;
    let wrong = |place: &Ident, hint: &str| {
        let message = format!(
            "unknown action{hint}`on_failure` is `stop` (the default), `continue` or `fallback(f)`"
        );
        Err(error(place, message))
    };
    let word = input.fork().call(Ident::parse_any).map(|word| word.to_string()).unwrap_or_default();
    if word.is_empty() || word.starts_with(char::is_uppercase) {
        // `0`, `Ok(0)`, `None`: what the caller is to get.
        let Ok(value) = input.parse::<Expr>() else { return wrong(option.name, "; ") };
        let arguments = if matches!(value, Expr::Closure(_)) { "" } else { "|_| " };
        let message = format!(
            "`on_failure` takes an action: to return this instead, write \
             `fallback({arguments}{})`",
            token_text(&value)
        );
        return Err(error(value, message));
    }
    let name = Ident::parse_any(input)?;
    match (word.as_str(), meant(&word, &NAMES)) {
        ("stop", _) => Ok(OnFailure::Stop),
        ("continue", _) => Ok(OnFailure::Continue),
        ("fallback", _) => {
            let content = grammar::parentheses(input).ok_or_else(|| {
                error(
                    name,
                    "`fallback` needs a function or a closure: write `on_failure = fallback(f)` or \
                     `fallback(|error| …)`",
                )
            })?;
            let function: Expr = content.parse()?;
            grammar::awaited_by_call(&function)?;
            if is_value(&function) {
                let message = format!(
                    "`fallback` calls what it is given, with the error: write `fallback(|_| {})`",
                    token_text(&function)
                );
                return Err(error(function, message));
            }
            grammar::last(
                &content,
                "`fallback` takes one callable: the function's arguments are in scope, so write \
                 `fallback(|error| f(id, error))`",
            )?;
            Ok(OnFailure::Fallback(function))
        }
        ("default", _) => wrong(&name, " `default`: to return `T::default()`, write `continue`; "),
        (_, Some(meant)) => {
            let message = grammar::unknown("action", &word, Some(meant), "");
            Err(error(name, message))
        }
        _ => wrong(&name, &format!(" `{word}`; to call it, write `fallback({word})`; ")),
    }
}

/// Returns whether an expression is certainly a value that cannot be called. Another call may
/// return a closure.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) | Expr::Tuple(_) | Expr::Array(_) | Expr::Struct(_) => true,
        Expr::Path(path) => path.path.is_ident("None"),
        Expr::Macro(call) => ["vec", "format"].iter().any(|name| call.mac.path.is_ident(name)),
        Expr::Call(call) => {
            let is_variant = |name| matches!(&*call.func, Expr::Path(f) if f.path.is_ident(name));
            ["Ok", "Err", "Some"].into_iter().any(is_variant)
                || ["String", "Vec"].iter().any(|ty| types::is_new(&call.func, ty))
        }
        _ => false,
    }
}

/// Parses a function that can be called with a `RetryError`.
pub(super) fn map_error(option: &mut Reading<'_>) -> syn::Result<Expr> {
    let map = option.expr()?;
    not_awaited("map_error", &map, ", and await in the body, or in the caller")?;
    let is_right = match &map {
        Expr::Lit(_) | Expr::Macro(_) | Expr::Block(_) => false,
        Expr::Closure(closure) => {
            let is_typed = matches!(closure.inputs.first(), Some(Pat::Type(_)));
            closure.inputs.len() == 1 && (!is_typed || types::mapped_error(&map).is_some())
        }
        _ => true,
    };
    if is_right {
        return Ok(map);
    }
    Err(error(
        map,
        "`map_error` takes a function of the error of the call, `Fn(RetryError<E>) -> F`: write \
         `map_error = |error: RetryError<E>| …`, with the error of an attempt for `E`",
    ))
}

pub(super) fn on_retry(option: &mut Reading<'_>) -> syn::Result<Expr> {
    let expr = option.expr()?;
    not_awaited(
        "on_retry",
        &expr,
        "; for async work, `|event| { tokio::spawn(record(event.to_string())); }`",
    )?;
    if matches!(&expr, Expr::Closure(closure) if closure.inputs.len() > 1) {
        return Err(error(
            expr,
            "`on_retry` is called with the event alone: write `|event| …`; `event.error()` is the \
             failure, and `event.wait()` the wait that follows",
        ));
    }
    if !matches!(&expr, Expr::Macro(_) | Expr::Block(_)) {
        return Ok(expr);
    }
    let parameter = if find(expr.to_token_stream(), "event").is_some() { "event" } else { "_" };
    let message = format!(
        "`on_retry` takes a function, which is called before each wait: write `on_retry = \
         |{parameter}| {}`",
        token_text(&expr)
    );
    Err(error(expr, message))
}

/// Parses the number of failures to keep: a literal, which is checked, or a constant.
pub(super) fn history(option: &mut Reading<'_>) -> syn::Result<Value<u32>> {
    let expr = option.constant()?;
    option.scope.check_constant(&expr)?;
    let failures = value::count(expr, "history", option.example)?;
    match failures.known.and_then(retry_rules::history::complaint) {
        None => Ok(failures),
        Some(complaint) => Err(error(failures, complaint)),
    }
}

/// Parses the level of the event `gave up`; returns the variant of `LogLevel`.
pub(super) fn log(option: &mut Reading<'_>) -> syn::Result<Ident> {
    let level = option.word(
        &[("off", "Off"), ("debug", "Debug"), ("info", "Info"), ("warn", "Warn")],
        "`log` is the level at which `tracing` logs that a call gave up: write `log = off`, \
         `debug`, `info` or `warn`",
    )?;
    Ok(Ident::new(level, Span::mixed_site()))
}

pub(super) fn when_open(args: &mut Args, option: &mut Reading<'_>) -> syn::Result<()> {
    option.equals()?;
    let value = option.input.fork();
    if value.call(Ident::parse_any).is_ok_and(|word| word == "fallback" || word == "continue") {
        let message = format!(
            "`on_failure` covers a call that the open breaker rejects: write `on_failure = {}` \
             instead of `when_open`",
            token_text(&up_to_comma(option.input))
        );
        return Err(at_next(option.input, message));
    }
    args.waits_for_breaker = grammar::one_of(
        option.name,
        option.input,
        &[("wait", true), ("give_up", false)],
        "`when_open` is `give_up` (the default), which ends a call that the breaker rejects, or \
         `wait`, which waits until the breaker admits it",
    )?;
    if args.waits_for_breaker {
        args.fields = args.fields.with(Field::WhenOpen);
    }
    Ok(())
}

pub(super) fn nested_once(option: &mut Reading<'_>) -> syn::Result<bool> {
    option.word(
        &[("once", true)],
        "`nested` can only be `once`, which gives each annotated function that is called while \
         this one is retried a single attempt: write `nested = once`, or leave it out",
    )
}

pub(super) fn docs(option: &mut Reading<'_>) -> syn::Result<bool> {
    option.word(
        &[("true", true), ("false", false)],
        "`docs` must be `true` or `false`: write `docs = false` to leave the section out",
    )
}

/// Parses the policy to start from.
pub(super) fn policy(args: &mut Args, option: &mut Reading<'_>) -> syn::Result<()> {
    let expr = option.expr()?;
    if matches!(&expr, Expr::Lit(_)) {
        return Err(error(
            expr,
            "`policy` takes a policy, not its name: write `const HTTP: Policy = policy!(attempts = 5, \
             jitter);` and `policy = HTTP`",
        ));
    }
    args.policy.base = Some(match option.scope.runtime(&expr).cloned() {
        Some(inside) => PolicyBase::Runtime(option.scope.evaluate(ValueKind::Policy, inside)),
        None => {
            option.scope.check_constant(&expr)?;
            PolicyBase::Constant(expr)
        }
    });
    Ok(())
}

pub(super) fn name(option: &mut Reading<'_>) -> syn::Result<Expr> {
    option.constant()
}

pub(super) fn context(option: &mut Reading<'_>) -> syn::Result<Ident> {
    option.equals()?;
    let missing = "`context` takes the name to bind: write `context = cx`";
    option.input.parse().map_err(|_| at_next(option.input, missing))
}

pub(super) fn krate(option: &mut Reading<'_>) -> syn::Result<Path> {
    option.equals()?;
    let missing = "`crate` takes the path of this library: write `crate = my_name_for_it`";
    option.input.call(Path::parse_mod_style).map_err(|_| at_next(option.input, missing))
}

pub(super) fn cloned(option: &mut Reading<'_>) -> syn::Result<Vec<Ident>> {
    argument_names(option, "the arguments that the body consumes or changes")
}

pub(super) fn carried(option: &mut Reading<'_>) -> syn::Result<Vec<Ident>> {
    argument_names(option, "the `mut` arguments that the next attempt goes on with")
}

/// Parses the names in parentheses after `clone` or `carry`.
fn argument_names(option: &Reading<'_>, meaning: &str) -> syn::Result<Vec<Ident>> {
    let Reading { name, example, input, .. } = option;
    if input.peek(Token![=]) {
        let ahead = input.fork();
        ahead.parse::<Token![=]>()?;
        let names = up_to_comma(&ahead);
        let listed = token_text(&names).replace(['(', ')', '[', ']'], "");
        return Err(error(names, format!("write `{name}({listed})`")));
    }
    let content = grammar::parentheses(input)
        .ok_or_else(|| error(name, format!("`{name}` names {meaning}: write `{name}{example}`")))?;
    let written = token_text(&content.fork().parse::<TokenStream>()?);
    let names = content.parse_terminated(Ident::parse_any, Token![,]).map_err(|wrong| {
        let listed = written.replace("&mut ", "").replace(['&', '*', '"'], "");
        let are_names = Punctuated::<Ident, Token![,]>::parse_terminated.parse_str(&listed).is_ok();
        let example = if are_names { format!("({listed})") } else { (*example).to_owned() };
        let message = format!("`{name}` takes the names of arguments: write `{name}{example}`");
        syn::Error::new(wrong.span(), message)
    })?;
    Ok(names.into_iter().collect())
}
