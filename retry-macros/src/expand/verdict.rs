//! The verdict on a failure: whether the matchers allow a retry, the wait that the server asked
//! for, and how to describe the failure.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident};
use syn::{Expr, Ident};

use super::Expansion;
use super::items::option;
use crate::args::Args;
use crate::options::matcher::Matcher;
use crate::tokens::hygiene::{SpanRange, quote};

/// The place of a verdict.
#[derive(Clone, Copy)]
pub(super) enum Judging {
    /// In the race, on one of its members.
    Member,
    /// In the loop, on the outcome of an attempt, which a race may have judged.
    Outcome,
}

impl Expansion<'_> {
    /// Returns whether `ok(…)` retries `value`, a reference.
    pub(super) fn ok_condition(&self, value: &TokenStream) -> Option<TokenStream> {
        any_ok(self.args.matchers(), value)
    }

    /// Returns whether a breaker counts `value`, a reference, as a failure.
    pub(super) fn ok_counts(&self, value: &TokenStream) -> Option<TokenStream> {
        any_ok(self.args.breaker_on.iter().flatten(), value)
    }

    /// The verdict on `error`, the failure of an attempt.
    pub(super) fn verdict_on_error(&self, judging: Judging) -> TokenStream {
        let typed = self.verdict(true, judging);
        if !self.returns_retry_error() {
            return typed;
        }
        let interrupted = self.verdict(false, judging);
        quote! {
            match error {
                __retry::AttemptError::Error(error) => #typed,
                __retry::AttemptError::Interrupted(error) => #interrupted,
            }
        }
    }

    /// The matchers' verdict. If `typed` is false, `error` is an `Interrupted` rather than the
    /// user's type, and typed matchers do not match it.
    fn verdict(&self, typed: bool, judging: Judging) -> TokenStream {
        if self.reads_nothing() {
            let probed = self.probe("lenient", "__probe", typed);
            return quote!(__retry::verdict_of(#probed, true));
        }
        let reads_text = |matcher: &Matcher| matches!(matcher, Matcher::Pattern(_));
        // An error type with a text can also be classified, so one compile error is enough for a
        // type with neither.
        let mut all = self.args.matchers().chain(self.args.breaker_on.iter().flatten());
        let needs_kind =
            all.clone().any(|matcher| matcher.kind().is_some()) || self.args.uncounted.is_some();
        let needs_text = all.any(reads_text);
        let judged = self.args.classify.as_ref().filter(|_| typed);
        // A function that says the kind makes up for a type that does not reveal it.
        let how = if needs_kind && !needs_text && judged.is_none() { "strict" } else { "lenient" };
        let base = self.args.policy.runtime_base();
        let mut bound = TokenStream::new();
        let probed = match base {
            // A configuration lists failures too: it knows whether the error has to reveal its
            // kind.
            Some(base) => {
                let lists = base.call("lists");
                bound.extend(quote!(let lists = #lists;));
                match (how, judged) {
                    ("lenient", None) => self.probe_by(&quote!(lists.__probe), "__probe", typed),
                    _ => self.probe(how, "__probe", typed),
                }
            }
            None => self.probe(how, "__probe", typed),
        };
        bound.extend(quote!(let probed = #probed;));
        let mut lets = TokenStream::new();
        let read = quote!(probed.classifier.class());
        let (read, is_stated) = match judged {
            Some(classify) => {
                let stated = call(classify, quote!(__retry::kind_of), quote!(error));
                lets.extend(quote!(let stated = #stated;));
                (quote!(stated.unwrap_or_else(|| #read)), quote!(stated.is_some()))
            }
            None => (read, quote!(false)),
        };
        // A quota charges by class, a breaker lets conflicts pass, and a history shows it.
        let Args { quota, breaker, history, .. } = self.args;
        let class = match base {
            _ if needs_kind || quota.is_some() || breaker.is_some() || history.is_some() => read,
            Some(_) => quote!(lists.class(|| #read)),
            None => quote!(__retry::Class::empty()),
        };
        lets.extend(quote!(let class = #class;));
        if needs_text {
            let view = self.probe("strict", "__view", typed);
            lets.extend(quote!(let view = #view;));
        }

        let retry = match &self.args.retry_on {
            Some(matchers) => any_of(matchers, typed),
            None => quote!(true),
        };
        let retry = match &self.args.abort_on {
            Some(matchers) => {
                let abort = any_of(matchers, typed);
                quote!(!(#abort) && (#retry))
            }
            None => retry,
        };
        let retry = match base {
            // A matcher in the attribute overrides the `retry_on` of a configuration.
            Some(_) => {
                let is_overruled = self.args.retry_on.is_some();
                let view = self.probe("lenient", "__view", typed);
                quote!((#retry) && lists.permit(#is_overruled, class, #view))
            }
            None => retry,
        };
        // A breaker may hold calls for the wait that follows. An attempt that was cut off has none.
        let hint_source = self.args.breaker.as_ref().filter(|_| typed).map(|_| {
            let view = self.probe("lenient", "__view", typed);
            quote!(.hinted_by(#view, hint.is_some()))
        });
        let counted = self.args.breaker_on.as_ref().map(|matchers| {
            let counts = any_of(matchers, typed);
            quote!(.counted(#counts))
        });
        let hint = match self.args.retry_after.as_ref().filter(|_| typed) {
            Some(hint) => call(hint, quote!(__retry::hint), quote!(error)),
            None => quote!(__retry::None),
        };
        lets.extend(quote!(let (retry, hint) = (#retry, #hint);));
        let verdict = quote!(__retry::verdict_on(probed, class, #is_stated, retry, hint));
        let uncounted = self.uncounted();
        let verdict = quote!({ #lets #verdict #counted #hint_source #uncounted });
        let verdict = match judging {
            Judging::Member => verdict,
            Judging::Outcome => self.verdict_as_decided(&quote!(probed.display), verdict),
        };
        quote!({ #bound #verdict })
    }

    /// Writes the call that passes the classes of failures that use up no attempt. A call that can
    /// be cancelled needs no other bound.
    fn uncounted(&self) -> Option<TokenStream> {
        let own = self.args.uncounted.as_ref().map(|kinds| class_of(kinds, &quote!(__retry)));
        let classes = match (self.args.policy.runtime_base(), own) {
            (Some(_), own) => {
                let own = option(own);
                quote!(lists.uncounted(#own))
            }
            (None, own) => own?,
        };
        let may_never_end = self.args.cancel.is_some();
        Some(quote!(.uncounted(#classes, #may_never_end)))
    }

    /// Returns whether no option looks at a failure: all are retried.
    fn reads_nothing(&self) -> bool {
        let Args { retry_on, abort_on, uncounted, breaker, quota, .. } = self.args;
        let Args { retry_after, classify, history, .. } = self.args;
        let is_listed = retry_on.is_some() || abort_on.is_some() || uncounted.is_some();
        let is_protected = breaker.is_some() || quota.is_some();
        let is_read = retry_after.is_some() || classify.is_some() || history.is_some();
        !(is_listed || is_protected || is_read) && self.args.policy.runtime_base().is_none()
    }

    /// Probes what the type of `error` offers: see `retry_runtime`'s `probe`.
    pub(super) fn probe(&self, how: &str, what: &str, typed: bool) -> TokenStream {
        let how = format_ident!("{how}");
        self.probe_by(&quote!(__retry::probe::#how), what, typed)
    }

    /// Probes with the function at `how`.
    fn probe_by(&self, how: &TokenStream, what: &str, typed: bool) -> TokenStream {
        // For a type that cannot answer, the error is reported on the return type.
        let span = if typed { self.error_place.start() } else { Span::mixed_site() };
        let what = Ident::new(what, span);
        quote!(#how(error).#what())
    }
}

/// Returns whether any of the matchers applies to `error`.
fn any_of(matchers: &[Matcher], typed: bool) -> TokenStream {
    let kinds: Vec<Ident> = matchers.iter().filter_map(Matcher::kind).cloned().collect();
    let mut conditions = Vec::new();
    if !kinds.is_empty() {
        let listed = class_of(&kinds, &quote!(__retry));
        conditions.push(quote!(class.intersects(#listed)));
    }
    for matcher in matchers {
        match matcher {
            Matcher::Pattern(text) => conditions.push(quote!({
                static __RETRY_PATTERN: __retry::Pattern = __retry::Pattern::new(#text);
                view.any_text(&|text| __retry::Pattern::is_match(&__RETRY_PATTERN, text))
            })),
            Matcher::Matches { pattern, guard } if typed => {
                let guard = guard.as_ref().map(|guard| quote!(if #guard));
                conditions.push(quote!(#[allow(unreachable_patterns)] match error {
                    #pattern #guard => true,
                    _ => false,
                }));
            }
            Matcher::When(predicate) if typed => {
                conditions.push(call(predicate, quote!(__retry::is_error), quote!(error)));
            }
            _ => {}
        }
    }
    if conditions.is_empty() { quote!(false) } else { quote!(#({ #conditions })||*) }
}

/// The class of these kinds of failure, where `private` is the module of the runtime.
pub(crate) fn class_of(kinds: &[Ident], private: &TokenStream) -> TokenStream {
    let classes = kinds.iter().map(|kind| {
        let class = Ident::new(&kind.to_string().to_uppercase(), Span::mixed_site());
        quote!(#private::Class::#class)
    });
    let classes: Vec<TokenStream> = classes.collect();
    match classes.split_first() {
        Some((first, rest)) => quote!(#first #(.union(#rest))*),
        None => quote!(#private::Class::empty()),
    }
}

/// Returns whether an `ok(…)` among the matchers applies to `value`, a reference.
fn any_ok<'m>(
    matchers: impl Iterator<Item = &'m Matcher>,
    value: &TokenStream,
) -> Option<TokenStream> {
    let conditions: Vec<TokenStream> = matchers
        .filter_map(|matcher| match matcher {
            Matcher::Ok(predicate) => Some(call(predicate, quote!(__retry::is), value)),
            _ => None,
        })
        .collect();
    (!conditions.is_empty()).then(|| quote!(#({ #conditions })||*))
}

/// Calls `path` with `value` and a callable of the user's; if the callable does not fit, the
/// compiler reports it at that place.
fn call(callable: &Expr, path: TokenStream, value: impl ToTokens) -> TokenStream {
    SpanRange::of(callable).call(path, quote!(#value, #callable))
}
