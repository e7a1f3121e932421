//! The value of an option: a literal, which is known at expansion, or a `const` expression, which
//! only the compiler can evaluate.

pub(crate) mod runtime;

use core::fmt::Display;
use core::time::Duration;

use proc_macro2::TokenStream;
use quote::ToTokens;
use retry_rules::foreign_names::word_here;
use retry_rules::suggest::number_meant;
use retry_rules::{Attempts, duration};
use syn::{Expr, ExprLit, ExprUnary, Ident, Lit, UnOp};

use crate::tokens::errors::error;
use crate::tokens::hygiene::quote;
use crate::tokens::search::is_one_of;
use crate::tokens::text::short_text;
use crate::value::runtime::Scope;

/// A value as written, and its parsed form if it is known.
#[derive(Clone)]
pub(crate) struct Value<T> {
    pub(crate) expr: Expr,
    pub(crate) known: Option<T>,
    /// The variable that holds it, if it is known only at runtime.
    pub(crate) runtime: Option<Ident>,
}

impl<T> Value<T> {
    fn known(expr: Expr, value: T) -> Self {
        Self { expr, known: Some(value), runtime: None }
    }

    fn constant(expr: Expr) -> Self {
        Self { expr, known: None, runtime: None }
    }
}

impl Scope {
    /// Returns the value of an option: read by the function `reader` of the runtime if it is known
    /// only there, and otherwise passed to `read`.
    pub(crate) fn value<T>(
        &mut self,
        reader: &str,
        expr: Expr,
        read: impl FnOnce(Expr) -> syn::Result<Value<T>>,
    ) -> syn::Result<Value<T>> {
        match self.runtime(&expr).filter(|_| !is_literal(&expr)).cloned() {
            Some(expr) => {
                let runtime = Some(self.read(reader, &expr));
                Ok(Value { expr, known: None, runtime })
            }
            None if self.has_calls() && runtime::is_of_environment(&expr) => {
                let message = "a value of the environment goes inside `runtime(…)`, which needs the \
                               type of a `parse`, such as `parse::<u32>()`";
                Err(error(expr, message))
            }
            None => read(expr),
        }
    }
}

impl<T> ToTokens for Value<T> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.expr.to_tokens(tokens);
    }
}

/// Unwraps a literal from parentheses and from the invisible groups of macros.
fn peel(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => peel(&group.expr),
        Expr::Paren(paren) => peel(&paren.expr),
        other => other,
    }
}

/// A numeric literal, and whether it is negated.
fn number(expr: &Expr) -> Option<(bool, &Lit)> {
    match peel(expr) {
        Expr::Lit(ExprLit { lit: lit @ (Lit::Int(_) | Lit::Float(_)), .. }) => Some((false, lit)),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => {
            number(expr).map(|(negative, lit)| (!negative, lit))
        }
        _ => None,
    }
}

/// Returns whether this is a literal, which can be checked at expansion.
fn is_literal(expr: &Expr) -> bool {
    matches!(peel(expr), Expr::Lit(_)) || number(expr).is_some()
}

/// The text, if this is a literal text.
pub(crate) fn text(expr: &Expr) -> Option<String> {
    match peel(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The share that a literal stands for: `0.5`, or `"50%"`.
pub(crate) fn share(expr: &Expr) -> Option<String> {
    let written = text(expr).unwrap_or_else(|| expr.to_token_stream().to_string());
    let share = number_meant(&written)?;
    share.parse().is_ok_and(|share: f64| 0.0 < share && share < 1.0).then_some(share)
}

/// Returns whether this is the word `unlimited`.
pub(crate) fn is_unlimited(expr: &Expr) -> bool {
    word(expr).is_some_and(|word| word == "unlimited")
}

/// Returns whether this is a word of others for one of the `known`.
fn means(expr: &Expr, known: &[&str]) -> bool {
    word(expr).is_some_and(|word| word_here(&word, known).is_some())
}

/// Parses `5`, `unlimited`, or a const expression.
pub(crate) fn attempts(expr: Expr) -> syn::Result<Value<Attempts>> {
    if is_unlimited(&expr) {
        return Ok(Value::known(expr, Attempts::Unlimited));
    }
    if means(&expr, &["unlimited", "none"]) || matches!(number(&expr), Some((true, _))) {
        return Err(error(
            &expr,
            "`attempts` counts all calls, including the first, so it is at least 1: to retry for as \
             long as it takes, write `attempts = unlimited` and `max_elapsed = \"5m\"`, or another bound",
        ));
    }
    let Value { expr, known, runtime } = count(expr, "attempts", "5")?;
    Ok(Value { expr, known: known.map(Attempts::Limited), runtime })
}

/// Parses a whole number, or a const expression.
pub(crate) fn count(expr: Expr, option: impl Display, example: &str) -> syn::Result<Value<u32>> {
    match number(&expr) {
        Some((false, Lit::Int(int))) => match int.base10_parse() {
            Ok(count) => Ok(Value::known(expr, count)),
            Err(_) => Err(error(&expr, format_args!("`{option}` is at most {}", u32::MAX))),
        },
        Some((true, _)) => Ok(Value::known(expr, 0)),
        _ if is_literal(&expr) => {
            let number = text(&expr).filter(|text| text.parse::<u32>().is_ok());
            let value = number.as_deref().unwrap_or(example);
            let message = "must be a whole number, such as";
            Err(error(&expr, format!("`{option}` {message} `{option} = {value}`")))
        }
        _ => Ok(Value::constant(expr)),
    }
}

/// Parses a number, or a const expression.
pub(crate) fn float(expr: Expr, option: impl Display, example: &str) -> syn::Result<Value<f64>> {
    let parsed = match number(&expr) {
        Some((negative, lit)) => {
            let parsed = match lit {
                Lit::Int(int) => int.base10_parse::<f64>(),
                Lit::Float(float) => float.base10_parse(),
                _ => Ok(0.0),
            };
            let parsed = parsed.map_err(|why| error(&expr, format_args!("`{option}`: {why}")))?;
            Some(if negative { -parsed } else { parsed })
        }
        None if is_literal(&expr) => {
            let number = text(&expr).and_then(|text| number_meant(&text));
            let example = number.unwrap_or_else(|| example.to_owned());
            let message = format!("`{option}` must be a number, such as `{option} = {example}`");
            return Err(error(&expr, message));
        }
        None => None,
    };
    Ok(Value { expr, known: parsed, runtime: None })
}

/// Parses the [`duration`] of a bound.
pub(crate) fn bound(expr: Expr) -> syn::Result<Value<Duration>> {
    if means(&expr, &["unlimited", "none"]) {
        return Err(error(expr, "write `unlimited`, or leave this option out"));
    }
    duration(expr)
}

/// Rejects what is certainly not the function that an `option` takes, such as the `example`.
pub(crate) fn function(expr: Expr, option: &str, example: &str) -> syn::Result<Expr> {
    const PRINTS: &str = "println eprintln print eprint trace debug info warn error event";
    let arguments = example.split('|').nth(1).map(|list| list.split(',').count());
    let is_other = match &expr {
        Expr::Lit(_) | Expr::Binary(_) | Expr::Await(_) | Expr::Unary(_) => true,
        Expr::Macro(call) => {
            call.mac.path.segments.last().is_some_and(|name| is_one_of(&name.ident, PRINTS))
        }
        Expr::Closure(closure) => arguments.is_some_and(|count| count != closure.inputs.len()),
        Expr::Path(path) => option == "ok" && is_constructed(&expr) || path.path.is_ident("None"),
        expr => is_constructed(expr),
    };
    if !is_other {
        return Ok(expr);
    }
    let written = short_text(&expr);
    let function = match (&expr, option) {
        (Expr::Closure(_), _) => format!(" of other arguments, such as `{example}`"),
        (Expr::Lit(_), "ok") => format!(": write `|value| *value == {written}`"),
        (_, "ok") => format!(": write `|value| matches!(value, {written})`"),
        (Expr::Lit(_) | Expr::Call(_), "fallback") => format!(": write `|_| {written}`"),
        // A condition of the error: `error.kind() == …`.
        (Expr::Binary(_) | Expr::Unary(_), "when") => {
            let mut words = written.split(|c: char| !c.is_alphanumeric() && c != '_');
            let error = words.find(|word| word.starts_with(char::is_lowercase)).unwrap_or("_");
            format!(": write `|{error}| {written}`")
        }
        _ => format!(", such as `{example}`"),
    };
    Err(error(expr, format!("`{option}` takes a function{function}")))
}

/// Returns whether this is a value of an enum or a struct, judging by its name.
pub(crate) fn is_constructed(expr: &Expr) -> bool {
    let path = match expr {
        Expr::Call(call) => return is_constructed(&call.func),
        Expr::Struct(value) => &value.path,
        Expr::Path(value) => &value.path,
        _ => return false,
    };
    let last = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    last.starts_with(char::is_uppercase) && last.contains(char::is_lowercase)
}

/// Returns whether this is a variable, judging by its name.
pub(crate) fn is_variable(expr: &Expr) -> bool {
    let Expr::Path(path) = expr else { return false };
    path.path.get_ident().is_some_and(|name| name.to_string().contains(char::is_lowercase))
}

/// Parses `"30s"`, or a const expression of type `Duration`.
pub(crate) fn duration(expr: Expr) -> syn::Result<Value<Duration>> {
    if let Some((negative, lit)) = number(&expr) {
        let (digits, suffix) = match lit {
            Lit::Int(int) => (int.base10_digits(), int.suffix()),
            Lit::Float(float) => (float.base10_digits(), float.suffix()),
            _ => ("5", ""),
        };
        let quoted = format!("{digits}{suffix}");
        return Err(if negative {
            error(&expr, "a duration cannot be negative: write one such as `\"5s\"`")
        } else if !suffix.is_empty() && duration::parse(&quoted).is_ok() {
            error(&expr, format_args!("a duration is a string: write `\"{quoted}\"`"))
        } else {
            error(&expr, duration::without_unit(digits))
        });
    }
    match peel(&expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => match duration::parse(&text.value()) {
            Ok(duration) => Ok(Value::known(expr, duration)),
            Err(why) => Err(error(&expr, why)),
        },
        Expr::Lit(_) => Err(error(
            &expr,
            "a duration must be a string, such as `\"500ms\"`, `\"30s\"` or `\"1h30m\"`",
        )),
        Expr::Binary(sum) if is_literal(&sum.left) || is_literal(&sum.right) => Err(error(
            &expr,
            "a duration is not computed here: write one, such as `\"2m\"`, or a constant of type \
             `Duration`",
        )),
        _ => Ok(Value::constant(expr)),
    }
}

/// The single lower-case word that an expression consists of, if any: a keyword of the grammar
/// rather than a constant.
pub(crate) fn word(expr: &Expr) -> Option<String> {
    let Expr::Path(path) = peel(expr) else { return None };
    let word = path.path.get_ident()?.to_string();
    word.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(word)
}

/// A value as tokens of the right type, however it was written.
pub(crate) struct Tokens<'a, T>(pub(crate) &'a Value<T>);

/// A type of values that can be written as tokens.
pub(crate) trait Literal: Copy {
    fn literal(self) -> Option<TokenStream>;
}

impl Literal for Duration {
    fn literal(self) -> Option<TokenStream> {
        let (secs, nanos) = (self.as_secs(), self.subsec_nanos());
        Some(quote!(__retry::time(#secs, #nanos)))
    }
}

impl Literal for f64 {
    fn literal(self) -> Option<TokenStream> {
        let (sign, number) = ((self < 0.0).then(|| quote!(-)), self.abs());
        // An infinite number, such as `1e400`, has no token: it breaks a rule, or the compiler
        // rejects it.
        number.is_finite().then(|| quote!(#sign #number))
    }
}

impl Literal for u32 {
    fn literal(self) -> Option<TokenStream> {
        Some(quote!(#self))
    }
}

impl<T: Literal> ToTokens for Tokens<'_, T> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Value { expr, known, runtime } = self.0;
        match (known.and_then(Literal::literal), runtime) {
            (Some(literal), _) => tokens.extend(literal),
            (None, Some(local)) => local.to_tokens(tokens),
            (None, None) => expr.to_tokens(tokens),
        }
    }
}
