//! How waits are spread: the values of `jitter`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use retry_rules::{Field, Jitter, duration};
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, Ident, Lit, Token, parenthesized, token};

use crate::grammar::{self, assigned, nearest};
use crate::hygiene::quote;
use crate::plain::plain;
use crate::run_time::{Scope, ValueKind};
use crate::value::{self, Tokens, Value};

/// The value of `jitter`.
pub(crate) struct JitterArg {
    pub(crate) tokens: TokenStream,
    pub(crate) kind: JitterKind,
}

pub(crate) enum JitterKind {
    Named(Jitter),
    Factor(Value<f64>),
}

impl JitterKind {
    /// The jitter, if it is known at expansion.
    pub(crate) fn known(&self) -> Option<Jitter> {
        match self {
            Self::Named(jitter) => Some(*jitter),
            Self::Factor(factor) => factor.known.map(Jitter::Proportional),
        }
    }

    /// The factor, if there is one.
    pub(crate) fn part(&self) -> Option<(Field, TokenStream)> {
        match self {
            Self::Named(_) => None,
            Self::Factor(factor) => Some((Field::JitterFactor, factor.to_token_stream())),
        }
    }

    /// Whether the factor is known only at run time.
    pub(crate) fn is_run_time(&self) -> bool {
        matches!(self, Self::Factor(factor) if factor.run_time.is_some())
    }

    /// The jitter as an expression in the expansion. `private` is the runtime's module that
    /// expansions call.
    pub(crate) fn expression(&self, private: &TokenStream) -> TokenStream {
        let variant = match self {
            Self::Named(Jitter::Proportional(factor)) => quote!(Proportional(#factor)),
            Self::Named(Jitter::Full) => quote!(Full),
            Self::Named(Jitter::Equal) => quote!(Equal),
            Self::Named(Jitter::Decorrelated) => quote!(Decorrelated),
            Self::Named(_) => quote!(None),
            Self::Factor(factor) => {
                let factor = Tokens(factor);
                quote!(Proportional(#factor))
            }
        };
        quote!(#private::Jitter::#variant)
    }
}

/// The jitters that have names.
pub(crate) const NAMES: [&str; 4] = ["full", "equal", "decorrelated", "none"];

/// Parses what follows `jitter`, if anything.
pub(crate) fn read(name: &Ident, scope: &mut Scope, input: ParseStream) -> syn::Result<JitterArg> {
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
        return Ok(JitterArg { tokens: quote!(#name), kind: JitterKind::Named(Jitter::DEFAULT) });
    }
    let expr = assigned(name, input, "0.25")?;
    let tokens = quote!(#expr);
    let capitalised = quote!(#expr).to_string().to_lowercase();
    if NAMES.contains(&capitalised.as_str()) && value::word(&expr).is_none() {
        return Err(syn::Error::new_spanned(&expr, format!("write `jitter = {capitalised}`")));
    }
    let word = value::word(&expr).filter(|word| !scope.knows(word));
    let kind = match word.as_deref() {
        Some("full") => JitterKind::Named(Jitter::Full),
        Some("equal") => JitterKind::Named(Jitter::Equal),
        Some("decorrelated") => JitterKind::Named(Jitter::Decorrelated),
        Some("none") => JitterKind::Named(Jitter::None),
        Some(word) => {
            let listed = format!("the forms are {listed}");
            let message = grammar::unknown("jitter", word, nearest(word, &NAMES), &listed);
            return Err(syn::Error::new_spanned(&expr, message));
        }
        None => {
            if let Expr::Range(range) = &expr {
                let share = range.end.as_ref().map_or_else(|| "0.3".to_owned(), plain);
                let message = format!(
                    "jitter is one number, the share that a wait is lengthened or shortened by at \
                     most: write `jitter = {share}`"
                );
                return Err(syn::Error::new_spanned(&expr, message));
            }
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
            if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &expr {
                if duration::parse(&text.value()).is_ok_and(|time| !time.is_zero()) {
                    return Err(syn::Error::new_spanned(
                        &expr,
                        "jitter is a share of each wait, not a time: write `jitter = 0.3`, or \
                         `jitter = full` for anything up to the wait",
                    ));
                }
            }
            let read = |expr| value::float(expr, "jitter", "0.25");
            JitterKind::Factor(scope.value(ValueKind::Number, expr, read)?)
        }
    };
    Ok(JitterArg { tokens, kind })
}
