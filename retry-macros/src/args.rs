//! The grammar of the options. Each option is read by itself: one that is wrong
//! is reported and left out, and the others are read all the same.

use core::time::Duration;

use proc_macro2::{Span, TokenStream, TokenTree};
use retry_rules::{Attempts, Field, Fields};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, Ident, LitBool, Path, Token, parenthesized, token};

use crate::breaker::BreakerArgs;
use crate::curve::{self, BackoffArg, JitterArg};
use crate::errors::Errors;
use crate::grammar::{assigned, at_next, equals, nearest, or_else, skip_to_comma, time};
use crate::hygiene::quote;
use crate::matcher::{self, Matcher};
use crate::value::{self, Value};

/// All options, as they were written; those that were wrong are missing.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) policy: PolicyArgs,
    pub(crate) retry_on: Option<Vec<Matcher>>,
    pub(crate) abort_on: Option<Vec<Matcher>>,
    pub(crate) retry_after: Option<Expr>,
    pub(crate) breaker: Option<Breaker>,
    pub(crate) quota: Option<Expr>,
    pub(crate) on_failure: OnFailure,
    pub(crate) on_retry: Option<Expr>,
    pub(crate) name: Option<Expr>,
    pub(crate) clone: Vec<Ident>,
    pub(crate) context: Option<Ident>,
    /// `nested = once`: what is called makes one attempt each while this is retried.
    pub(crate) nested_once: bool,
    pub(crate) docs: Option<bool>,
    pub(crate) krate: Option<Path>,
    /// The options that were written, right or wrong, with their names' tokens.
    names: Vec<(String, Ident)>,
}

/// The options that make up a policy.
#[derive(Default)]
pub(crate) struct PolicyArgs {
    pub(crate) base: Option<Expr>,
    pub(crate) attempts: Option<Value<Attempts>>,
    pub(crate) backoff: Option<BackoffArg>,
    pub(crate) initial_delay: Option<Value<Duration>>,
    pub(crate) max_delay: Option<Value<Duration>>,
    pub(crate) jitter: Option<JitterArg>,
    pub(crate) budget: Option<Value<Duration>>,
    pub(crate) deadline: Option<Value<Duration>>,
    pub(crate) timeout: Option<Value<Duration>>,
    /// Written, but wrong in themselves: nothing is known of them.
    pub(crate) poisoned: Fields,
}

/// What `breaker` says.
pub(crate) enum Breaker {
    Shared(Expr),
    InPlace(Box<BreakerArgs>),
}

/// What happens at the end.
#[derive(Default)]
pub(crate) enum OnFailure {
    #[default]
    Stop,
    Continue,
    Fallback(Expr),
}

const POLICY_OPTIONS: [&str; 10] = [
    "policy",
    "attempts",
    "backoff",
    "initial_delay",
    "max_delay",
    "jitter",
    "budget",
    "deadline",
    "timeout",
    "crate",
];

pub(crate) const OPTIONS: [&str; 22] = [
    "attempts",
    "backoff",
    "initial_delay",
    "max_delay",
    "jitter",
    "budget",
    "deadline",
    "timeout",
    "retry_on",
    "abort_on",
    "retry_after",
    "breaker",
    "quota",
    "on_failure",
    "on_retry",
    "policy",
    "name",
    "clone",
    "context",
    "nested",
    "docs",
    "crate",
];

/// Other libraries' words, and how the same is written here.
const ELSEWHERE: [(&str, &str); 30] = [
    ("max_attempts", "attempts"),
    ("tries", "attempts"),
    ("times", "attempts"),
    ("delay", "initial_delay"),
    ("initial_interval", "initial_delay"),
    ("min_delay", "initial_delay"),
    ("interval", "initial_delay"),
    ("max_interval", "max_delay"),
    ("base", "backoff = exponential(base = 2.0)"),
    ("factor", "backoff = exponential(base = 2.0)"),
    ("multiplier", "backoff = exponential(base = 2.0)"),
    ("strategy", "backoff"),
    ("jitter_factor", "jitter = 0.3"),
    ("retry_budget", "budget"),
    ("max_elapsed_time", "deadline"),
    ("total_timeout", "deadline"),
    ("attempt_timeout", "timeout"),
    ("retry_if", "retry_on = [when(f)]"),
    ("condition", "retry_on = [when(f)]"),
    ("when", "retry_on = [when(f)]"),
    ("fallback", "on_failure = fallback(f)"),
    ("circuit_breaker", "breaker"),
    ("max_duration", "deadline"),
    ("backoff_factor", "backoff = exponential(base = 2.0)"),
    ("exponential_base", "backoff = exponential(base = 2.0)"),
    ("notify", "on_retry = |event| …"),
    ("before_sleep", "on_retry = |event| …"),
    ("wait", "initial_delay"),
    ("stop", "attempts"),
    ("config", "policy"),
];

/// Who asks: `#[retry(…)]` takes all options, `policy!(…)` those of a policy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Attribute,
    Policy,
}

impl Syntax {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Attribute => &OPTIONS,
            Self::Policy => &POLICY_OPTIONS,
        }
    }

    /// The options to choose from. `crate` is none in `policy!`, which sets it itself.
    fn listed(self) -> String {
        self.options()
            .iter()
            .filter(|option| self == Self::Attribute || **option != "crate")
            .map(|option| format!("`{option}`"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Args {
    /// Reads all options. What is wrong goes to `errors`.
    pub(crate) fn parse(tokens: TokenStream, door: Syntax, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let read = |input: ParseStream| {
            while !input.is_empty() {
                match args.option(input, door, errors) {
                    Ok(()) => after_option(input, errors),
                    Err(error) => {
                        errors.push(error);
                        skip_to_comma(input);
                    }
                }
            }
            Ok(())
        };
        // That something is left inside brackets is no mistake beside the one in them.
        if let (Err(error), true) = (read.parse2(tokens), errors.is_empty()) {
            errors.push(error);
        }
        args
    }

    /// The name of an option that was written.
    pub(crate) fn written(&self, option: &str) -> Option<&Ident> {
        self.names.iter().find(|(name, _)| name == option).map(|(_, ident)| ident)
    }

    fn option(&mut self, input: ParseStream, door: Syntax, errors: &mut Errors) -> syn::Result<()> {
        if !input.peek(Ident::peek_any) {
            return Err(at_next(input, "expected an option, such as `attempts = 5` or `jitter`"));
        }
        let name = Ident::parse_any(input)?;
        let word = name.to_string();
        if !door.options().contains(&word.as_str()) {
            let value = input.fork();
            let message = unknown(&word, &value, door);
            return Err(syn::Error::new(name.span(), message));
        }
        if let Some(first) = self.written(&word) {
            // From the first to the second: both places in one picture.
            let both = quote!(#first #name);
            return Err(syn::Error::new_spanned(
                both,
                format!("`{word}` is set twice: keep one of them"),
            ));
        }
        self.names.push((word.clone(), name.clone()));
        let field = field(&word);
        let read = self.read(&name, &word, input, errors);
        if let (Err(_), Some(field)) = (&read, field) {
            self.policy.poisoned = self.policy.poisoned.with(field);
        }
        read
    }

    fn read(
        &mut self,
        name: &Ident,
        word: &str,
        input: ParseStream,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        let policy = &mut self.policy;
        match word {
            "attempts" => policy.attempts = Some(value::attempts(assigned(name, input, "5")?)?),
            "backoff" => {
                equals(name, input, "exponential")?;
                policy.backoff = Some(curve::backoff(input, errors)?);
            }
            "initial_delay" => policy.initial_delay = Some(time(name, input, "1s")?),
            "max_delay" => policy.max_delay = Some(time(name, input, "30s")?),
            "budget" => policy.budget = Some(time(name, input, "5m")?),
            "deadline" => policy.deadline = Some(time(name, input, "30s")?),
            "timeout" => policy.timeout = Some(time(name, input, "2s")?),
            "jitter" => policy.jitter = Some(curve::jitter(name, input)?),
            "policy" => policy.base = Some(assigned(name, input, "HTTP")?),
            "retry_on" => {
                equals(name, input, "[network, timeout]")?;
                self.retry_on = Some(matcher::list(input, name, errors)?);
            }
            "abort_on" => {
                equals(name, input, "[matches(DbError::Corrupt)]")?;
                self.abort_on = Some(matcher::list(input, name, errors)?);
            }
            "retry_after" => {
                self.retry_after = Some(assigned(name, input, "|error| error.retry_after()")?);
            }
            "breaker" => {
                self.breaker = Some(if input.peek(token::Paren) {
                    let content;
                    parenthesized!(content in input);
                    Breaker::InPlace(Box::new(BreakerArgs::parse(&content, name, errors)))
                } else {
                    Breaker::Shared(lent(assigned(name, input, "DB")?))
                });
            }
            "quota" => {
                if input.peek(token::Paren) {
                    return Err(syn::Error::new(
                        name.span(),
                        "a quota limits nothing unless calls share it: write `quota = OUTBOUND`, \
                         with `static OUTBOUND: RetryQuota = RetryQuota::new(\"outbound\", QuotaConfig::new());`",
                    ));
                }
                self.quota = Some(lent(assigned(name, input, "OUTBOUND")?));
            }
            "on_failure" => {
                equals(name, input, "fallback(f)")?;
                self.on_failure = on_failure(name, input)?;
            }
            "on_retry" => self.on_retry = Some(assigned(name, input, "|event| log(event)")?),
            "name" => self.name = Some(assigned(name, input, "\"billing.fetch\"")?),
            "clone" => self.clone = clone(name, input)?,
            "context" => {
                equals(name, input, "cx")?;
                self.context = Some(input.parse().map_err(|_| {
                    at_next(input, "`context` takes the name to bind: write `context = cx`")
                })?);
            }
            "nested" => {
                equals(name, input, "once")?;
                let value = input.fork();
                let word = Ident::parse_any(input).map_err(|_| nested(&value))?;
                if word != "once" {
                    return Err(nested(&value));
                }
                self.nested_once = true;
            }
            "docs" => {
                equals(name, input, "false")?;
                let value = input.fork();
                let on: LitBool = input.parse().map_err(|_| {
                    at_next(&value, "`docs` is `true` or `false`: write `docs = false` to leave the section out")
                })?;
                self.docs = Some(on.value);
            }
            _ => {
                equals(name, input, "path")?;
                self.krate = Some(Path::parse_mod_style(input).map_err(|_| {
                    at_next(
                        input,
                        "`crate` takes the path of this library: write `crate = my_name_for_it`",
                    )
                })?);
            }
        }
        Ok(())
    }
}

/// The field of a policy that an option is about.
fn field(option: &str) -> Option<Field> {
    Some(match option {
        "attempts" => Field::Attempts,
        "backoff" => Field::Backoff,
        "initial_delay" => Field::InitialDelay,
        "max_delay" => Field::MaxDelay,
        "jitter" => Field::Jitter,
        "budget" => Field::Budget,
        "deadline" => Field::Deadline,
        "timeout" => Field::Timeout,
        _ => return None,
    })
}

/// After an option there is a comma, or the end.
fn after_option(input: ParseStream, errors: &mut Errors) {
    if input.is_empty() || input.parse::<Option<Token![,]>>().is_ok_and(|comma| comma.is_some()) {
        return;
    }
    let next = input.cursor().token_stream().into_iter().next();
    if let Some(TokenTree::Ident(ident)) = &next {
        errors.at(ident, format!("missing comma before `{ident}`"));
    } else if input.peek(Token![:]) {
        errors.at(&next, "an option is set by `=` and not by `:`");
        skip_to_comma(input);
    } else {
        errors.at(&next, "unexpected after this option: options are separated by commas");
        skip_to_comma(input);
    }
}

/// A breaker or a quota is lent by its name; `&DB` says the same.
fn lent(expr: Expr) -> Expr {
    match expr {
        Expr::Reference(reference) if reference.mutability.is_none() => lent(*reference.expr),
        other => other,
    }
}

fn on_failure(option: &Ident, input: ParseStream) -> syn::Result<OnFailure> {
    const NAMES: [&str; 3] = ["stop", "continue", "fallback"];
    let wrong = |span: Span, hint: String| {
        syn::Error::new(
            span,
            format!(
                "unknown action{hint}`on_failure` is `stop` (the default), `continue` or `fallback(f)`"
            ),
        )
    };
    if !input.peek(Ident::peek_any) {
        return Err(wrong(option.span(), "; ".to_owned()));
    }
    let name = Ident::parse_any(input)?;
    let word = name.to_string();
    match word.as_str() {
        "stop" => Ok(OnFailure::Stop),
        "continue" => Ok(OnFailure::Continue),
        "fallback" => {
            let missing = "`fallback` needs what to call: write `on_failure = fallback(f)` or `fallback(|error| …)`";
            if !input.peek(token::Paren) {
                return Err(syn::Error::new(name.span(), missing));
            }
            let content;
            parenthesized!(content in input);
            if content.is_empty() {
                return Err(syn::Error::new(name.span(), missing));
            }
            let function = content.parse()?;
            content.parse::<Option<Token![,]>>()?;
            if content.is_empty() {
                Ok(OnFailure::Fallback(function))
            } else {
                Err(syn::Error::new_spanned(
                    content.cursor().token_stream(),
                    "`fallback` takes one callable: the function's arguments are in scope, \
                     so write `fallback(|error| f(id, error))`",
                ))
            }
        }
        _ => {
            let hint = match nearest(&word, &NAMES) {
                Some(meant) => format!(": did you mean `{meant}`? "),
                None => format!("; to call it, write `fallback({word})`; "),
            };
            Err(wrong(name.span(), format!(" `{word}`{hint}")))
        }
    }
}

fn nested(value: ParseStream) -> syn::Error {
    at_next(
        value,
        "`nested` is `once`, for one attempt of each annotated function that is called while this one is retried: \
         write `nested = once`, or leave it out",
    )
}

fn clone(name: &Ident, input: ParseStream) -> syn::Result<Vec<Ident>> {
    let missing = || {
        syn::Error::new(
            name.span(),
            "`clone` names the arguments that the body consumes: write `clone(body, headers)`",
        )
    };
    if !input.peek(token::Paren) {
        return Err(missing());
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        return Err(missing());
    }
    let names = content.parse_terminated(Ident::parse_any, Token![,]).map_err(|error| {
        syn::Error::new(
            error.span(),
            "`clone` takes the names of arguments: write `clone(body, headers)`",
        )
    })?;
    Ok(names.into_iter().collect())
}

fn unknown(word: &str, value: ParseStream, door: Syntax) -> String {
    if matches!(word, "retries" | "max_retries" | "num_retries" | "max_times") {
        let number = value
            .parse::<Token![=]>()
            .and_then(|_| value.parse::<syn::LitInt>())
            .and_then(|retries| retries.base10_parse::<u32>());
        let more = match number {
            Ok(retries) => format!(
                "`attempts = {}` is the same as {retries} retries",
                retries.saturating_add(1)
            ),
            Err(_) => "`attempts` is one more than the retries".to_owned(),
        };
        return format!(
            "unknown option `{word}`: calls are counted here, the first included, so {more}"
        );
    }
    if door == Syntax::Policy && OPTIONS.contains(&word) {
        return format!(
            "`{word}` belongs to a function and not to a policy: write it in `#[retry(…)]`; \
             a policy takes {}",
            door.listed()
        );
    }
    let meant = ELSEWHERE
        .iter()
        .find(|(elsewhere, _)| *elsewhere == word)
        .map(|(_, here)| *here)
        .or_else(|| nearest(word, door.options()));
    format!("unknown option `{word}`{}the options are {}", or_else(meant), door.listed())
}
