//! The items that an expansion declares: the policy, the site, the function's own breaker, and the
//! assertions for const evaluation.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::{Expr, Ident};

use super::Expansion;
use super::policy;
use crate::args::{Breaker, OnFailure};
use crate::options::hedge::HedgeDelay;
use crate::tokens::hygiene::{SpanRange, quote};
use crate::tokens::search::mentions;
use crate::value;

impl Expansion<'_> {
    /// The items of the function: its policy, its site, its own breaker, and the assertions for
    /// const evaluation.
    pub(super) fn items(&self) -> TokenStream {
        let expression = &self.policy;
        let mut items = policy::import(self.args);
        items.extend(quote!(
            use __retry::probe::Rung as _;
        ));
        let name = match &self.args.name {
            // On its own, so that the error about a value that is not a string concerns nothing
            // else.
            Some(name) => {
                items.extend(quote!(const __RETRY_NAME: &::core::primitive::str = #name;));
                quote!(__RETRY_NAME)
            }
            None => {
                let name = format!("::{}", self.name.unraw());
                quote!(::core::concat!(::core::module_path!(), #name))
            }
        };
        let known = if self.generic {
            items.extend(
                quote!(let __retry_policy: &'static __retry::Policy = const { &(#expression) };),
            );
            quote!(__retry::None)
        } else {
            // Const evaluation reads a policy that is a separate constant.
            let policy = &self.args.policy;
            let is_read = policy.constant_base().is_some()
                || !self.checked.unchecked.is_empty()
                || self.is_runtime() && policy.runtime_base().is_none();
            if is_read {
                items.extend(quote!(const __RETRY_POLICY: __retry::Policy = #expression;));
            }
            match (self.args.policy.runtime_base(), is_read) {
                (Some(_), _) => quote!(__retry::None),
                (None, true) => quote!(__retry::Some(__RETRY_POLICY)),
                (None, false) => quote!(__retry::Some(#expression)),
            }
        };
        items.extend(self.site(&name, &known));
        // An inline const that checks the policy cannot refer to a `let`.
        let checked = if self.generic { quote!(&(#expression)) } else { quote!(&__RETRY_POLICY) };
        items.extend(policy::assertions(&self.checked.unchecked, self.generic, |rules| {
            let written = policy::written(self.checked.written);
            quote!(__retry::complaint(__retry::Rules::broken_by_policy(#checked, #written), #rules))
        }));
        if let (false, Some(base)) = (self.is_hedged(), self.args.policy.constant_base()) {
            let is_async = self.is_async;
            let complaint = quote!(__retry::complaint_about_shared(#checked, #is_async));
            items.extend(policy::assertion(base, self.generic, &complaint));
        }
        if let Some(HedgeDelay::Percentile(percent)) = self.hedge_delay {
            items.extend(quote! {
                static __RETRY_LATENCIES: __retry::Latencies = __retry::Latencies::new(#percent);
            });
        }
        if let Some(Breaker::InPlace(breaker)) = &self.args.breaker {
            let config = breaker.config();
            let written = policy::written(breaker.checked.written);
            items.extend(quote! {
                const __RETRY_BREAKER_CONFIG: __retry::BreakerConfig = #config;
                static __RETRY_BREAKER: __retry::CircuitBreaker =
                    __retry::breaker_in_place(#name, __RETRY_BREAKER_CONFIG);
            });
            items.extend(policy::assertions(&breaker.checked.unchecked, false, |rules| {
                let config = quote!(&__RETRY_BREAKER_CONFIG);
                let broken = quote!(__retry::Rules::broken_by_breaker(#config, #written));
                quote!(__retry::complaint(#broken, #rules))
            }));
        }
        items
    }

    /// The site of the function, with this `name` and the policy as far as it is `known`.
    fn site(&self, name: &TokenStream, known: &TokenStream) -> TokenStream {
        let mut items = TokenStream::new();
        let runtime = self.is_runtime().then(|| {
            let fields = policy::written(self.checked.runtime);
            quote!(.with_runtime(#fields))
        });
        let hedged = self.is_hedged().then(|| quote!(.hedged()));
        let blocking = (!self.is_async).then(|| quote!(.blocking()));
        let history = self.args.history.as_ref().map(|history| {
            let failures = match history.known {
                Some(failures) => failures.to_token_stream(),
                None => {
                    items.extend(quote!(const __RETRY_HISTORY: ::core::primitive::u32 = #history;));
                    let complaint = quote!(__retry::history::complaint(__RETRY_HISTORY));
                    items.extend(policy::assertion(history, false, &complaint));
                    quote!(__RETRY_HISTORY)
                }
            };
            quote!(.with_history(#failures))
        });
        let log = self.args.log.as_ref().map(|level| quote!(.with_log(__retry::LogLevel::#level)));
        let log_retries = self.args.log_retries.as_ref();
        let log_retries =
            log_retries.map(|level| quote!(.with_log_retries(__retry::LogLevel::#level)));
        let handled = match self.args.on_failure {
            OnFailure::Stop => None,
            OnFailure::Continue | OnFailure::Fallback(_) => Some(quote!(.handles_failures())),
        };
        let options = quote!(#runtime #hedged #blocking #history #handled #log #log_retries);
        items.extend(quote! {
            static __RETRY_SITE: __retry::Site = __retry::site(#name, #known) #options;
            __retry::site! { static __RETRY_LINKED: &__retry::Site = &__RETRY_SITE; }
        });
        items
    }

    /// A reference to what `breaker = …` or `quota = …` names. The compiler rejects one to a
    /// constant, where each use would be a different breaker or quota.
    fn borrowed(&self, named: &Expr) -> TokenStream {
        let place = SpanRange::of(named);
        let borrowed = place.call(quote!(&), named);
        let Expr::Path(path) = named else { return borrowed };
        // By naming conventions, a `static` or a `const`; behind a type, always a `const`.
        let mut segments = path.path.segments.iter().rev().map(|segment| segment.ident.to_string());
        let last = segments.next().unwrap_or_default();
        let is_of_type = segments.next().is_some_and(|owner| owner.contains(char::is_uppercase));
        let is_variable = value::is_variable(named) || self.scope.knows(&last);
        if is_variable || is_of_type {
            place.call(quote!(__retry::Kept::kept), borrowed)
        } else if last.contains(char::is_lowercase) {
            borrowed
        } else {
            place.call(quote!(__retry::declared), borrowed)
        }
    }

    /// The policy as known at runtime, built of the values that were read before the first
    /// attempt. It may break rules.
    pub(super) fn given_policy(&self) -> TokenStream {
        let constant =
            if self.generic { quote!((*__retry_policy)) } else { quote!(__RETRY_POLICY) };
        let (policy, wrong) = (&self.args.policy, self.checked.wrong);
        policy::runtime_expression(policy, wrong, &constant)
    }

    /// Likewise, but the nearest one that can be obeyed.
    pub(super) fn evaluate(&self) -> TokenStream {
        let policy = self.given_policy();
        let written = policy::written(self.checked.written);
        quote!(__retry::runtime::nearest_valid(&__RETRY_SITE, #policy, #written))
    }

    /// Binds the policy of the call if it is known only at runtime: as it was at the first
    /// failure, or else built now.
    pub(super) fn bind_policy(&self) -> Option<TokenStream> {
        if !self.is_runtime() {
            return None;
        }
        let evaluate = self.evaluate();
        Some(quote! {
            let policy = match __retry::Session::policy(&session) {
                __retry::Some(policy) => policy,
                __retry::None => #evaluate,
            };
        })
    }

    /// The call's context, as far as it is known before the call begins.
    pub(super) fn bare_call_context(&self) -> TokenStream {
        if self.is_runtime() {
            quote!(__retry::CallContext::at_runtime(&__RETRY_SITE, &policy))
        } else if self.generic {
            quote!(__retry::CallContext::by(&__RETRY_SITE, __retry_policy))
        } else {
            quote!(__retry::CallContext::of(&__RETRY_SITE))
        }
    }

    /// The call's complete context, for the runtime.
    pub(super) fn call_context(&self) -> TokenStream {
        let mut call_context = self.bare_call_context();
        if let Some(breaker) = self.breaker() {
            let breaker = breaker.named("breaker");
            call_context.extend(quote!(.breaker(#breaker)));
        }
        if let Some(quota) = self.quota() {
            let quota = quota.named("quota");
            call_context.extend(quote!(.quota(#quota)));
        }
        if self.args.waits_for_breaker {
            call_context.extend(quote!(.waits_for_breaker()));
        }
        if self.is_hedged() {
            call_context.extend(quote!(.may_hedge()));
        }
        call_context
    }

    /// Returns whether a call may wait until the breaker admits it: a call that has failed waits
    /// for the end of a hold.
    pub(super) fn may_await_breaker(&self) -> bool {
        self.args.waits_for_breaker || self.args.breaker.as_ref().is_some_and(Breaker::may_hold)
    }

    /// Returns whether the breaker, the quota or `cancel` may borrow from `self` for the whole
    /// call.
    pub(super) fn borrows_self(&self) -> bool {
        let is_self = |word: &str| matches!(word, "self" | "__self");
        self.args.lent().any(|(_, lender)| mentions(lender.to_token_stream(), &is_self))
    }

    /// Returns whether `cancel` may borrow from this argument for the whole call.
    pub(super) fn cancel_borrows(&self, argument: &Ident) -> bool {
        let cancel = self.args.cancel.as_ref();
        cancel.is_some_and(|cancel| mentions(cancel.to_token_stream(), &|word| argument == word))
    }

    /// The breaker that admits the attempts.
    pub(super) fn breaker(&self) -> Option<Protection> {
        self.args.breaker.as_ref().map(|breaker| match breaker {
            Breaker::Shared(breaker) => {
                let method = if self.is_owned(breaker) { quote!(breaker) } else { quote!(of_call) };
                let borrow = quote!(__retry::AsBreaker::#method);
                Protection::of(breaker, self.borrowed(breaker), borrow)
            }
            Breaker::InPlace(_) => {
                Protection::Path(quote!(__retry::AsBreaker::of_call(&__RETRY_BREAKER)))
            }
        })
    }

    /// The quota that pays for the retries.
    pub(super) fn quota(&self) -> Option<Protection> {
        self.args.quota.as_ref().map(|quota| {
            let method = if self.is_owned(quota) { quote!(quota) } else { quote!(of_call) };
            Protection::of(quota, self.borrowed(quota), quote!(__retry::AsQuota::#method))
        })
    }

    /// Returns whether the lender belongs to the caller, through `self`, an argument or a variable.
    /// A test has created such a lender itself, so the feature `testing` does not replace it.
    fn is_owned(&self, lender: &Expr) -> bool {
        cfg!(feature = "testing") && self.scope.is_mentioned(lender.to_token_stream())
    }
}

/// The way in which the expansion refers to a breaker or a quota.
pub(super) enum Protection {
    /// As a path: a `static` is named wherever it is needed, so that the future need not hold it.
    Path(TokenStream),
    /// As an expression, evaluated once, before the first attempt.
    Once {
        /// A reference to the expression.
        borrowed: TokenStream,
        /// The breaker or the quota, where `lender` is that reference.
        lent: TokenStream,
    },
}

impl Protection {
    /// Calls `borrow` on the reference to what was written.
    fn of(written: &Expr, borrowed: TokenStream, borrow: TokenStream) -> Self {
        let place = SpanRange::of(written);
        let lender = place.locate(quote!(lender));
        let lender = match written {
            Expr::Path(_) => return Self::Path(place.call(borrow, borrowed)),
            // It may create what it returns.
            Expr::Call(_) | Expr::MethodCall(_) => place.call(quote!(__retry::Kept::kept), lender),
            _ => lender,
        };
        Self::Once { borrowed, lent: place.call(borrow, lender) }
    }

    /// The expression, or the name of the variable that holds it.
    pub(super) fn named(&self, name: &str) -> TokenStream {
        match self {
            Self::Path(expression) => expression.clone(),
            Self::Once { .. } => Ident::new(name, Span::mixed_site()).to_token_stream(),
        }
    }

    /// Binds the variable, if one is needed.
    pub(super) fn bound_to(&self, name: &str) -> TokenStream {
        let Self::Once { borrowed, lent } = self else { return TokenStream::new() };
        let name = Ident::new(name, Span::mixed_site());
        // Two statements: a `let` with a reference to a temporary extends its lifetime.
        quote! {
            let lender = #borrowed;
            let #name = #lent;
        }
    }
}

/// `Some(…)` or `None` as tokens.
pub(super) fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(__retry::Some(#value)),
        None => quote!(__retry::None),
    }
}
