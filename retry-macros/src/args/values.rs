//! The parsers of the values of a function's options.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use retry_rules::Field;
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Expr, Ident, Path, Token, parenthesized, token};

use super::{Args, Breaker, OnFailure, PolicyBase, Syntax};
use crate::options::breaker::BreakerArgs;
use crate::options::matcher::{self, Matcher};
use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, assigned, at_next, equals, up_to_comma};
use crate::tokens::search::is_punct;
use crate::tokens::text::short_text;
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

    /// Parses `= function` after the name.
    pub(super) fn function(&mut self) -> syn::Result<Expr> {
        value::function(self.expr()?, &self.name.to_string(), self.example)
    }

    /// Parses the `=`.
    fn equals(&self) -> syn::Result<()> {
        equals(self.name, self.input, self.example)
    }

    /// Parses a value, each of which is a word. `message` is the error for another word.
    fn word<T: Copy>(&self, words: &[(&str, T)], message: &str) -> syn::Result<T> {
        self.equals()?;
        grammar::one_of(self.input, words, message)
    }

    /// Parses a value that belongs to the function, and not to a call.
    fn constant(&self) -> syn::Result<Expr> {
        let (expr, Self { name, example, .. }) = (self.expr()?, self);
        let is_formatted = matches!(&expr, Expr::Macro(call) if call.mac.path.is_ident("format"));
        if !is_formatted && self.scope.runtime(&expr).is_none() {
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

pub(super) fn kinds(option: &mut Reading<'_>) -> syn::Result<Vec<Ident>> {
    Ok(matchers(option)?.iter().filter_map(Matcher::kind).cloned().collect())
}

pub(super) fn breaker(option: &mut Reading<'_>) -> syn::Result<Breaker> {
    if option.input.is_empty() || option.input.peek(Token![,]) {
        return Err(error(
            option.name,
            "`breaker` needs a circuit breaker: a shared one, as in `breaker = DB`, or an inline \
             one for this function alone, as in `breaker(failure_threshold = 5)`",
        ));
    }
    if let Some(settings) = settings_elsewhere(option.input) {
        let settings = short_text(&settings).replace(": ", " = ");
        let message = format!(
            "a shared breaker is configured where it is declared: for an inline one of this function \
             alone, write `breaker({settings})`"
        );
        return Err(error(option.name, message));
    }
    if !option.input.peek(token::Paren) {
        return Ok(Breaker::Shared(without_reference(option.expr()?)));
    }
    let content;
    parenthesized!(content in option.input);
    let options = Syntax::Attribute.options();
    let in_place = BreakerArgs::parse(&content, option.name, &options, option.scope, option.errors);
    Ok(Breaker::InPlace(Box::new(in_place)))
}

/// The settings of a breaker after `=`, or in brackets other than parentheses.
fn settings_elsewhere(input: ParseStream) -> Option<TokenStream> {
    let group = up_to_comma(input).into_iter().find_map(|token| match token {
        TokenTree::Group(group) => Some(group),
        _ => None,
    })?;
    let inside: Vec<_> = group.stream().into_iter().collect();
    let is_elsewhere = input.peek(Token![=]) || group.delimiter() != Delimiter::Parenthesis;
    // `::`, `==` and `=>` are parts of expressions.
    let is_operator = [':', '=', '>'].iter().any(|mark| is_punct(inside.get(2), *mark));
    let is_setting = ['=', ':'].iter().any(|mark| is_punct(inside.get(1), *mark));
    (is_elsewhere && is_setting && !is_operator).then(|| group.stream())
}

pub(super) fn quota(option: &mut Reading<'_>) -> syn::Result<Expr> {
    if option.input.peek(token::Paren) {
        let message = "a quota is shared: declare `static OUTBOUND: RetryQuota = \
                       RetryQuota::new(\"outbound\", QuotaConfig::new());`, and write `quota = OUTBOUND`";
        return Err(error(option.name, message));
    }
    option.expr().map(without_reference)
}

/// A breaker or a quota is given by name; `&DB` means the same. A variable that several calls use is
/// lent by `&db`.
fn without_reference(expr: Expr) -> Expr {
    match expr {
        Expr::Reference(reference) if !value::is_variable(&reference.expr) => {
            without_reference(*reference.expr)
        }
        other => other,
    }
}

pub(super) fn on_failure(option: &mut Reading<'_>) -> syn::Result<OnFailure> {
    option.equals()?;
    let input = option.input;
    let place = input.fork();
    let action = grammar::one_of(
        input,
        &[("stop", "stop"), ("continue", "continue"), ("fallback", "fallback")],
        "`on_failure` is `stop` (the default), which returns the last error, `continue`, which \
         returns `T::default()`, or `fallback(f)`, which returns what `f` makes of the error, as \
         in `fallback(|_| 0)`",
    )?;
    match action {
        "stop" => return Ok(OnFailure::Stop),
        "continue" => return Ok(OnFailure::Continue),
        _ => {}
    }
    let content = grammar::parentheses(input).ok_or_else(|| {
        at_next(
            &place,
            "`fallback` needs a function or a closure, as in `on_failure = fallback(f)` or \
             `fallback(|error| …)`",
        )
    })?;
    let function = value::function(content.parse()?, "fallback", "|error| …")?;
    grammar::last(&content, "`fallback` takes one function, which sees the arguments")?;
    Ok(OnFailure::Fallback(function))
}

/// Parses the number of failures to keep: a literal, which is checked, or a constant.
pub(super) fn history(option: &mut Reading<'_>) -> syn::Result<Value<u32>> {
    let expr = option.constant()?;
    let failures = value::count(expr, "history", option.example)?;
    match failures.known.and_then(retry_rules::history::complaint) {
        None => Ok(failures),
        Some(complaint) => Err(error(failures, complaint)),
    }
}

/// Parses the level of an event; returns the variant of `LogLevel`.
pub(super) fn log(option: &mut Reading<'_>) -> syn::Result<Ident> {
    let name = option.name;
    let what = if name == "log" { "a call gave up" } else { "a failure will be retried" };
    let message = format!(
        "`{name}` is the level at which `tracing` logs that {what}: write `{name} = off`, `debug`, \
         `info` or `warn`"
    );
    let levels = [("off", "Off"), ("debug", "Debug"), ("info", "Info"), ("warn", "Warn")];
    let level = option.word(&levels, &message)?;
    Ok(Ident::new(level, Span::mixed_site()))
}

pub(super) fn when_open(args: &mut Args, option: &mut Reading<'_>) -> syn::Result<()> {
    args.waits_for_breaker = option.word(
        &[("wait", true), ("give_up", false)],
        "`when_open` is `give_up` (the default), which ends a call that the breaker rejects, or \
         `wait`, which waits until the breaker admits it; `on_failure = fallback(f)` returns a value \
         in place of the error",
    )?;
    if option.input.peek(token::Paren) {
        let message = "`wait` takes no time: bound the wait with `deadline` or `max_elapsed`";
        return Err(at_next(option.input, message));
    }
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
        &grammar::BOOLEANS,
        "`docs` must be `true` or `false`: write `docs = false` to leave the section out",
    )
}

/// Parses the policy to start from.
pub(super) fn policy(args: &mut Args, option: &mut Reading<'_>) -> syn::Result<()> {
    let expr = option.expr()?;
    args.policy.base = Some(match option.scope.runtime(&expr).cloned() {
        Some(inside) => PolicyBase::Runtime(option.scope.policy(inside)),
        None => PolicyBase::Constant(expr),
    });
    Ok(())
}

pub(super) fn name(option: &mut Reading<'_>) -> syn::Result<Expr> {
    let name = option.constant()?;
    if value::text(&name).is_some_and(|name| name.trim().is_empty()) {
        let instead = if option.scope.is_block() {
            "write one such as `name = \"shop.connect\"`"
        } else {
            "leave `name` out for the function's own"
        };
        return Err(error(name, format!("an empty name is found nowhere: {instead}")));
    }
    Ok(name)
}

pub(super) fn context(option: &mut Reading<'_>) -> syn::Result<Ident> {
    option.equals()?;
    let missing = "`context` takes the name to bind: write `context = cx`";
    let name: Ident = option.input.parse().map_err(|_| at_next(option.input, missing))?;
    if option.input.peek(Token![:]) {
        let message = format!("`context` takes a name without a type: write `context = {name}`");
        option.errors.push(at_next(option.input, message));
        let _: (Token![:], syn::Type) = (option.input.parse()?, option.input.parse()?);
    }
    Ok(name)
}

pub(super) fn krate(option: &mut Reading<'_>) -> syn::Result<Path> {
    option.equals()?;
    let missing = "`crate` takes the path of this library: write `crate = my_name_for_it`";
    option.input.call(Path::parse_mod_style).map_err(|_| at_next(option.input, missing))
}

/// Parses the names of arguments, of `clone` or `carry`.
pub(super) fn argument_names(option: &mut Reading<'_>) -> syn::Result<Vec<Ident>> {
    let Reading { name, example, input, .. } = option;
    let (which, more) = if *name == "clone" {
        (
            "that the body consumes or changes",
            "; a field is cloned in the body: `self.body.clone()`",
        )
    } else {
        ("declared `mut` that the next attempt goes on with", "")
    };
    let message =
        format!("`{name}` takes the names of the arguments {which}, as in `{name}{example}`{more}");
    let content = grammar::parentheses(input).ok_or_else(|| error(*name, &message))?;
    let names = content.parse_terminated(Ident::parse_any, Token![,]);
    let names = names.map_err(|wrong| syn::Error::new(wrong.span(), message))?;
    Ok(names.into_iter().collect())
}
