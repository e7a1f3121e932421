//! The random spread of waits: the values of `jitter`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use retry_rules::{Field, Fields, Jitter, duration};
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, Ident, Lit, Token, token};

use crate::tokens::errors::error;
use crate::tokens::grammar::{self, assigned};
use crate::tokens::hygiene::quote;
use crate::value::runtime::Scope;
use crate::value::{self, Literal as _, Tokens, Value};

/// The value of `jitter`.
pub(crate) enum JitterKind {
    Named(Jitter),
    Factor(Value<f64>),
    /// `up(0.3)`
    Up(Value<f64>),
}

impl JitterKind {
    /// The jitter, if it is known at expansion.
    pub(crate) fn known(&self) -> Option<Jitter> {
        match self {
            Self::Named(jitter) => Some(*jitter),
            Self::Factor(factor) => factor.known.map(Jitter::Proportional),
            Self::Up(factor) => factor.known.map(Jitter::Up),
        }
    }

    fn factor(&self) -> Option<&Value<f64>> {
        match self {
            Self::Named(_) => None,
            Self::Factor(factor) | Self::Up(factor) => Some(factor),
        }
    }

    /// The field of the factor with its tokens, if there is one.
    pub(crate) fn part(&self) -> Option<(Field, TokenStream)> {
        self.factor().map(|factor| (Field::JitterFactor, factor.to_token_stream()))
    }

    /// Returns whether the factor is known only at runtime.
    pub(crate) fn runtime(&self) -> Fields {
        match self.factor() {
            Some(factor) if factor.runtime.is_some() => Fields::NONE.with(Field::JitterFactor),
            _ => Fields::NONE,
        }
    }

    /// The jitter as an expression in the expansion.
    pub(crate) fn expression(&self) -> TokenStream {
        let factor = self.factor().map(Tokens);
        let variant = match self {
            Self::Named(Jitter::Proportional(factor)) => quote!(Proportional(#factor)),
            Self::Named(Jitter::Added { least, most }) => {
                let (least, most) = (least.literal(), most.literal());
                quote!(Added { least: #least, most: #most })
            }
            Self::Named(Jitter::Full) => quote!(Full),
            Self::Named(Jitter::Equal) => quote!(Equal),
            Self::Named(Jitter::Decorrelated) => quote!(Decorrelated),
            Self::Named(_) => quote!(None),
            Self::Up(_) => quote!(Up(#factor)),
            Self::Factor(_) => quote!(Proportional(#factor)),
        };
        quote!(__retry::Jitter::#variant)
    }
}

/// The jitters that have names.
pub(crate) const NAMES: [&str; 4] = ["full", "equal", "decorrelated", "none"];

/// The name of the one that takes a factor.
const UP: &str = "up";

/// Parses `up(0.3)`, if that is what was written.
fn up(expr: &Expr, scope: &mut Scope) -> syn::Result<Option<JitterKind>> {
    let (path, arguments) = match expr {
        Expr::Call(call) => (&*call.func, Some(&call.args)),
        path => (path, None),
    };
    if value::word(path).is_none_or(|word| word != UP) || arguments.is_none() && scope.knows(UP) {
        return Ok(None);
    }
    let Some(factor) = arguments.filter(|all| all.len() == 1).and_then(|all| all.first()) else {
        let message = "`up` takes the share that a wait is lengthened by at most: write `up(0.3)`";
        return Err(error(expr, message));
    };
    if let Some(meant) = meant(factor, true) {
        return Err(error(expr, meant));
    }
    let read = |expr| value::float(expr, "jitter", "0.3");
    scope.value("number", factor.clone(), read).map(JitterKind::Up).map(Some)
}

/// The message about a text, if it is a percentage, the name of a jitter, or a time.
fn meant(expr: &Expr, is_upwards: bool) -> Option<String> {
    let text = value::text(expr)?;
    let share = value::share(expr);
    let jitter = match share {
        Some(share) if is_upwards => format!("up({share})"),
        Some(share) => share,
        None if NAMES.contains(&&*text) => text,
        None if duration::parse(&text).is_ok() => format!("\"0ms..{text}\""),
        None => return None,
    };
    Some(format!("this is not a jitter: write `jitter = {jitter}`"))
}

/// Parses what follows `jitter`, if anything.
pub(crate) fn read(
    name: &Ident,
    scope: &mut Scope,
    input: ParseStream,
) -> syn::Result<(JitterKind, TokenStream)> {
    let listed = "`jitter` (±30 %), `jitter = 0.25`, `jitter = full`, `jitter = equal`, `jitter = decorrelated`, `jitter = up(0.3)`, `jitter = \"0ms..250ms\"` or `jitter = none`";

    if !input.peek(Token![=]) {
        if input.peek(token::Paren) {
            let inside = grammar::written(input);
            let message = format!("write `jitter = {inside}`; the forms are {listed}");
            return Err(error(name, message));
        }
        return Ok((JitterKind::Named(Jitter::DEFAULT), quote!(#name)));
    }
    let expr = assigned(name, input, "0.25")?;
    let tokens = quote!(#expr);
    let text = tokens.to_string();
    let is_variant = |name: &&&str| name[..1].to_uppercase() + &name[1..] == text;
    if let Some(name) = NAMES.iter().find(is_variant) {
        return Err(syn::Error::new_spanned(&expr, format!("write `jitter = {name}`")));
    }
    if let Some(kind) = up(&expr, scope)? {
        return Ok((kind, tokens));
    }
    let word = value::word(&expr).filter(|word| !scope.knows(word));
    let named = [Jitter::Full, Jitter::Equal, Jitter::Decorrelated, Jitter::None];
    let kind = match word.as_deref() {
        Some(word) => match named.into_iter().find(|jitter| jitter.name() == word) {
            Some(jitter) => JitterKind::Named(jitter),
            None => return Err(error(&expr, grammar::unknown("jitter", word, &NAMES))),
        },
        None => {
            if let Some(range) = value::text(&expr).and_then(|text| Jitter::parse_range(&text)) {
                let jitter = range.map_err(|why| error(&expr, why))?;
                return Ok((JitterKind::Named(jitter), tokens));
            }
            if let Some(meant) = meant(&expr, false) {
                return Err(error(&expr, meant));
            }
            if matches!(
                &expr,
                Expr::Range(_) | Expr::Lit(ExprLit { lit: Lit::Str(_) | Lit::Bool(_), .. })
            ) {
                return Err(error(&expr, format!("unknown jitter; the forms are {listed}")));
            }
            let read = |expr| value::float(expr, "jitter", "0.25");
            JitterKind::Factor(scope.value("number", expr, read)?)
        }
    };
    Ok((kind, tokens))
}
