//! The settings of a policy and of an inline breaker: a table with a row for each, and one parser
//! for both. A row determines how its setting is parsed, checked and expanded.

use proc_macro2::TokenStream;
use quote::ToTokens;
use retry_rules::options::{Kind, Needs, Setting};
use retry_rules::{Attempts, Bound, Field, Fields, HalfOpen};
use syn::parse::ParseStream;
use syn::{Expr, Ident};

use crate::options::backoff;
use crate::options::hedge::{self, After, HedgeDelay};
use crate::options::jitter;
use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, assigned, equals, up_to_comma};
use crate::tokens::hygiene::{SpanRange, quote};
use crate::value::runtime::Scope;
use crate::value::{self, Tokens, Value};

/// Parses what follows the name of a setting.
fn read<C: Copy + 'static>(
    setting: &Setting<C>,
    name: &Ident,
    input: ParseStream,
    scope: &mut Scope,
    errors: &mut Errors,
) -> syn::Result<Written<C>> {
    let example = setting.example;
    let field = Fields::NONE.with(setting.field);
    let expr = || assigned(name, input, example);
    Ok(match setting.kind {
        Kind::Attempts(set) => {
            let value = scope.value("attempts", expr()?, value::attempts)?;
            let call = match value.known {
                Some(Attempts::Unlimited) => Call::Other(quote!(.unlimited())),
                Some(Attempts::Limited(attempts)) => Call::Value(quote!(#attempts)),
                None => Call::Value(match &value.runtime {
                    Some(local) => local.to_token_stream(),
                    None => value.to_token_stream(),
                }),
            };
            let runtime = if value.runtime.is_some() { field } else { Fields::NONE };
            Written { runtime, ..Written::new(&value, known(value.known, set), call) }
        }
        Kind::Count(set) => simple(field, &count(setting.field, expr()?, name, example)?, set),
        Kind::Share(set) => simple(field, &value::float(expr()?, name, example)?, set),
        Kind::Time(set) => simple(field, &scope.value("delay", expr()?, value::duration)?, set),
        Kind::Bound(set) => {
            let expr = expr()?;
            if value::is_unlimited(&expr) {
                let set = known(Some(Bound::Unlimited), set);
                return Ok(Written::new(&expr, set, Call::Unlimited));
            }
            let value = scope.value("bound", expr, value::bound).map_err(|error| {
                if setting.field != Field::Budget {
                    return error;
                }
                let more =
                    "; `budget` is a time, and `quota = OUTBOUND` limits the retries of many calls";
                syn::Error::new(error.span(), format!("{error}{more}"))
            })?;
            let set = known(value.known.map(Bound::Limited), set);
            if let Some(bound) = &value.runtime {
                let method = quote::format_ident!("with_{name}");
                return Ok(Written {
                    runtime: field,
                    limit: Some(bound.clone()),
                    ..Written::new(&value, set, Call::Other(quote!(.#method(#bound))))
                });
            }
            Written::new(&value, set, Call::Value(Tokens(&value).to_token_stream()))
        }
        Kind::Backoff(set) => {
            equals(name, input, example)?;
            let (backoff, tokens) = backoff::read(input, scope, errors)?;
            let (set, part) = (known(backoff.known(), set), backoff.part());
            let (list, runtime) = (backoff.delays(), backoff.runtime());
            let call = Call::Value(backoff.expression());
            Written { part, list, runtime, ..Written::new(&tokens, set, call) }
        }
        Kind::Jitter(set) => {
            let (jitter, tokens) = jitter::read(name, scope, input)?;
            let (set, part) = (known(jitter.known(), set), jitter.part());
            let call = Call::Value(jitter.expression());
            Written { part, runtime: jitter.runtime(), ..Written::new(&tokens, set, call) }
        }
        Kind::HalfOpen(set) => {
            equals(name, input, example)?;
            let written = up_to_comma(input);
            let words = [("gradual", HalfOpen::Gradual), ("probes", HalfOpen::Probes)];
            let half_open = grammar::one_of(
                input,
                &words,
                "`half_open` is `probes` (the default), which lets all calls through once enough \
                 probes have succeeded, or `gradual`, which lets more and more of them through",
            )?;
            let variant = quote::format_ident!("{half_open:?}");
            let call = Call::Value(quote!(__retry::HalfOpen::#variant));
            Written::new(&written, known(Some(half_open), set), call)
        }
        Kind::Flag(set) => {
            equals(name, input, example)?;
            let written = up_to_comma(input);
            let on = grammar::one_of(input, &grammar::BOOLEANS, "this is `true` or `false`")?;
            let method = quote::format_ident!("with_{name}");
            let call = Call::Other(quote!(.#method(#on)));
            Written::new(&written, known(Some(on), set), call)
        }
        Kind::Hedge(set) => hedge(set, name, input, scope, errors)?,
    })
}

/// Parses what follows `hedge`; `set` sets the delay and how many hedges there may be.
fn hedge<C: 'static>(
    set: fn(C, (Bound, Option<u32>)) -> C,
    name: &Ident,
    input: ParseStream,
    scope: &mut Scope,
    errors: &mut Errors,
) -> syn::Result<Written<C>> {
    let (tokens, after, max) = hedge::read(name, input, scope, errors)?;
    let is_inherited = matches!(after, After::Policy);
    let (mut limit, mut part) =
        (None, max.as_ref().map(|max| (Field::MaxHedges, max.to_token_stream())));
    let (hedge_delay, bound, mut calls) = match after {
        After::Policy => (Some(HedgeDelay::Policy), None, TokenStream::new()),
        After::Percentile(percent) => {
            part = None;
            let calls = quote!(.with_hedge(__retry::Bound::None));
            (Some(HedgeDelay::Percentile(percent)), Some(Bound::None), calls)
        }
        After::Never => {
            (None, Some(Bound::Unlimited), quote!(.with_hedge(__retry::Bound::Unlimited)))
        }
        After::Time(time) => {
            let value = Tokens(&time);
            let calls = match time.runtime {
                Some(_) => quote!(.with_hedge(#value)),
                None => quote!(.hedge(#value)),
            };
            limit.clone_from(&time.runtime);
            (Some(HedgeDelay::Policy), time.known.map(Bound::Limited), calls)
        }
    };
    let values = match &max {
        Some(max) => bound.zip(max.known.map(Some)),
        None => bound.zip(Some(None)),
    };
    if let Some(max) = &max {
        let max = Tokens(max);
        calls.extend(quote!(.max_hedges(#max)));
    }
    let runtime = if limit.is_some() { Fields::NONE.with(Field::Hedge) } else { Fields::NONE };
    let whole = Written::new(&tokens, known(values, set), Call::Other(calls));
    Ok(Written { part, runtime, limit, hedge_delay, is_inherited, ..whole })
}

/// Parses a number of failures or calls.
fn count(field: Field, expr: Expr, name: &Ident, example: &str) -> syn::Result<Value<u32>> {
    match (field, value::share(&expr)) {
        (Field::FailureThreshold, Some(rate)) => {
            let message = format!(
                "`{name}` counts failures in a row: for a share of the calls, write `failure_rate \
                 = {rate}`"
            );
            Err(error(quote!(#name #expr), message))
        }
        _ => value::count(expr, name, example),
    }
}

/// The value written after a setting's name.
pub(crate) struct Written<C> {
    /// All tokens, as written.
    pub(crate) tokens: TokenStream,
    /// The part that may be an expression, with its field.
    pub(crate) part: Option<(Field, TokenStream)>,
    /// The elements, if it is a list.
    pub(crate) list: Vec<TokenStream>,
    /// The fields that are known only at runtime.
    pub(crate) runtime: Fields,
    /// The variable that holds the limit, if it is known only at runtime.
    pub(crate) limit: Option<Ident>,
    /// The source of the delay after which attempts are hedged, if they are.
    pub(crate) hedge_delay: Option<HedgeDelay>,
    /// Set if this only says that the value of the policy applies.
    pub(crate) is_inherited: bool,
    /// Sets it in a configuration, if it is known at expansion.
    set: Option<Box<dyn Fn(C) -> C>>,
    call: Call,
}

/// The call by which the expansion sets it.
enum Call {
    /// By calling the method of that name with this value.
    Value(TokenStream),
    /// As a limit that is explicitly unlimited.
    Unlimited,
    /// By making these calls.
    Other(TokenStream),
}

impl<C: 'static> Written<C> {
    /// Returns whether all of it is known at expansion.
    pub(crate) fn is_known(&self) -> bool {
        self.set.is_some()
    }

    fn new(tokens: &impl ToTokens, set: Option<Box<dyn Fn(C) -> C>>, call: Call) -> Self {
        let tokens = tokens.to_token_stream();
        Self {
            tokens,
            part: None,
            list: Vec::new(),
            runtime: Fields::NONE,
            limit: None,
            hedge_delay: None,
            is_inherited: false,
            set,
            call,
        }
    }
}

/// A value that is set as it is; `field` is unknown until runtime if the value is.
fn simple<C, T>(field: Fields, value: &Value<T>, set: fn(C, T) -> C) -> Written<C>
where
    C: 'static,
    T: value::Literal + 'static,
{
    let call = Call::Value(Tokens(value).to_token_stream());
    let runtime = if value.runtime.is_some() { field } else { Fields::NONE };
    Written { runtime, ..Written::new(value, known(value.known, set), call) }
}

fn known<C: 'static, T: Copy + 'static>(
    value: Option<T>,
    set: fn(C, T) -> C,
) -> Option<Box<dyn Fn(C) -> C>> {
    let value = value?;
    Some(Box::new(move |config| set(config, value)))
}

/// A setting that was written.
pub(crate) struct Entry<C: 'static> {
    pub(crate) option: &'static Setting<C>,
    pub(crate) name: Ident,
    pub(crate) value: Written<C>,
}

impl<C> Entry<C> {
    pub(crate) fn field(&self) -> Field {
        self.option.field
    }

    /// The field whose value was written: a part of the setting, or all of it.
    fn innermost(&self) -> Field {
        self.value.part.as_ref().map_or(self.field(), |(part, _)| *part)
    }
}

/// The written settings of a policy or a breaker.
pub(crate) struct Settings<C: 'static> {
    table: &'static [Setting<C>],
    pub(crate) entries: Vec<Entry<C>>,
    /// The names of the options beside them that rules read.
    pub(crate) beside: Vec<(Field, Ident)>,
    /// Written, but invalid in themselves, so nothing is known about them.
    pub(crate) poisoned: Fields,
}

/// A configuration, as far as literals and defaults determine it.
pub(crate) struct PartialConfig<C> {
    pub(crate) config: C,
    /// The fields whose value is not known at expansion.
    pub(crate) unknown: Fields,
    /// Those of them that are a `const` expression written here.
    pub(crate) constant: Fields,
    /// Those of them that are known only at runtime.
    pub(crate) runtime: Fields,
}

/// The base of a configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// Only the defaults.
    Default,
    /// A shared constant.
    Shared,
    /// A value known only at runtime.
    Runtime,
}

impl<C: Copy + Default> Settings<C> {
    pub(crate) fn new(table: &'static [Setting<C>]) -> Self {
        Self { table, entries: Vec::new(), beside: Vec::new(), poisoned: Fields::NONE }
    }

    /// The row of this name.
    pub(crate) fn option(&self, word: &str) -> Option<&'static Setting<C>> {
        self.table.iter().find(|option| option.name() == word)
    }

    /// Parses what follows the name of an option.
    pub(crate) fn read(
        &mut self,
        option: &'static Setting<C>,
        name: &Ident,
        input: ParseStream,
        scope: &mut Scope,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        match read(option, name, input, scope, errors) {
            Ok(value) => {
                self.entries.push(Entry { option, name: name.clone(), value });
                Ok(())
            }
            Err(error) => {
                self.poisoned = self.poisoned.with(option.field);
                Err(error)
            }
        }
    }

    /// Returns the entry written for a field, if it is valid in itself.
    pub(crate) fn entry(&self, field: Field) -> Option<&Entry<C>> {
        self.entries.iter().find(|entry| entry.field() == field)
    }

    /// Returns the limits that were written, other than `unlimited`, for which the expansion needs
    /// this code.
    pub(crate) fn limits(&self, needs: Needs) -> impl Iterator<Item = &Entry<C>> {
        let limits = self.entries.iter().filter(move |entry| entry.option.needs.contains(&needs));
        limits.filter(|entry| !matches!(entry.value.call, Call::Unlimited))
    }

    /// Returns the entry written for a field, or for the field of which it is a part.
    pub(crate) fn entry_with(&self, field: Field) -> Option<&Entry<C>> {
        self.entries.iter().find(|entry| entry.field() == field || entry.innermost() == field)
    }

    /// The tokens that were written for a field, which may be a part of a setting, or the name of an
    /// option beside the settings.
    pub(crate) fn tokens(&self, field: Field) -> Option<TokenStream> {
        if let Some((_, name)) = self.beside.iter().find(|(beside, _)| *beside == field) {
            return Some(name.to_token_stream());
        }
        let entry = self.entry_with(field)?;
        Some(match &entry.value.part {
            Some((part, tokens)) if *part == field => tokens.clone(),
            _ => entry.value.tokens.clone(),
        })
    }

    /// The fields that were written.
    pub(crate) fn written(&self) -> Fields {
        let fields = |entry: &Entry<C>| [entry.field(), entry.innermost()];
        Fields::from_slice(&self.entries.iter().flat_map(fields).collect::<Vec<_>>())
    }

    /// The configuration as far as it is known: based on the defaults, or on a `base` that is not
    /// known here.
    pub(crate) fn partial_config(&self, base: Base) -> PartialConfig<C> {
        let mut partial = PartialConfig {
            config: C::default(),
            unknown: self.poisoned,
            constant: Fields::NONE,
            runtime: Fields::NONE,
        };
        for option in self.table {
            // A setting written here replaces the base's setting completely, including its parts.
            let entry = self.entry(option.field);
            if base != Base::Default && entry.is_none_or(|entry| entry.value.is_inherited) {
                let all = Fields::from_slice(option.parts).with(option.field);
                partial.unknown = partial.unknown.union(all);
                if base == Base::Runtime {
                    partial.runtime = partial.runtime.union(all);
                }
            }
        }
        for entry in &self.entries {
            match &entry.value.set {
                Some(set) => partial.config = set(partial.config),
                None if !entry.value.runtime.is_empty() => {
                    partial.unknown = partial.unknown.union(entry.value.runtime);
                    partial.runtime = partial.runtime.union(entry.value.runtime);
                    // The largest number of hedges is the same for all calls.
                    if entry.value.part.is_none() && entry.value.hedge_delay.is_none() {
                        let parts = Fields::from_slice(entry.option.parts);
                        partial.unknown = partial.unknown.union(parts);
                        partial.runtime = partial.runtime.union(parts);
                    }
                }
                None if entry.value.is_inherited => {}
                None => {
                    let mut fields = Fields::NONE.with(entry.innermost());
                    if entry.value.hedge_delay.is_some() {
                        // Both its parts may be expressions.
                        fields = fields.with(entry.field());
                    }
                    partial.unknown = partial.unknown.union(fields);
                    partial.constant = partial.constant.union(fields);
                }
            }
        }
        partial
    }

    /// The builder calls that set the constant values, except for the fields that are `wrong`.
    pub(crate) fn calls(&self, wrong: Fields) -> TokenStream {
        self.calls_of(wrong, |entry| entry.value.runtime.is_empty())
    }

    /// Like [`calls`](Self::calls), for the entries that are wanted.
    pub(crate) fn calls_of(
        &self,
        wrong: Fields,
        is_wanted: impl Fn(&Entry<C>) -> bool,
    ) -> TokenStream {
        let right = self.entries.iter().filter(|entry| {
            is_wanted(entry) && !wrong.contains(entry.field()) && !wrong.contains(entry.innermost())
        });
        right
            .map(|entry| {
                // At the value, for the compiler's message about its type.
                let place = SpanRange::of(&entry.value.tokens).start();
                let method = Ident::new(entry.option.name(), place);
                match &entry.value.call {
                    Call::Value(value) => quote!(.#method(#value)),
                    Call::Unlimited => {
                        let method = quote::format_ident!("with_{method}");
                        quote!(.#method(__retry::Bound::Unlimited))
                    }
                    Call::Other(calls) => calls.clone(),
                }
            })
            .collect()
    }
}
