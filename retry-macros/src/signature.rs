//! Reports options that do not fit the function.

mod by_value;

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens as _;
use retry_rules::Field;
use retry_rules::matchers::covers;
use retry_rules::options::Needs;
use syn::{Expr, Ident, ReceiverKind, ReturnType, Type};

use crate::args::{Args, OnFailure};
use crate::function::{self, Form, Function, types};
use crate::options::matcher::Matcher;
use crate::tokens::errors::Errors;
use crate::tokens::hygiene::SpanRange;
use crate::tokens::search::{any_token, is_punct, is_word, mentions};
use crate::tokens::text::short_text;

/// The cure for options of async functions. `#[tokio::main]` makes a function one that is not async.
const MAKE_ASYNC: &str =
    "make it an `async fn`, with `#[retry]` above attributes such as `#[tokio::main]`";

/// Checks the options against the function with these `arguments`.
pub(crate) fn check(
    args: &Args,
    function: &Function,
    arguments: &[Ident],
    form: &Form,
    errors: &mut Errors,
) {
    let sig = &function.sig;
    if let Form::Sync = form {
        sync(args, errors);
    }
    maps_error(args, function, form, errors);
    keeps_history(args, function, form, errors);
    without_effect(args, errors);
    if matches!(sig.output, ReturnType::Default) && !args.has_ok() {
        errors.at(
            &sig.ident,
            "this function returns nothing, so no attempt can fail: return a `Result` or an `Option`",
        );
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        if let Type::Never(never) = &**ty {
            errors.at(
                never,
                "this function never returns, so that no attempt can fail: return a \
                 `Result<std::convert::Infallible, E>`, whose error ends the attempt",
            );
        }
        never_match(args, ty, errors);
    }
    for attr in &function.attrs {
        if attr.path().segments.last().is_some_and(|segment| segment.ident == "retry") {
            errors.at(attr, "`#[retry]` is on this function twice, which would retry the retries: keep one of them, with all failures in its `retry_on`, and `wait_by` for waits that differ by failure");
        }
    }
    by_value::check(args, function, errors);
    owns_signal(args, function, errors);
    classes_twice(args, errors);
    if let Some(context) = args.context.as_ref().filter(|context| arguments.contains(context)) {
        errors.at(
            context,
            format_args!(
                "`{context}` is already an argument, which this would shadow: choose another name"
            ),
        );
    }
}

/// Reports a `map_error` that has nothing to map.
fn maps_error(args: &Args, function: &Function, form: &Form, errors: &mut Errors) {
    let (Some(map), Some(name)) = (&args.map_error, args.written("map_error")) else { return };
    if !matches!(args.on_failure, OnFailure::Stop) {
        errors.at(
            name,
            "`on_failure` says already what the caller gets when the retries end: keep one of them",
        );
    }
    let message = "`map_error` maps the error of a `Result`: write out `Result<T, F>`, with what \
                   `map_error` returns for `F`";
    match function.returned(form) {
        Some(ty) if hides_error(args, ty) => errors.at(
            map,
            "`map_error` takes a closure that states the error of the body: write the type of its \
             argument, as in `|error: RetryError<std::io::Error>| …`, and `error.into_error()` is that error",
        ),
        Some(ty) if is_mapped(map, ty) => {}
        Some(ty) => errors.at(ty, message),
        // Unless values are retried, that nothing is returned is a mistake of its own.
        None if args.has_ok() => errors.at(name, message),
        None => {}
    }
}

/// Reports a `history` whose error nothing receives.
fn keeps_history(args: &Args, function: &Function, form: &Form, errors: &mut Errors) {
    let Some(name) = args.written("history") else { return };
    let is_returned = || function.returned(form).and_then(types::inside_retry_error).is_some();
    match args.on_failure {
        OnFailure::Fallback(_) => {}
        OnFailure::Continue => errors.at(
            name,
            "`history` is part of the `RetryError` of a call, in place of which `on_failure = \
             continue` returns a default value: remove it, or return what to do with the error from \
             an `on_failure = fallback(f)`",
        ),
        OnFailure::Stop if args.map_error.is_some() || is_returned() => {}
        OnFailure::Stop => errors.at(
            name,
            "`history` is part of the `RetryError` of a call, which nothing receives here: return \
             `Result<T, RetryError<E>>`, or add `map_error = |error: RetryError<E>| …` or \
             `on_failure = fallback(|error| …)`",
        ),
    }
}

/// Returns whether `map_error` can map the error of what a function returns.
pub(crate) fn is_mapped(map: &Expr, returned: &Type) -> bool {
    match types::mapped_error(map) {
        Some(error) => types::with_error(returned, error).is_some(),
        None => may_be_result(returned),
    }
}

/// Returns whether `map_error` is a closure that does not state the error of the body, in a function
/// that returns this type. The declared error would be a guess, for which the body would be blamed.
pub(crate) fn hides_error(args: &Args, returned: &Type) -> bool {
    let closure = args.map_error.as_ref().filter(|map| matches!(map, Expr::Closure(_)));
    closure.is_some_and(|map| types::mapped_error(map).is_none())
        && types::error_of(returned).is_some()
}

/// Returns whether this may be a `Result`, or an alias of one, judging by its tokens.
fn may_be_result(ty: &Type) -> bool {
    match types::peel_type(ty) {
        Type::Infer(_) | Type::Macro(_) => true,
        Type::Path(path) => path.path.segments.last().is_some_and(|segment| {
            let name = segment.ident.to_string();
            let is_primitive = name.starts_with(char::is_lowercase);
            !is_primitive && !matches!(name.as_str(), "Option" | "String" | "Vec" | "Box")
        }),
        _ => false,
    }
}

/// Reports what a function that is not async cannot have.
fn sync(args: &Args, errors: &mut Errors) {
    let mut limits = args.policy.settings.limits(Needs::Timer);
    let timeout = limits.find(|limit| limit.field() == Field::Timeout).map(|limit| &limit.name);
    let options = [
        (timeout, "cuts off an attempt", "; or bound the whole call with `deadline`"),
        (args.written("cancel"), "ends a wait", "; or bound the whole call with `deadline`"),
        (args.hedge().map(|hedge| &hedge.name), "begins an attempt while another one runs", ""),
    ];
    for (option, effect, instead) in options {
        let Some(option) = option else { continue };
        errors.at(
            option,
            format_args!(
                "`{option}` {effect}, and a function that is not `async` keeps its thread until it \
                 returns: {MAKE_ASYNC}{instead}"
            ),
        );
    }
}

/// Returns whether the function may be in an impl.
pub(crate) fn is_method(function: &Function) -> bool {
    function.sig.receiver().is_some()
        || mentions(function.sig.to_token_stream(), &|word| word == "Self")
}

/// The names that the arguments bind by value.
pub(crate) fn arguments(function: &Function) -> Vec<Ident> {
    let by_value = by_value::bindings(function).into_iter().filter(|binding| !binding.by_ref);
    by_value.map(|binding| binding.name).collect()
}

/// The names of which the body can change neither the value nor what it refers to, judging by the
/// tokens: shared references and numbers that are not declared `mut`.
pub(crate) fn unchanging(function: &Function) -> Vec<String> {
    let is_shared = |kind: &ReceiverKind| matches!(kind, ReceiverKind::Reference(_, _, None));
    names(function, is_shared, |binding| {
        let may_change = binding.is_mut || binding.by_ref || types::is_mut_reference(binding.ty);
        !may_change && types::is_copied(binding.ty)
    })
}

/// The names of values that a body could consume, judging by the tokens: everything passed by value
/// except references, numbers, and arguments that are cloned for each attempt.
pub(crate) fn owned(args: &Args, function: &Function) -> Vec<String> {
    let is_owned = |kind: &ReceiverKind| !matches!(kind, ReceiverKind::Reference(..));
    names(function, is_owned, |binding| {
        let is_consumed = !binding.by_ref && !args.clone.contains(&binding.name);
        is_consumed && !types::is_copied(binding.ty)
    })
}

/// The names of a receiver of this kind, and of these arguments.
fn names(
    function: &Function,
    is_receiver: impl Fn(&ReceiverKind) -> bool,
    is_argument: impl Fn(&by_value::Binding<'_>) -> bool,
) -> Vec<String> {
    let receiver = function.sig.receiver().filter(|receiver| is_receiver(&receiver.kind));
    let this = receiver.map(|_| ["self", "__self"].map(str::to_owned)).into_iter().flatten();
    let bindings = by_value::bindings(function).into_iter().filter(is_argument);
    this.chain(bindings.map(|binding| binding.name.to_string())).collect()
}

/// The places that one attempt moves although the next one needs them, judging by the tokens.
pub(crate) fn consumed(args: &Args, function: &Function, body: &Group) -> Vec<TokenStream> {
    let mut found = Vec::new();
    let owned = owned(args, function);
    // A `clone` without names is a mistake of its own.
    let is_unnamed = args.clone.is_empty() && args.written("clone").is_some();
    let bindings = by_value::bindings(function);
    if owned.is_empty() || is_unnamed || !by_value::are_shared(args, &bindings) {
        return found;
    }
    let binding_of = |name: &Ident| bindings.iter().find(|binding| binding.name == *name);
    let may_move = |name: &Ident, is_whole: bool| {
        owned.iter().any(|word| name == word)
            && !args.carry.contains(name)
            && (is_whole || binding_of(name).is_none_or(by_value::Binding::owns_its_fields))
    };
    function::consumed::consumed(&body.stream(), &may_move, &mut |place| found.push(place));
    found
}

/// Reports options that have an effect only with a breaker.
fn without_effect(args: &Args, errors: &mut Errors) {
    if args.written("breaker").is_none() {
        for option in ["breaker_on", "when_open"].into_iter().filter_map(|name| args.written(name))
        {
            errors.at(
                option,
                format_args!(
                    "`{option}` does nothing without a breaker: add `breaker = DB`, or remove it"
                ),
            );
        }
    }
}

/// A class in `abort_on` is never retried, and naming one twice is a slip.
fn classes_twice(args: &Args, errors: &mut Errors) {
    let aborted = args.abort_on.iter().flatten().filter_map(Matcher::kind);
    for class in args.retry_on.iter().flatten().filter_map(Matcher::kind) {
        let is_covered = |other: &&Ident| covers(&other.to_string(), &class.to_string());
        if let Some(other) = aborted.clone().find(is_covered) {
            errors.at(
                class,
                format_args!(
                    "`{class}` is never retried, because `abort_on` takes precedence and `{other}` \
                     covers it: remove `{other}` from `abort_on`"
                ),
            );
        }
    }
    let mut seen: Vec<&Ident> = Vec::new();
    for class in args.matchers().filter_map(Matcher::kind) {
        if let Some(first) = seen.iter().find(|first| **first == class) {
            errors.at(quote::quote!(#first #class), format_args!("`{class}` is listed twice, and `abort_on` takes precedence over `retry_on`: keep one of them"));
        }
        seen.push(class);
    }
}

/// Reports a signal that borrows an argument by value mutably, which the body may use as well.
fn owns_signal(args: &Args, function: &Function, errors: &mut Errors) {
    let Some(Expr::MethodCall(call)) = &args.cancel else { return };
    let receiver = short_text(&call.receiver);
    let owner = by_value::bindings(function).into_iter().find(|binding| binding.name == receiver);
    let is_own = |ty: &Type| types::segment(ty, "Receiver").is_some();
    if call.method == "changed" && owner.is_some_and(|owner| is_own(owner.ty)) {
        errors.at(
            call,
            format_args!(
                "`changed()` needs a receiver of its own: write `cancel = stopped({receiver}.clone())`, \
                 with `async fn stopped(mut signal: tokio::sync::watch::Receiver<bool>) {{ let _ = \
                 signal.changed().await; }}`"
            ),
        );
    }
}

/// Returns the error for an option that names a variable of the body.
pub(crate) fn names_variable(args: &Args, function: &Function) -> Option<syn::Error> {
    args.lent().find_map(|(option, written)| {
        let mut tokens = written.to_token_stream().into_iter();
        let Some(TokenTree::Ident(name)) = tokens.next() else { return None };
        let is_named = |token: Option<&TokenTree>| is_word(token, &name.to_string());
        let is_whole = tokens.next().is_none_or(|next| is_punct(Some(&next), '.'));
        let is_bound = |tokens: &[TokenTree], at: usize| {
            is_word(tokens.get(at), "let")
                && (is_named(tokens.get(at + 1)) || is_named(tokens.get(at + 2)))
        };
        let is_argument =
            name == "__self" || mentions(function.sig.to_token_stream(), &|word| name == word);
        let message = format!(
            "`{name}` is a variable of the body, which does not exist yet when `{option}` is read: \
             name a `static`, an argument or a field of `self`"
        );
        (is_whole && !is_argument && any_token(function.body.stream(), &is_bound))
            .then(|| syn::Error::new_spanned(written, message))
    })
}

/// Returns whether `retry_on` contains this kind of failure.
fn lists(args: &Args, word: &str) -> bool {
    args.retry_on.iter().flatten().filter_map(Matcher::kind).any(|kind| kind == word)
}

/// Returns whether the value of a body is an answer as it came: `….send().await`, alone or with `?`
/// in an `Ok`.
fn is_sent(body: &Group) -> bool {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let (value, end) = match &tokens[..] {
        [.., TokenTree::Ident(ok), TokenTree::Group(value)] if ok == "Ok" => {
            (value, ".send().await?")
        }
        _ => (body, ".send().await"),
    };
    value.stream().to_string().split_whitespace().collect::<String>().ends_with(end)
}

/// Returns the warning about a success that may hide a failure, a method of `OutcomeOf`, and its
/// place, the value of the body. The method of a `Result` in a `Result` applies to the error of a
/// timer or of a task, whose type may not be written.
pub(crate) fn hidden_failure(args: &Args, declared: &Type, body: &Group) -> Option<TokenStream> {
    let may_be_around = |word: &str| matches!(word, "_" | "Elapsed" | "JoinError");
    let written = declared.to_token_stream();
    let is_answer = short_text(declared).contains("reqwest::Response") && is_sent(body);
    let method = if is_option_of_result(declared) && args.retry_on.is_none() {
        quote::quote!(__some)
    } else if is_answer && (lists(args, "server_error") || lists(args, "rate_limit")) {
        quote::quote!(__answer)
    } else if (types::segment(declared, "Result").is_none() || mentions(written, &may_be_around))
        && !lists(args, "timeout")
    {
        quote::quote!(__success)
    } else {
        return None;
    };
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let value = tokens.rsplit(|token| is_punct(Some(token), ';')).find(|part| !part.is_empty());
    let place = SpanRange::of(value?.first());
    (!args.has_ok()).then(|| place.write_path(method))
}

/// Returns whether this is an `Option<Result<…>>`, whose `Err` is a success.
fn is_option_of_result(ty: &Type) -> bool {
    let value =
        types::segment(ty, "Option").and_then(|option| types::type_arguments(option).next());
    value.is_some_and(|value| types::segment(value, "Result").is_some())
}

/// Reports matchers of what a failure of this type does not have.
fn never_match(args: &Args, ty: &Type, errors: &mut Errors) {
    const NUMBERS: [&str; 6] = ["u16", "u32", "u64", "i16", "i32", "i64"];
    let inside = types::inside_retry_error(ty);
    let error = types::error_of(inside.as_ref().unwrap_or(ty));
    let is = |number: &&str| error.is_some_and(|error| types::segment(error, number).is_some());
    let is_number = args.classify.is_none() && NUMBERS.iter().any(is);
    let option = types::segment(ty, "Option");
    let is_option = option.is_some_and(|option| !option.arguments.is_none());
    for matcher in args.matchers() {
        let (blamed, is_kind) = match matcher {
            Matcher::Class(class) => (class.to_token_stream(), true),
            Matcher::Pattern(text) => (text.to_token_stream(), false),
            Matcher::Matches { .. } | Matcher::When(_) | Matcher::Ok(_) => continue,
        };
        let why = if is_option_of_result(ty) {
            "an `Err` in a `Some` is a success: return a `Result` with the `Option` in its `Ok`"
        } else if is_option {
            "the failure of an `Option` is `None`, which has neither a kind nor a text; remove it \
             (every `None` is retried by default), or return a `Result`"
        } else if is_number && is_kind {
            "the error is a number, which has no kind: to list numbers, write `matches(429 | 503)`; \
             `classify = f` names a function that gives them kinds"
        } else {
            continue;
        };
        errors.at(blamed, format_args!("this never matches: {why}"));
    }
}
