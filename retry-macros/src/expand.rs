//! The expansion: a loop, in place, around a session object.
//!
//! ```text
//! // Input:
//! #[retry(attempts = 5)]
//! async fn fetch(id: u64) -> Result<User, Error> { body }
//!
//! // Output:
//! async fn fetch(id: u64) -> Result<User, Error> {
//!     use ::retry_runtime::__private as __retry;
//!     static SITE: Site = site(concat!(module_path!(), "::fetch"), Some(POLICY.attempts(5)));
//!     site! { static LINKED: &Site = &SITE; }
//!     let mut session = session();
//!     loop {
//!         {
//!             let outcome: Result<User, Error> = { body };
//!             let verdict = match &outcome {
//!                 Ok(_) => { succeeded(session, &SITE); return outcome; }
//!                 Err(error) => verdict_of(lenient(error).__probe(), true),
//!             };
//!             match failed(&mut session, &SITE, verdict) {
//!                 Next::Wait => {}
//!                 Next::GiveUp(_) => return outcome,
//!             }
//!         }
//!         wait(&mut session).await;
//!     }
//! }
//! ```
//!
//! A body that may exit early, with `?` or `return`, becomes a separate block: `async { /* never
//! returned */ { body } }.await`.
//!
//! No closure is created around an async body, so it may borrow its arguments mutably, and it stays
//! `Send`. The outcome is dropped before the wait, so an error need not be `Send` for the future to
//! be, unless the call may end before another attempt fails: by a breaker, a deadline, a
//! cancellation, or a runtime policy, which may have a deadline. Such an outcome is dropped once the
//! call can no longer end with it, because it may hold a connection.
//!
//! Generated variables are hygienic (mixed-site spans), but items are not: their names begin with
//! `__RETRY_`.

mod attempt;
mod ending;
mod hedging;
mod items;
pub(crate) mod policy;
mod retry_loop;
mod retrying;
mod verdict;

pub(crate) use retrying::retrying;
pub(crate) use verdict::class_of;

use std::cell::LazyCell;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident};
use retry_rules::options::Needs;
use retry_rules::{Field, Policy};
use syn::{Expr, Ident, Type};

use crate::args::{Args, OnFailure, PolicyArgs, Syntax};
use crate::docs;
use crate::function::{self, Boxed, Form, Function, types};
use crate::options::check::Checked;
use crate::options::hedge::HedgeDelay;
use crate::options::matcher::Matcher;
use crate::options::settings::Entry;
use crate::tokens::errors::Errors;
use crate::tokens::hygiene::{SpanRange, braces, quote};

use crate::signature;
use crate::tokens::search::{is_constant, mentions};
use crate::value::runtime::Scope;

pub(crate) fn retry(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let function = match function::parse(item) {
        Ok(function) => function,
        Err(error) => {
            let mut scope = Scope::default();
            Args::parse(args, Syntax::Attribute, &mut scope, &mut errors).check(&mut errors);
            errors.push(error);
            let errors = errors.into_tokens();
            // An expression or a statement after the error would be a mistake of its own.
            return if function::is_inside_function(item) { errors } else { quote!(#errors #item) };
        }
    };
    let arguments = signature::arguments(&function);
    let mut scope = Scope::new(&arguments, signature::unchanging(&function));
    let args = Args::parse(function.as_in_body(args), Syntax::Attribute, &mut scope, &mut errors);
    let checked = args.check(&mut errors);
    match function.form() {
        Ok(form) => expand(&args, &checked, function, &arguments, &scope, form, errors),
        Err(error) => {
            errors.push(error);
            with_errors(&args, args.context.as_ref(), function, errors)
        }
    }
}

/// The original function together with the errors. The name of its context is bound in it, so that
/// the compiler does not report it as unknown as well.
fn with_errors(
    args: &Args,
    context: Option<&Ident>,
    function: Function,
    errors: Errors,
) -> TokenStream {
    let errors = errors.into_tokens();
    let context = context.map(|context| {
        let import = policy::import(args);
        quote! {
            let #context = {
                #import
                fn context() -> &'static __retry::Attempt { loop {} }
                context()
            };
        }
    });
    let Function { attrs, vis, sig, body } = function;
    let body = body.stream();
    quote!(#(#attrs)* #vis #sig { #errors #context #body })
}

fn expand(
    args: &Args,
    checked: &Checked,
    mut function: Function,
    arguments: &[Ident],
    scope: &Scope,
    form: Form,
    mut errors: Errors,
) -> TokenStream {
    signature::check(args, &function, arguments, &form, &mut errors);
    let declared = match function.returned(&form) {
        // The loop would be a second mistake: this type cannot be written everywhere.
        Some(Type::Never(_)) => return with_errors(args, args.context.as_ref(), function, errors),
        Some(ty) => ty.clone(),
        None if args.has_ok() => syn::parse_quote!(()),
        // The check has reported this; without a type, the loop cannot be built.
        None => return with_errors(args, args.context.as_ref(), function, errors),
    };
    let misplaced = signature::names_variable(args, &function).map(|error| errors.push(error));
    if misplaced.is_some() || signature::hides_error(args, &declared) {
        function.attrs.push(syn::parse_quote!(#[allow(unused)]));
        function.body = Group::new(Delimiter::Brace, quote!(loop {}));
        return with_errors(args, None, function, errors);
    }
    let section = docs::section(args, checked, &function);
    let expansion = Expansion::new(args, checked, &function, scope, &form, declared);
    let attempted = match &form {
        Form::Boxed(boxed) => &boxed.attempt,
        Form::Async | Form::Sync => &function.body,
    };
    let mut checks = expansion.requires_interruption(&function).unwrap_or_default();
    // A mistake that is reported already may be the cause.
    let consumed = errors.is_empty().then(|| signature::consumed(args, &function, attempted));
    for place in consumed.into_iter().flatten() {
        let of_self = mentions(place.clone(), &|word| matches!(word, "self" | "__self"));
        let needs = format_ident!("{}", if of_self { "NeedsOfSelf" } else { "Needs" });
        let path = quote!(<__retry::NextAttempt as __retry::#needs<_, _>>::check);
        let path = SpanRange::of(place.clone().into_iter().next()).write_path(path);
        checks.extend(quote!(if false { #path(&#place); }));
    }
    let Function { mut attrs, vis, mut sig, body } = function;
    attrs.iter_mut().for_each(function::allow_expected_lints);
    let (attempt, around) = match form {
        Form::Async => {
            let mutable = expansion.prepare_clones(&mut sig);
            let captures = expansion.prepare_arguments(&mut sig, &body);
            (expansion.async_attempt(&captures, &mutable, &body), None)
        }
        Form::Sync => {
            let mutable = expansion.prepare_clones(&mut sig);
            (expansion.sync_attempt(&mutable, &body), None)
        }
        Form::Boxed(boxed) => {
            let (captures, mutable, once) = expansion.rebind_arguments(&mut sig, &boxed);
            (expansion.async_attempt(&captures, &mutable, &boxed.attempt), Some((boxed, once)))
        }
    };
    let code = expansion.code(errors, &checks, &attempt);
    let code = match around {
        None => code,
        Some((boxed, once)) => {
            let Boxed { before, keywords, .. } = *boxed;
            quote!(#before (#keywords { #once #code }))
        }
    };
    let mut tokens = quote!(#(#attrs)* #section #vis #sig);
    // A template would copy all of the code.
    tokens.extend([TokenTree::Group(braces(code, Span::mixed_site()))]);
    tokens
}

impl Args {
    pub(crate) fn matchers(&self) -> impl Iterator<Item = &Matcher> + Clone {
        self.retry_on.iter().chain(&self.abort_on).flatten()
    }

    /// Returns whether a call may end after a failure without another attempt.
    pub(crate) fn may_end_before_attempt(&self) -> bool {
        self.breaker.is_some() || self.cancel.is_some()
    }

    /// Returns whether `retry_on` also matches values.
    pub(crate) fn has_ok(&self) -> bool {
        self.matchers().any(|matcher| matches!(matcher, Matcher::Ok(_)))
    }
}

/// The way in which attempts of this function are timed.
enum TimeoutMode {
    Never,
    /// Not cut off, but the time is checked between attempts: for `max_elapsed`, and for the
    /// deadline of a function that is not async.
    BetweenAttempts,
    Always,
    /// Depends on the shared policy.
    ByPolicy,
    /// Known only at runtime. `is_demanded`: the return type must be able to represent it, because
    /// a time limit is among the options.
    AtRuntime {
        is_demanded: bool,
    },
}

/// The handling of the last failure across a wait, for calls that may end before another attempt
/// fails.
enum KeepsFailure {
    Never,
    Always,
    /// Depends on the shared policy.
    ByPolicy,
}

/// The place of the body in the expansion.
enum BodyPlace {
    /// Directly in the loop.
    Loop,
    /// In a future or a closure of its own.
    Apart,
}

/// The values shared by the parts of one expansion.
struct Expansion<'a> {
    args: &'a Args,
    checked: &'a Checked,
    /// The policy, as a constant expression.
    policy: TokenStream,
    name: Ident,
    /// The type that an attempt returns, with `_` in place of each `impl Trait`.
    declared: Type,
    /// The type that the body returns, if it differs because the function returns `RetryError<E>`.
    body_type: Option<Type>,
    /// The names that options may mention.
    scope: &'a Scope,
    /// The arguments that are cloned for each attempt, without unknown names, which are reported.
    clones: Vec<&'a Ident>,
    /// The place of compiler errors about the return type.
    return_place: SpanRange,
    /// The place of compiler errors about the error type in it.
    error_place: SpanRange,
    /// The warning about a success that may hide a failure.
    hidden_failure: Option<TokenStream>,
    is_async: bool,
    body_place: BodyPlace,
    timeout_mode: TimeoutMode,
    keeps_failure: KeepsFailure,
    /// The function that maps the last error for the caller.
    map_error: Option<&'a Expr>,
    /// The source of the delay after which attempts are hedged, if they are.
    hedge_delay: Option<HedgeDelay>,
    /// Set if the error type can be named from outside and is `'static`, judging by its tokens.
    error_is_known: bool,
    /// Set if an option's expression refers to `Self` or a generic parameter, which is not visible
    /// in an inner item.
    generic: bool,
}

impl<'a> Expansion<'a> {
    fn new(
        args: &'a Args,
        checked: &'a Checked,
        function: &Function,
        scope: &'a Scope,
        form: &Form,
        declared: Type,
    ) -> Self {
        let mut erased = declared;
        let return_place = SpanRange::of(&erased);
        let map_error = args.map_error.as_ref().filter(|map| {
            signature::is_mapped(map, &erased) && matches!(args.on_failure, OnFailure::Stop)
        });
        let mapped = map_error.and_then(types::mapped_error);
        let error_place = match mapped {
            Some(error) => SpanRange::of(error),
            None => types::error_of(&erased).map_or(return_place, SpanRange::of),
        };
        types::erase_impl_trait(&mut erased);
        let is_async = !matches!(form, Form::Sync);
        let PolicyArgs { base, settings, .. } = &args.policy;
        let base_is_runtime = args.policy.runtime_base().is_some();
        let limits = || settings.limits(Needs::Timer).map(Entry::field);
        let deadline = limits().any(|field| field == Field::Deadline);
        let (shared, timed) = (base.is_some(), limits().next().is_some());
        let clocked = settings.limits(Needs::Clock).next().is_some() || deadline && !is_async;
        let timed_at_runtime = limits().any(|field| checked.runtime.contains(field));
        let mode = match (is_async, timed, shared) {
            (true, true, _) if timed_at_runtime => TimeoutMode::AtRuntime { is_demanded: true },
            (true, true, _) => TimeoutMode::Always,
            (true, false, true) if base_is_runtime => TimeoutMode::AtRuntime { is_demanded: false },
            (true, false, true) => TimeoutMode::ByPolicy,
            (true, false, false) if clocked => TimeoutMode::BetweenAttempts,
            (false, ..) if clocked || shared => TimeoutMode::BetweenAttempts,
            _ => TimeoutMode::Never,
        };
        let shared = shared && !base_is_runtime;
        // A runtime policy may have a deadline.
        let deadline = deadline || base_is_runtime;
        let keeps_failure = match (args.may_end_before_attempt() || is_async && deadline, shared) {
            (true, _) => KeepsFailure::Always,
            (false, true) if is_async => KeepsFailure::ByPolicy,
            _ => KeepsFailure::Never,
        };
        let mut generics: Vec<String> = vec!["Self".to_owned()];
        generics.extend(function.sig.generics.type_params().map(|param| param.ident.to_string()));
        generics.extend(function.sig.generics.const_params().map(|param| param.ident.to_string()));
        let is_method = LazyCell::new(|| signature::is_method(function));
        let is_parameter = |word: &str| {
            // A parameter of the impl around a method is not visible here; by convention, its name
            // is a single letter.
            generics.iter().any(|name| name == word) || word.len() == 1 && *is_method
        };
        let body_type = match mapped {
            Some(error) => types::with_error(&erased, error),
            None => types::inside_retry_error(&erased),
        };
        // The error of the call is mapped, not the error of an attempt.
        let body_type = body_type.or_else(|| map_error.is_some().then(|| erased.clone()));
        let is_unknown = |error: TokenStream| {
            types::borrows(error.clone())
                || types::may_name_parameter(error.clone()) && *is_method
                || mentions(error, &|word| word == "_" || is_parameter(word))
        };
        // Only a failure that a test plans needs to know it.
        let error_is_known = cfg!(feature = "testing")
            && !is_unknown(types::error_tokens(body_type.as_ref().unwrap_or(&erased)));
        let expression = policy::expression(&args.policy, checked.wrong);
        let is_generic = |entry: &Entry<Policy>| {
            if entry.value.is_known() {
                return false;
            }
            let tokens = &entry.value.tokens;
            let innermost = entry.value.part.as_ref().map_or(tokens, |(_, tokens)| tokens);
            entry.value.runtime.is_empty() && mentions(tokens.clone(), &is_parameter)
                // Likewise, what looks like a constant may be a const parameter of the impl.
                || is_constant(innermost.clone()) && *is_method
        };
        let hedge_delay = settings.entry(Field::Hedge).and_then(|entry| entry.value.hedge_delay);
        let owned = signature::owned(args, function);
        let body = match form {
            Form::Boxed(boxed) => &boxed.attempt,
            Form::Async | Form::Sync => &function.body,
        };
        let may_be_in_place = matches!(mode, TimeoutMode::Never | TimeoutMode::BetweenAttempts)
            && hedge_delay.is_none()
            && !args.nested_once
            && attempt::may_be_in_place(body, &owned);
        let base_is_generic = args
            .policy
            .constant_base()
            .is_some_and(|base| mentions(base.to_token_stream(), &is_parameter));
        let generic = base_is_generic || settings.entries.iter().any(is_generic);
        Self {
            args,
            checked,
            name: function.sig.ident.clone(),
            body_type,
            scope,
            clones: args.clone.iter().filter(|name| scope.knows(&name.to_string())).collect(),
            return_place,
            error_place,
            hidden_failure: signature::hidden_failure(args, &erased, body),
            declared: erased,
            is_async,
            body_place: if may_be_in_place { BodyPlace::Loop } else { BodyPlace::Apart },
            keeps_failure,
            timeout_mode: mode,
            map_error,
            hedge_delay,
            error_is_known,
            generic,
            policy: expression,
        }
    }

    /// The errors, the items, the `checks` of arguments, and the loop around the `attempt`.
    fn code(&self, errors: Errors, checks: &TokenStream, attempt: &TokenStream) -> TokenStream {
        let mut code = errors.into_tokens();
        code.extend(self.items());
        code.extend(checks.clone());
        code.extend(self.retry_loop(attempt));
        code
    }

    /// Returns whether the body stands directly in the loop.
    fn is_in_place(&self) -> bool {
        matches!(self.body_place, BodyPlace::Loop)
    }

    /// Returns whether any part of the policy is known only at runtime.
    fn is_runtime(&self) -> bool {
        !self.checked.runtime.is_empty()
    }

    /// Returns whether the body may run several times at once.
    fn is_hedged(&self) -> bool {
        self.hedge_delay.is_some()
    }

    /// Returns whether the function returns a `RetryError<E>`.
    fn returns_retry_error(&self) -> bool {
        self.body_type.is_some()
    }

    /// Requires that the error can represent an attempt that was cut off. First of all, so that the
    /// compiler reports the error type alone, and not again with what else requires it.
    fn requires_interruption(&self, function: &Function) -> Option<TokenStream> {
        let declared = &self.declared;
        let is_inferred = || mentions(declared.to_token_stream(), &|word| word == "_");
        if self.returns_retry_error() || self.args.has_ok() || is_inferred() {
            return None;
        }
        types::segment(declared, "Result")?;
        let error = match types::error_of(declared) {
            Some(error) => error.to_token_stream(),
            None => {
                let outcome = self.on_error_type(&quote!(Outcome));
                quote!(<#declared as #outcome>::Error)
            }
        };
        let required = match self.timeout_mode {
            TimeoutMode::Always | TimeoutMode::AtRuntime { is_demanded: true } => error,
            _ if self.args.breaker.is_some() => error,
            TimeoutMode::ByPolicy => {
                let is_timed = self.query_policy(&quote!(is_timed));
                quote!(<__retry::Is<{ #is_timed }> as __retry::Choose>::Of<#error, __retry::Interrupted>)
            }
            _ => return None,
        };
        let interrupted = self.on_error_type(&quote!(Interrupted));
        // Of a type parameter, or a type of its trait, the compiler suggests the bound itself. One of
        // an impl is recognised by its name, a single letter.
        let is_parameter = types::error_of(declared).is_some_and(|error| {
            let first = error.to_token_stream().into_iter().next();
            let Some(TokenTree::Ident(name)) = first else { return false };
            name.to_string().len() == 1 && signature::is_method(function)
                || function.sig.generics.type_params().any(|param| param.ident == name)
        });
        let conversion = if is_parameter {
            let required = self.error_place.write_path(required);
            quote!(<#required as ::core::convert::From<#interrupted>>::from)
        } else {
            quote!(<#interrupted as __retry::IntoError<#required>>::into_error)
        };
        Some(quote!(let _ = #conversion;))
    }

    /// Writes a path whose compiler errors belong on the error type.
    fn on_error_type(&self, path: &TokenStream) -> TokenStream {
        self.error_place.write_path(quote!(__retry::#path))
    }

    /// Writes the function that creates the outcome of an attempt that was cut off.
    fn interrupted(&self) -> TokenStream {
        self.on_error_type(&quote!(Interruptible::interrupted))
    }

    /// A call to the runtime whose compiler errors belong on the return type.
    fn on_return_type(&self, path: &TokenStream, arguments: &TokenStream) -> TokenStream {
        self.return_place.call(quote!(__retry::#path), arguments)
    }
}
