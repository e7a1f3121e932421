//! The options of the attribute and of `policy!`, as written, and the check of the policy that they
//! describe.

mod parse;
mod table;
mod values;

use proc_macro2::TokenStream;
use quote::ToTokens;
use retry_rules::options::POLICY;
use retry_rules::{Field, Fields, Policy};
use syn::{Expr, Ident, Path};

pub(crate) use self::parse::Syntax;
use crate::options::breaker::BreakerArgs;
use crate::options::check::{Checked, check_settings};
use crate::options::matcher::{self, Matcher};
use crate::options::settings::{Base, Entry, Settings};
use crate::tokens::errors::Errors;
use crate::value::Value;
use crate::value::runtime::RuntimePolicy;

/// All options as written, except the invalid ones.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) policy: PolicyArgs,
    pub(crate) retry_on: Option<Vec<Matcher>>,
    pub(crate) abort_on: Option<Vec<Matcher>>,
    /// The kinds of failure that use up no attempt.
    pub(crate) uncounted: Option<Vec<Ident>>,
    pub(crate) classify: Option<Expr>,
    pub(crate) retry_after: Option<Expr>,
    pub(crate) wait_by: Option<Expr>,
    pub(crate) breaker_on: Option<Vec<Matcher>>,
    /// `when_open = wait`: the call waits until the breaker admits it.
    pub(crate) waits_for_breaker: bool,
    pub(crate) cancel: Option<Expr>,
    pub(crate) breaker: Option<Breaker>,
    pub(crate) quota: Option<Expr>,
    pub(crate) on_failure: OnFailure,
    /// The function that maps the last error for the caller.
    pub(crate) map_error: Option<Expr>,
    pub(crate) on_retry: Option<Expr>,
    /// The level of the event `gave up`, as a variant of `LogLevel`.
    pub(crate) log: Option<Ident>,
    pub(crate) log_retries: Option<Ident>,
    /// The number of failures that the `RetryError` of a call keeps.
    pub(crate) history: Option<Value<u32>>,
    pub(crate) name: Option<Expr>,
    pub(crate) clone: Vec<Ident>,
    /// The arguments that keep what an attempt has changed.
    pub(crate) carry: Vec<Ident>,
    pub(crate) context: Option<Ident>,
    /// `nested = once`: functions called inside make one attempt each while this one is retried.
    pub(crate) nested_once: bool,
    pub(crate) docs: Option<bool>,
    pub(crate) krate: Option<Path>,
    /// The fields that the function's options concern, except the fields of invalid options.
    pub(crate) fields: Fields,
    /// The names of all options that were written, valid or not.
    names: Vec<Ident>,
}

/// The options that make up a policy.
pub(crate) struct PolicyArgs {
    /// The policy to start from.
    pub(crate) base: Option<PolicyBase>,
    pub(crate) settings: Settings<Policy>,
    /// The statements that read values before the first attempt.
    pub(crate) locals: TokenStream,
}

/// A policy to start from.
pub(crate) enum PolicyBase {
    Constant(Expr),
    Runtime(RuntimePolicy),
}

impl PolicyBase {
    /// The expression, as written.
    pub(crate) const fn written(&self) -> &Expr {
        match self {
            Self::Constant(expr) => expr,
            Self::Runtime(evaluated) => &evaluated.written,
        }
    }
}

impl PolicyArgs {
    /// The policy to start from, if it is a constant.
    pub(crate) const fn constant_base(&self) -> Option<&Expr> {
        match &self.base {
            Some(PolicyBase::Constant(base)) => Some(base),
            _ => None,
        }
    }

    /// The policy to start from, if it is known only at runtime.
    pub(crate) const fn runtime_base(&self) -> Option<&RuntimePolicy> {
        match &self.base {
            Some(PolicyBase::Runtime(base)) => Some(base),
            _ => None,
        }
    }
}

impl Default for PolicyArgs {
    fn default() -> Self {
        Self { base: None, settings: Settings::new(&POLICY), locals: TokenStream::new() }
    }
}

/// The value of `breaker`.
pub(crate) enum Breaker {
    Shared(Expr),
    InPlace(Box<BreakerArgs>),
}

impl Breaker {
    /// Returns whether the breaker may hold calls. The configuration of a shared one is not known
    /// here.
    pub(crate) fn may_hold(&self) -> bool {
        match self {
            Self::Shared(_) => true,
            Self::InPlace(breaker) => breaker.holds(),
        }
    }
}

/// The action of a call that gives up.
#[derive(Default)]
pub(crate) enum OnFailure {
    #[default]
    Stop,
    Continue,
    Fallback(Expr),
}

impl Args {
    /// Checks the policy that the options describe.
    pub(crate) fn check(&self, errors: &mut Errors) -> Checked {
        let mut beside = self.fields;
        if self.breaker.is_some() {
            // With a breaker, the matchers also decide what trips it, which matters even with a
            // single attempt.
            beside = beside.difference(Fields::NONE.with(Field::RetryOn));
        }
        // A wait that a server asks for may hold all calls of the breaker.
        if self.breaker.as_ref().is_some_and(Breaker::may_hold) {
            beside = beside.with(Field::Hold);
        }
        let hedge = self.policy.settings.entry(Field::Hedge);
        if self.hedges() {
            // Matchers also say which failures wait for a hedge, and the quota pays for it.
            let matters = Fields::from_slice(&[Field::RetryOn, Field::Quota]);
            beside = beside.difference(matters);
        }
        if let (Some(hedge), None) = (hedge, &self.policy.base) {
            if hedge.value.is_inherited {
                errors.at(
                    &hedge.name,
                    "`hedge` needs the time after which another attempt joins one that has not \
                     answered: write `hedge = \"200ms\"`; alone it means the hedge of a `policy`, \
                     and there is none",
                );
            }
        }
        if let (Some(kinds), Some(retry_on)) = (&self.uncounted, &self.retry_on) {
            matcher::check_retried(kinds, retry_on, errors);
        }
        let whole = self.policy.base.as_ref().map(|base| base.written().to_token_stream());
        let base = match &self.policy.base {
            Some(PolicyBase::Runtime(_)) => Base::Runtime,
            Some(PolicyBase::Constant(_)) => Base::Shared,
            None => Base::Default,
        };
        check_settings(&self.policy.settings, beside, base, whole.as_ref(), errors)
    }

    /// The names of what may be borrowed for the whole call, with the expressions.
    pub(crate) fn lent(&self) -> impl Iterator<Item = (&'static str, &Expr)> {
        let breaker = match &self.breaker {
            Some(Breaker::Shared(breaker)) => Some(breaker),
            _ => None,
        };
        let (quota, cancel) = (self.quota.as_ref(), self.cancel.as_ref());
        let all = [("breaker", breaker), ("quota", quota), ("cancel", cancel)];
        all.into_iter().filter_map(|(option, lent)| Some((option, lent?)))
    }

    /// The `hedge` that was written, unless it is `unlimited`.
    pub(crate) fn hedge(&self) -> Option<&Entry<Policy>> {
        let hedge = self.policy.settings.entry(Field::Hedge);
        hedge.filter(|entry| entry.value.hedge_delay.is_some())
    }

    /// Returns whether attempts may run at once.
    pub(crate) fn hedges(&self) -> bool {
        self.hedge().is_some()
    }

    /// The name of this option, if it was written.
    pub(crate) fn written(&self, option: &str) -> Option<&Ident> {
        self.names.iter().find(|name| *name == option)
    }
}
