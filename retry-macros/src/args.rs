//! The options of the attribute and of `policy!`: the options of a policy, and a table with a row
//! for each option of the function.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use retry_rules::{Field, Fields, Policy, foreign_names};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, Ident, LitBool, Pat, Path, Token, parenthesized, token};

use crate::errors::Errors;
use crate::function;
use crate::grammar::{
    self, assigned, at_next, each, equals, nearest, set_twice, up_to_comma, written,
};
use crate::options::backoff;
use crate::options::breaker::BreakerArgs;
use crate::options::check::{Checked, check_settings};
use crate::options::matcher::{self, Matcher};
use crate::options::settings::{BREAKER, Base, Entry, POLICY, Settings};
use crate::options::{self, Inside, Opt};
use crate::runtime::{Local, RuntimeExpr, Scope, ValueKind};
use crate::token_text::token_text;
use crate::value::{self, Value};

/// All options as written, except the invalid ones.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) policy: PolicyArgs,
    pub(crate) retry_on: Option<Vec<Matcher>>,
    pub(crate) abort_on: Option<Vec<Matcher>>,
    pub(crate) classify: Option<Expr>,
    /// `retry_after`, unless it adjusts the wait.
    pub(crate) retry_after: Option<Expr>,
    /// `retry_after = |error, wait| …`, which sees the wait that would follow.
    pub(crate) adjust_wait: Option<Expr>,
    pub(crate) breaker_on: Option<Vec<Matcher>>,
    /// `when_open = wait`: the call waits until the breaker admits it.
    pub(crate) waits_for_breaker: bool,
    pub(crate) cancel: Option<Expr>,
    pub(crate) breaker: Option<Breaker>,
    pub(crate) quota: Option<Expr>,
    pub(crate) on_failure: OnFailure,
    /// Makes what the caller gets of the last error.
    pub(crate) map_error: Option<Expr>,
    pub(crate) on_retry: Option<Expr>,
    /// The level of the event `gave up`, as a variant of `LogLevel`.
    pub(crate) log: Option<Ident>,
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
    /// The values that are evaluated before the first attempt.
    pub(crate) locals: Vec<Local>,
}

/// A policy to start from.
pub(crate) enum PolicyBase {
    Constant(Expr),
    Runtime(RuntimeExpr),
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
    pub(crate) const fn runtime_base(&self) -> Option<&RuntimeExpr> {
        match &self.base {
            Some(PolicyBase::Runtime(base)) => Some(base),
            _ => None,
        }
    }
}

impl Default for PolicyArgs {
    fn default() -> Self {
        Self { base: None, settings: Settings::new(&POLICY), locals: Vec::new() }
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

/// An option of the function, and how to parse it.
pub(crate) struct FunctionOption {
    read: fn(&mut Args, &mut Reading<'_>) -> syn::Result<()>,
    /// The field under which the rules know it.
    field: Option<Field>,
    /// Set if `policy!` accepts it too.
    in_policy: bool,
    pub(crate) inside: Inside,
}

/// An option whose value is about to be parsed.
struct Reading<'a> {
    name: &'a Ident,
    example: &'static str,
    input: ParseStream<'a>,
    scope: &'a mut Scope,
    errors: &'a mut Errors,
}

impl Reading<'_> {
    /// Parses `= expression` after the name.
    fn expr(&self) -> syn::Result<Expr> {
        assigned(self.name, self.input, self.example)
    }

    /// Parses the `=`.
    fn equals(&self) -> syn::Result<()> {
        equals(self.name, self.input, self.example)
    }
}

/// The options of a function that are not part of its policy, in the order in which they are
/// listed.
pub(crate) static FUNCTION: [Opt<FunctionOption>; 22] = [
    option("retry_on", "[transient]", |args, option| {
        args.retry_on = Some(matchers(option)?);
        Ok(())
    })
    .about(Field::RetryOn)
    .completed(Inside::List),
    option("abort_on", "[matches(DbError::Corrupt)]", |args, option| {
        args.abort_on = Some(matchers(option)?);
        Ok(())
    })
    .about(Field::RetryOn)
    .completed(Inside::List),
    option("classify", "kind_of", |args, option| {
        args.classify = Some(option.expr()?);
        Ok(())
    })
    .about(Field::RetryOn),
    option("retry_after", "|error| error.retry_after()", |args, option| {
        let expr = option.expr()?;
        if matches!(&expr, Expr::Lit(_)) {
            return Err(syn::Error::new_spanned(
                expr,
                "`retry_after` takes a function of the error, `Fn(&E) -> Option<Duration>`: write \
                 `retry_after = |error| error.wait()`; the header `Retry-After` is read without it if \
                 the error is a `StatusError` (`http::check`)",
            ));
        }
        let sees_wait = matches!(&expr, Expr::Closure(closure) if closure.inputs.len() == 2);
        *(if sees_wait { &mut args.adjust_wait } else { &mut args.retry_after }) = Some(expr);
        Ok(())
    })
    .about(Field::RetryAfter),
    option("breaker", "DB", |args, option| {
        args.breaker = Some(breaker(option)?);
        Ok(())
    })
    .completed(Inside::Settings),
    option("breaker_on", "[server_error, timeout]", |args, option| {
        args.breaker_on = Some(matchers(option)?);
        Ok(())
    })
    .completed(Inside::List),
    option("when_open", "wait", |args, option| {
        option.equals()?;
        args.waits_for_breaker = when_open(option.input)?;
        if args.waits_for_breaker {
            args.fields = args.fields.with(Field::WhenOpen);
        }
        Ok(())
    })
    .completed(Inside::Word),
    option("quota", "OUTBOUND", |args, option| {
        args.quota = Some(quota(option)?);
        Ok(())
    })
    .about(Field::Quota),
    option("cancel", "shutdown.cancelled()", |args, option| {
        args.cancel = Some(option.expr()?);
        Ok(())
    })
    .about(Field::Cancel),
    option("on_failure", "fallback(f)", |args, option| {
        option.equals()?;
        args.on_failure = on_failure(option.name, option.input)?;
        Ok(())
    })
    .completed(Inside::Word),
    option("map_error", "|error: RetryError<DbError>| error.into()", |args, option| {
        args.map_error = Some(map_error(option.expr()?)?);
        Ok(())
    }),
    option("on_retry", "|event| log(event)", |args, option| {
        let expr = option.expr()?;
        if matches!(&expr, Expr::Macro(_) | Expr::Block(_)) {
            let message = format!(
                "`on_retry` takes a function, which is called before each wait: write `on_retry = \
                 |event| {}`",
                token_text(&expr)
            );
            return Err(syn::Error::new_spanned(expr, message));
        }
        args.on_retry = Some(expr);
        Ok(())
    })
    .about(Field::OnRetry),
    option("history", "5", |args, option| {
        args.history = Some(history(option)?);
        Ok(())
    }),
    option("log", "info", |args, option| {
        option.equals()?;
        args.log = Some(log(option.input)?);
        Ok(())
    })
    .completed(Inside::Word),
    option("policy", "HTTP", |args, option| {
        let expr = option.expr()?;
        if matches!(&expr, Expr::Lit(_)) {
            return Err(syn::Error::new_spanned(
                expr,
                "`policy` takes a policy, not its name: write `const HTTP: Policy = policy!(attempts = 5, \
                 jitter);` and `policy = HTTP`",
            ));
        }
        args.policy.base = Some(match option.scope.runtime(&expr).cloned() {
            Some(inside) => PolicyBase::Runtime(option.scope.evaluate(ValueKind::Policy, inside)),
            None => {
                option.scope.check_constant(&expr)?;
                PolicyBase::Constant(expr)
            }
        });
        Ok(())
    })
    .in_policy(),
    option("name", "\"billing.fetch\"", |args, option| {
        let name = option.expr()?;
        if option.scope.runtime(&name).is_some() {
            return Err(syn::Error::new_spanned(
                name,
                "`name` belongs to the function and is the same for all its calls: write a literal \
                 or a constant, such as `name = \"billing.fetch\"`",
            ));
        }
        args.name = Some(name);
        Ok(())
    }),
    option("clone", "(body, headers)", |args, option| {
        args.clone = argument_names(option, "the arguments that the body consumes or changes")?;
        Ok(())
    }),
    option("carry", "(rest)", |args, option| {
        let meaning = "the `mut` arguments that the next attempt goes on with";
        args.carry = argument_names(option, meaning)?;
        Ok(())
    }),
    option("context", "cx", |args, option| {
        option.equals()?;
        args.context = Some(option.input.parse().map_err(|_| {
            at_next(option.input, "`context` takes the name to bind: write `context = cx`")
        })?);
        Ok(())
    }),
    option("nested", "once", |args, option| {
        option.equals()?;
        args.nested_once = nested_once(option.input)?;
        Ok(())
    })
    .completed(Inside::Word),
    option("docs", "false", |args, option| {
        option.equals()?;
        args.docs = Some(docs(option.input)?);
        Ok(())
    }),
    option("crate", "path", |args, option| {
        option.equals()?;
        args.krate = Some(Path::parse_mod_style(option.input).map_err(|_| {
            at_next(
                option.input,
                "`crate` takes the path of this library: write `crate = my_name_for_it`",
            )
        })?);
        Ok(())
    })
    .in_policy()
    .completed(Inside::Library),
];

/// Creates a row of the table.
const fn option(
    name: &'static str,
    example: &'static str,
    read: fn(&mut Args, &mut Reading<'_>) -> syn::Result<()>,
) -> Opt<FunctionOption> {
    let option = FunctionOption { read, field: None, in_policy: false, inside: Inside::Nothing };
    Opt::new(name, option, example)
}

impl Opt<FunctionOption> {
    const fn about(mut self, field: Field) -> Self {
        self.kind.field = Some(field);
        self
    }

    const fn in_policy(mut self) -> Self {
        self.kind.in_policy = true;
        self
    }

    const fn completed(mut self, inside: Inside) -> Self {
        self.kind.inside = inside;
        self
    }
}

/// The macro being expanded: `#[retry(…)]` accepts all options, `policy!(…)` only the options of
/// a policy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Attribute,
    Policy,
}

impl Syntax {
    /// The accepted options, in the order in which they are listed. For `policy!`, this omits
    /// `crate`, which the macro sets itself.
    pub(crate) fn options(self) -> Vec<&'static str> {
        let policy = options::names(&POLICY);
        match self {
            Self::Attribute => [policy, options::names(&FUNCTION)].concat(),
            Self::Policy => {
                let before = FUNCTION.iter().filter(|option| option.kind.in_policy);
                let listed = before.map(|option| option.name).filter(|name| *name != "crate");
                listed.chain(policy).collect()
            }
        }
    }
}

impl Args {
    /// Parses all options. Mistakes go to `errors`.
    pub(crate) fn parse(
        tokens: TokenStream,
        syntax: Syntax,
        scope: &mut Scope,
        errors: &mut Errors,
    ) -> Self {
        let mut args = Self::default();
        let read = |input: ParseStream| {
            each(input, errors, |input, errors| args.option(input, syntax, scope, errors));
            Ok(())
        };
        // Tokens left over inside brackets are not a mistake in addition to the one that caused
        // them.
        if let (Err(error), true) = (read.parse2(tokens), errors.is_empty()) {
            errors.push(error);
        }
        args.policy.locals = scope.take_locals();
        args
    }

    /// Checks the policy that the options describe.
    pub(crate) fn check(&self, errors: &mut Errors) -> Checked {
        let mut beside = self.fields;
        if self.breaker.is_some() {
            // With a breaker, the matchers also decide what trips it, which matters even with a
            // single attempt.
            beside = beside.difference(Fields::NONE.with(Field::RetryOn));
        }
        if self.may_hold() {
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
        let whole = self.policy.base.as_ref().map(|base| base.written().to_token_stream());
        let base = match &self.policy.base {
            Some(PolicyBase::Runtime(_)) => Base::Runtime,
            Some(PolicyBase::Constant(_)) => Base::Shared,
            None => Base::Default,
        };
        check_settings(&self.policy.settings, beside, base, whole.as_ref(), errors)
    }

    /// Returns whether a wait that a server asks for may hold all calls of the breaker.
    fn may_hold(&self) -> bool {
        // A wait that the function adjusts concerns this call only.
        self.adjust_wait.is_none() && self.breaker.as_ref().is_some_and(Breaker::may_hold)
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

    /// Returns whether a macro of the library has set `crate` to its own `$crate`.
    fn is_crate_known(&self) -> bool {
        let first = self.krate.as_ref().and_then(|path| path.segments.first());
        first.is_some_and(|segment| segment.ident == "$crate")
    }

    /// The name of this option, if it was written.
    pub(crate) fn written(&self, option: &str) -> Option<&Ident> {
        self.names.iter().find(|name| *name == option)
    }

    fn option(
        &mut self,
        input: ParseStream,
        syntax: Syntax,
        scope: &mut Scope,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        if !input.peek(Ident::peek_any) {
            return Err(at_next(input, "expected an option, such as `attempts = 5` or `jitter`"));
        }
        let name = Ident::parse_any(input)?;
        let word = name.to_string();
        let setting = self.policy.settings.option(&word);
        let option = FUNCTION
            .iter()
            .find(|option| option.name == word)
            .filter(|option| syntax == Syntax::Attribute || option.kind.in_policy);
        if setting.is_none() && option.is_none() {
            let value = input.fork();
            return Err(syn::Error::new(name.span(), unknown(&word, &value, syntax)));
        }
        if let Some(first) = self.written(&word) {
            if word == "crate" && self.is_crate_known() {
                return Err(syn::Error::new(
                    name.span(),
                    "`retrying!` and `policy!` find their library by themselves: remove `crate`",
                ));
            }
            return Err(set_twice(first, &name));
        }
        self.names.push(name.clone());
        match (setting, option) {
            (Some(setting), _) => self.policy.settings.read(setting, &name, input, scope, errors),
            (None, Some(option)) => {
                let example = option.example;
                let mut reading = Reading { name: &name, example, input, scope, errors };
                (option.kind.read)(self, &mut reading)?;
                if let Some(field) = option.kind.field {
                    self.fields = self.fields.with(field);
                }
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }
}

fn matchers(option: &mut Reading<'_>) -> syn::Result<Vec<Matcher>> {
    option.equals()?;
    matcher::list(option.input, option.name, option.errors)
}

fn breaker(option: &mut Reading<'_>) -> syn::Result<Breaker> {
    if option.input.is_empty() || option.input.peek(Token![,]) {
        return Err(syn::Error::new(
            option.name.span(),
            "`breaker` needs a circuit breaker: a shared one, as in `breaker = DB`, or an inline \
             one for this function alone, as in `breaker(failure_threshold = 5)`",
        ));
    }
    if !option.input.peek(token::Paren) {
        let expr = without_reference(option.expr()?);
        check_call(&expr)?;
        return Ok(Breaker::Shared(expr));
    }
    let content;
    parenthesized!(content in option.input);
    let in_place = BreakerArgs::parse(&content, option.name, option.scope, option.errors);
    Ok(Breaker::InPlace(Box::new(in_place)))
}

/// Rejects a string literal, and an expression that would create a new instance for each call.
fn check_shared(
    expr: &Expr,
    option: &str,
    name: &str,
    kind: &str,
    arguments: &str,
) -> syn::Result<()> {
    let declared = |arguments: &str| {
        format!("write `static {name}: {kind} = {kind}::new({arguments});` and `{option} = {name}`")
    };
    let message = match expr {
        Expr::Lit(syn::ExprLit { lit: number @ syn::Lit::Int(_), .. }) => {
            let setting = if kind == "RetryQuota" { "capacity" } else { "failure_threshold" };
            let arguments = format!("{arguments}.{setting}({})", token_text(number));
            format!("`{option}` takes the {option} itself, not a number: {}", declared(&arguments))
        }
        Expr::Lit(literal) => {
            let named = token_text(&literal.lit);
            let rest = arguments.split_once(',').map_or("", |(_, rest)| rest);
            format!(
                "`{option}` takes the {option} itself, not its name: {}",
                declared(&format!("{named},{rest}"))
            )
        }
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => {
                let mut segments = path.path.segments.iter().rev();
                let is_new = segments.next().is_some_and(|last| last.ident == "new")
                    && segments.next().is_some_and(|owner| owner.ident == kind);
                if !is_new {
                    return Ok(());
                }
                let arguments = token_text(&call.args);
                format!(
                    "this creates a {option} for each call, so that no two calls share it and it \
                     never acts: {}",
                    declared(&arguments)
                )
            }
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    Err(syn::Error::new_spanned(expr, message))
}

/// Rejects `DB(failure_threshold = 5)`: settings belong where a breaker is created.
fn check_call(expr: &Expr) -> syn::Result<()> {
    check_shared(expr, "breaker", "DB", "CircuitBreaker", "\"db\", BreakerConfig::new()")?;
    let Expr::Call(call) = expr else { return Ok(()) };
    let is_setting = |argument: &Expr| match argument {
        Expr::Assign(assign) => value::word(&assign.left)
            .is_some_and(|word| BREAKER.iter().any(|setting| setting.name == word)),
        _ => false,
    };
    if !call.args.iter().any(is_setting) {
        return Ok(());
    }
    let (shared, settings) = (token_text(&call.func), token_text(&call.args));
    Err(syn::Error::new_spanned(
        expr,
        format!(
            "a shared breaker is configured where it is declared: write `breaker = {shared}`, or \
             `breaker({settings})` for an inline breaker of this function alone"
        ),
    ))
}

fn quota(option: &Reading<'_>) -> syn::Result<Expr> {
    if option.input.peek(token::Paren) {
        return Err(syn::Error::new(
            option.name.span(),
            "a quota limits nothing unless calls share it: write `quota = OUTBOUND`, and declare \
             `static OUTBOUND: RetryQuota = RetryQuota::new(\"outbound\", QuotaConfig::new());`",
        ));
    }
    let quota = without_reference(option.expr()?);
    check_shared(&quota, "quota", "OUTBOUND", "RetryQuota", "\"outbound\", QuotaConfig::new()")?;
    Ok(quota)
}

/// A breaker or a quota is given by name; `&DB` means the same.
fn without_reference(expr: Expr) -> Expr {
    match expr {
        Expr::Reference(reference) if reference.mutability.is_none() => {
            without_reference(*reference.expr)
        }
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
        return Err(match input.parse::<Expr>() {
            Ok(value) => {
                let call = match &value {
                    Expr::Closure(_) => format!("fallback({})", token_text(&value)),
                    _ => format!("fallback(|_| {})", token_text(&value)),
                };
                syn::Error::new_spanned(
                    &value,
                    format!("`on_failure` takes an action: to return this instead, write `{call}`"),
                )
            }
            Err(_) => wrong(option.span(), "; ".to_owned()),
        });
    }
    let name = Ident::parse_any(input)?;
    let word = name.to_string();
    match word.as_str() {
        "stop" => Ok(OnFailure::Stop),
        "continue" => Ok(OnFailure::Continue),
        "fallback" => {
            let missing = "`fallback` needs a function or a closure: write `on_failure = fallback(f)` or `fallback(|error| …)`";
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
        // `Ok(0)`, `None`: what the caller is to get.
        word if word.starts_with(char::is_uppercase) => {
            let rest = up_to_comma(input);
            Err(syn::Error::new_spanned(
                quote::quote!(#name #rest),
                format!(
                    "`on_failure` takes an action: to return this instead, write `fallback(|_| \
                     {word}{})`",
                    token_text(&rest)
                ),
            ))
        }
        _ => Err(match nearest(&word, &NAMES) {
            Some(meant) => {
                syn::Error::new(name.span(), grammar::unknown("action", &word, Some(meant), ""))
            }
            None => {
                wrong(name.span(), format!(" `{word}`; to call it, write `fallback({word})`; "))
            }
        }),
    }
}

/// Checks that this can be called with a `RetryError`.
fn map_error(map: Expr) -> syn::Result<Expr> {
    let message = "`map_error` takes a function of the error of the call, `Fn(RetryError<E>) -> F`: write \
                   `map_error = |error: RetryError<E>| …`, with the error of an attempt for `E`";
    let is_right = match &map {
        Expr::Lit(_) | Expr::Macro(_) | Expr::Block(_) => false,
        Expr::Closure(closure) => match closure.inputs.first() {
            Some(Pat::Type(_)) => {
                closure.inputs.len() == 1 && function::mapped_error(&map).is_some()
            }
            Some(_) => closure.inputs.len() == 1,
            None => false,
        },
        _ => true,
    };
    if is_right { Ok(map) } else { Err(syn::Error::new_spanned(map, message)) }
}

/// Parses the number of failures to keep: a literal, which is checked, or a constant.
fn history(option: &Reading<'_>) -> syn::Result<Value<u32>> {
    let expr = option.expr()?;
    if option.scope.runtime(&expr).is_some() {
        return Err(syn::Error::new_spanned(
            expr,
            "`history` belongs to the function and is the same for all its calls: write a literal or \
             a constant, such as `history = 5`",
        ));
    }
    option.scope.check_constant(&expr)?;
    let failures = value::count(expr, "history", option.example)?;
    match failures.known.and_then(retry_rules::history::complaint) {
        None => Ok(failures),
        Some(complaint) => Err(syn::Error::new_spanned(failures, complaint)),
    }
}

/// Parses the level of the event `gave up`; returns the variant of `LogLevel`.
fn log(input: ParseStream) -> syn::Result<Ident> {
    let value = input.fork();
    let level = match Ident::parse_any(input) {
        Ok(word) if word == "off" => "Off",
        Ok(word) if word == "debug" => "Debug",
        Ok(word) if word == "info" => "Info",
        Ok(word) if word == "warn" => "Warn",
        _ => {
            return Err(at_next(
                &value,
                "`log` is the level at which `tracing` logs that a call gave up: write `log = off`, \
                 `debug`, `info` or `warn`",
            ));
        }
    };
    Ok(Ident::new(level, Span::mixed_site()))
}

fn when_open(input: ParseStream) -> syn::Result<bool> {
    let value = input.fork();
    match Ident::parse_any(input) {
        Ok(word) if word == "wait" => Ok(true),
        Ok(word) if word == "give_up" => Ok(false),
        _ => Err(at_next(
            &value,
            "`when_open` is `give_up` (the default), which ends a call that the breaker rejects, \
             or `wait`, which waits until the breaker admits it",
        )),
    }
}

fn nested_once(input: ParseStream) -> syn::Result<bool> {
    let value = input.fork();
    match Ident::parse_any(input) {
        Ok(word) if word == "once" => Ok(true),
        _ => Err(at_next(
            &value,
            "`nested` can only be `once`, which gives each annotated function that is called while \
             this one is retried a single attempt: write `nested = once`, or leave it out",
        )),
    }
}

fn docs(input: ParseStream) -> syn::Result<bool> {
    let value = input.fork();
    let on: LitBool = input.parse().map_err(|_| {
        at_next(
            &value,
            "`docs` must be `true` or `false`: write `docs = false` to leave the section out",
        )
    })?;
    Ok(on.value)
}

/// Parses the names in parentheses after `clone` or `carry`.
fn argument_names(option: &Reading<'_>, meaning: &str) -> syn::Result<Vec<Ident>> {
    let Reading { name, example, input, .. } = option;
    let missing = || {
        let message = format!("`{name}` names {meaning}: write `{name}{example}`");
        syn::Error::new(name.span(), message)
    };
    if input.peek(Token![=]) {
        let ahead = input.fork();
        ahead.parse::<Token![=]>()?;
        let names = up_to_comma(&ahead);
        let listed = token_text(&names).replace(['(', ')', '[', ']'], "");
        return Err(syn::Error::new_spanned(names, format!("write `{name}({listed})`")));
    }
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
            format!("`{name}` takes the names of arguments: write `{name}{example}`"),
        )
    })?;
    Ok(names.into_iter().collect())
}

fn unknown(word: &str, value: ParseStream, syntax: Syntax) -> String {
    if foreign_names::counts_retries(word) {
        let more = match written(value).parse::<u32>() {
            Ok(retries) => format!(
                "`attempts = {}` is the same as {retries} retries",
                retries.saturating_add(1)
            ),
            Err(_) => "it is one more than the number of retries".to_owned(),
        };
        return format!(
            "unknown option `{word}`: `attempts` counts all calls, including the first, so {more}"
        );
    }
    if let Some(option) = home(word) {
        let rest = up_to_comma(value);
        let call = if rest.is_empty() || value.peek(token::Paren) {
            token_text(&rest)
        } else {
            String::new()
        };
        return match option {
            "backoff" => format!("`{word}` is a curve: write `backoff = {word}{call}`"),
            option => format!("`{word}` is a matcher: write `{option} = [{word}{call}]`"),
        };
    }
    let known = syntax.options();
    let listed = options::listed(&known);
    if syntax == Syntax::Policy && FUNCTION.iter().any(|option| option.name == word) {
        return format!(
            "`{word}` belongs to a function, not to a policy: write it in `#[retry(…)]`; \
             a policy takes {listed}"
        );
    }
    let value = written(value);
    match word {
        "sleep" | "pause" if !value.is_empty() => format!(
            "unknown option `{word}`: write `initial_delay = {value}` for the first wait, or \
             `budget = {value}` for all waits of a call together"
        ),
        "max_hedges" | "hedges" | "max_hedged_attempts" | "MaxHedgedAttempts" => format!(
            "unknown option `{word}`: write `hedge(after = \"200ms\", max = {value})`",
            value = if value.is_empty() { "2" } else { &value },
        ),
        "reraise" | "raise_last" | "rethrow" => format!(
            "unknown option `{word}`: remove it, because the caller gets the last error anyway; \
             return `Result<T, RetryError<E>>` to know why the retries ended"
        ),
        "reset_after" | "reset_timeout" | "reset" => format!(
            "unknown option `{word}`: remove it, because each call begins with all of its attempts; \
             to begin anew after a session that worked, write `cx.reset()` (`context = cx`)"
        ),
        "delay_for" | "wait_for" | "delay_by" => format!(
            "unknown option `{word}`: write `retry_after = |error, wait| …`, which sees the failure and \
             the wait that would follow, and returns another one for some failures"
        ),
        "state" | "shared" => format!(
            "unknown option `{word}`: remove it; what all attempts share is a `&mut` argument, or a \
             variable before `retrying!(…)`"
        ),
        "on_error" | "on_fail" => format!(
            "unknown option `{word}`: write `on_retry = {value}` for each failure that is retried, \
             or `on_failure = fallback({value})` for the last one",
            value = if value.is_empty() { "f" } else { &value },
        ),
        _ => options::unknown("option", word, &value, "the options", &known, foreign_names::RETRY),
    }
}

/// The option whose value a word is, if it was written as an option itself.
fn home(word: &str) -> Option<&'static str> {
    if backoff::NAMES.contains(&word) {
        Some("backoff")
    } else if matcher::NAMES.contains(&word) && !matches!(word, "timeout" | "when" | "ok") {
        Some("retry_on")
    } else {
        None
    }
}
