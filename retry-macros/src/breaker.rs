//! A breaker in place: `breaker(failure_threshold = 5, timeout = "30s", …)`.

use core::time::Duration;

use proc_macro2::TokenStream;
use quote::ToTokens;

use retry_rules::{BreakerConfig, Field, Fields, Rule, Rules, Settings};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Ident, Token};

use crate::errors::Errors;
use crate::grammar::{assigned, did_you_mean, skip_to_comma, time};
use crate::hygiene::quote;
use crate::value::{self, Tokens, Value};

/// One setting, by its kind.
enum Setting {
    Count(Value<u32>),
    Share(Value<f64>),
    Time(Value<Duration>),
}

impl ToTokens for Setting {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Count(value) => value.to_tokens(tokens),
            Self::Share(value) => value.to_tokens(tokens),
            Self::Time(value) => value.to_tokens(tokens),
        }
    }
}

/// The settings of a breaker in place.
#[derive(Default)]
pub(crate) struct BreakerArgs {
    settings: Vec<(Ident, Field, Setting)>,
    poisoned: Fields,
}

pub(crate) const SETTINGS: [&str; 11] = [
    "failure_threshold",
    "failure_rate",
    "window_calls",
    "window_time",
    "minimum_calls",
    "slow_call",
    "slow_rate",
    "success_threshold",
    "timeout",
    "timeout_jitter",
    "half_open_requests",
];

fn field(setting: &str) -> Option<Field> {
    Some(match setting {
        "failure_threshold" => Field::FailureThreshold,
        "failure_rate" => Field::FailureRate,
        "window_calls" => Field::WindowCalls,
        "window_time" => Field::WindowTime,
        "minimum_calls" => Field::MinimumCalls,
        "slow_call" => Field::SlowCall,
        "slow_rate" => Field::SlowRate,
        "success_threshold" => Field::SuccessThreshold,
        "timeout" => Field::OpenTimeout,
        "timeout_jitter" => Field::TimeoutJitter,
        "half_open_requests" => Field::HalfOpenRequests,
        _ => return None,
    })
}

impl BreakerArgs {
    pub(crate) fn parse(input: ParseStream, option: &Ident, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        while !input.is_empty() {
            match args.setting(input) {
                Ok(()) => {
                    if !input.is_empty() && input.parse::<Token![,]>().is_err() {
                        errors.push(input.error("missing comma before this setting"));
                        if !input.peek(Ident::peek_any) {
                            skip_to_comma(input);
                        }
                    }
                }
                Err(error) => {
                    errors.push(error);
                    skip_to_comma(input);
                }
            }
        }
        let slow = [Field::SlowCall, Field::SlowRate].map(|field| args.name(field));
        if let [Some(one), None] | [None, Some(one)] = slow {
            errors.at(one, "`slow_call` and `slow_rate` go together: write `slow_call = \"2s\", slow_rate = 0.5`");
            args.poisoned = args.poisoned.with(Field::SlowCall).with(Field::SlowRate);
        }
        args.check(option, errors);
        args
    }

    fn name(&self, field: Field) -> Option<&Ident> {
        self.settings.iter().find(|(_, other, _)| *other == field).map(|(name, ..)| name)
    }

    fn setting(&mut self, input: ParseStream) -> syn::Result<()> {
        if !input.peek(Ident::peek_any) {
            let token = input.cursor().token_stream().into_iter().next();
            return Err(syn::Error::new_spanned(
                token,
                "expected a setting of the breaker, such as `failure_threshold = 5`",
            ));
        }
        let name = Ident::parse_any(input)?;
        let word = name.to_string();
        let Some(field) = field(&word) else {
            return Err(syn::Error::new(
                name.span(),
                format!(
                    "unknown setting `{word}` of a breaker{}the settings are {}",
                    match word.as_str() {
                        "threshold" | "failures" => did_you_mean("failure_threshold", &SETTINGS),
                        "reset_timeout" | "open_timeout" | "wait" =>
                            did_you_mean("timeout", &SETTINGS),
                        other => did_you_mean(other, &SETTINGS),
                    },
                    SETTINGS.map(|setting| format!("`{setting}`")).join(", "),
                ),
            ));
        };
        if let Some(first) = self.name(field) {
            return Err(syn::Error::new_spanned(
                quote!(#first #name),
                format!("`{word}` is set twice: keep one of them"),
            ));
        }
        let setting = match word.as_str() {
            "failure_threshold" | "success_threshold" | "half_open_requests" => {
                value::count(assigned(&name, input, "3")?, &word, 3).map(Setting::Count)
            }
            "window_calls" | "minimum_calls" => {
                value::count(assigned(&name, input, "100")?, &word, 100).map(Setting::Count)
            }
            "failure_rate" | "slow_rate" | "timeout_jitter" => {
                value::float(assigned(&name, input, "0.5")?, &word, &format!("{word} = 0.5"))
                    .map(Setting::Share)
            }
            _ => time(&name, input, "30s").map(Setting::Time),
        };
        match setting {
            Ok(setting) => {
                self.settings.push((name, field, setting));
                Ok(())
            }
            Err(error) => {
                self.poisoned = self.poisoned.with(field);
                Err(error)
            }
        }
    }

    fn share(&self, field: Field) -> Option<&Value<f64>> {
        self.settings.iter().find_map(|(_, other, setting)| match setting {
            Setting::Share(value) if *other == field => Some(value),
            _ => None,
        })
    }

    /// The settings as far as literals tell, which of them do, and which were written.
    fn known(&self) -> (BreakerConfig, Fields, Fields) {
        let mut config = BreakerConfig::new();
        let (mut unknown, mut written) = (self.poisoned, Fields::NONE);
        for (name, field, setting) in &self.settings {
            written = written.with(*field);
            let known = match (name.to_string().as_str(), setting) {
                ("failure_threshold", Setting::Count(n)) => {
                    n.known.map(|n| config.failure_threshold(n))
                }
                ("window_calls", Setting::Count(n)) => n.known.map(|n| config.window_calls(n)),
                ("minimum_calls", Setting::Count(n)) => n.known.map(|n| config.minimum_calls(n)),
                ("success_threshold", Setting::Count(n)) => {
                    n.known.map(|n| config.success_threshold(n))
                }
                ("half_open_requests", Setting::Count(n)) => {
                    n.known.map(|n| config.half_open_requests(n))
                }
                ("failure_rate", Setting::Share(x)) => x.known.map(|x| config.failure_rate(x)),
                ("timeout_jitter", Setting::Share(x)) => x.known.map(|x| config.timeout_jitter(x)),
                ("window_time", Setting::Time(t)) => t.known.map(|t| config.window_time(t)),
                ("timeout", Setting::Time(t)) => t.known.map(|t| config.timeout(t)),
                ("slow_call", Setting::Time(t)) => {
                    let rate = self.share(Field::SlowRate).and_then(|rate| rate.known);
                    // The rate may be an expression: any share keeps the rules about the rest.
                    t.known.map(|t| config.slow_calls(t, rate.unwrap_or(1.0)))
                }
                (_, Setting::Share(x)) => x.known.map(|_| config),
                _ => None,
            };
            match known {
                Some(known) => config = known,
                None => unknown = unknown.with(*field),
            }
        }
        (config, unknown, written)
    }

    fn check(&mut self, option: &Ident, errors: &mut Errors) {
        let (config, unknown, written) = self.known();
        for rule in Rules::broken_by_breaker(&config, written).iter() {
            if !Fields::from_slice(rule.fields()).intersects(unknown) {
                let blamed = rule.fields().iter().find_map(|field| self.name_and_value(*field));
                errors.at(blamed.unwrap_or_else(|| quote!(#option)), rule);
                for field in rule.fields() {
                    self.poisoned = self.poisoned.with(*field);
                }
            }
        }
    }

    fn name_and_value(&self, field: Field) -> Option<TokenStream> {
        let (.., setting) = self.settings.iter().find(|(_, other, _)| *other == field)?;
        Some(setting.to_token_stream())
    }

    /// The settings as a `const` expression. Those that are known to be wrong are left out.
    pub(crate) fn config(&self, private: &TokenStream) -> TokenStream {
        let mut config = quote!(#private::BreakerConfig::new());
        for (name, field, setting) in &self.settings {
            if self.poisoned.contains(*field) || *field == Field::SlowRate {
                continue;
            }
            config.extend(match setting {
                Setting::Count(value) => {
                    let value = Tokens(value);
                    quote!(.#name(#value))
                }
                Setting::Share(value) => {
                    let value = Tokens(value);
                    quote!(.#name(#value))
                }
                Setting::Time(value) => {
                    let value = Tokens(value);
                    match self.share(Field::SlowRate) {
                        Some(rate) if *field == Field::SlowCall => {
                            let rate = Tokens(rate);
                            quote!(.slow_calls(#value, #rate))
                        }
                        _ => quote!(.#name(#value)),
                    }
                }
            });
        }
        config
    }

    /// The rules that only const evaluation can check, each with the expression to blame.
    pub(crate) fn unchecked(&self) -> Vec<(Rule, TokenStream)> {
        let (_, unknown, _) = self.known();
        Rule::ALL
            .iter()
            .filter(|rule| rule.settings() == Settings::Breaker)
            .filter(|rule| {
                let fields = Fields::from_slice(rule.fields());
                fields.intersects(unknown) && !fields.intersects(self.poisoned)
            })
            .filter_map(|rule| {
                let blamed = rule.fields().iter().find(|field| unknown.contains(**field))?;
                Some((*rule, self.name_and_value(*blamed)?))
            })
            .collect()
    }

    /// The fields that were written, for the rules about what is written in vain.
    pub(crate) fn written(&self) -> Fields {
        self.known().2
    }
}
