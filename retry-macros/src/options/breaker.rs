//! An inline breaker: `breaker(failure_threshold = 5, timeout = "30s", …)`.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use retry_rules::options::{BREAKER, Setting};
use retry_rules::suggest::settings_meant;
use retry_rules::{BreakerConfig, Field, Fields, foreign_names};
use syn::parse::ParseStream;
use syn::{Expr, Ident, Token};

use crate::options::check::{Checked, check_settings};
use crate::options::settings::{Base, Settings};
use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, each, set_twice, unknown_option, written};
use crate::tokens::hygiene::quote;
use crate::value::runtime::Scope;

/// The settings of an inline breaker, checked.
pub(crate) struct BreakerArgs {
    settings: Settings<BreakerConfig>,
    pub(crate) checked: Checked<BreakerConfig>,
}

impl BreakerArgs {
    pub(crate) fn parse(
        input: ParseStream,
        option: &Ident,
        options: &[&str],
        scope: &Scope,
        errors: &mut Errors,
    ) -> Self {
        let mut settings = Settings::new(&BREAKER);
        each(input, errors, |input, errors| read(&mut settings, input, options, scope, errors));
        let whole = option.to_token_stream();
        let checked = check_settings(&settings, Fields::NONE, Base::Default, Some(&whole), errors);
        Self { settings, checked }
    }

    /// Returns whether the breaker may hold calls.
    pub(crate) fn holds(&self) -> bool {
        self.settings.entry(Field::Hold).is_some()
    }

    /// The settings as a `const` expression, without those known to be wrong.
    pub(crate) fn config(&self) -> TokenStream {
        let calls = self.settings.calls(self.checked.wrong);
        quote!(__retry::BreakerConfig::new() #calls)
    }
}

/// Parses one setting.
fn read(
    settings: &mut Settings<BreakerConfig>,
    input: ParseStream,
    options: &[&str],
    scope: &Scope,
    errors: &mut Errors,
) -> syn::Result<()> {
    let expected = "a setting has a name, as in `failure_threshold = 5` or `timeout = \"30s\"`";
    let name = grammar::name(input, expected)?;
    let word = name.to_string();
    let Some(option) = settings.option(&word) else {
        if input.peek(Token![::]) || !(input.peek(Token![=]) || input.peek(Token![:])) {
            return Err(syn::Error::new(
                name.span(),
                "an inline breaker lists its settings, as in `breaker(failure_threshold = 5)`; a \
                 shared one is given by its name, as in `breaker = DB`",
            ));
        }
        let names = BREAKER.iter().map(Setting::name).collect::<Vec<_>>();
        let what = ("breaker setting", "the documentation of `retry_runtime::BreakerConfig`");
        let others = foreign_names::BREAKER;
        let beside = settings_meant(&word, &written(input), options, &[foreign_names::RETRY]);
        let here = settings_meant(&word, "", &names, &[others]);
        if let ([beside, ..], []) = (&*beside, &*here) {
            let message = format!(
                "`{word}` is no setting of a breaker: `{beside}` is an option of the function, beside \
                 `breaker(…)`"
            );
            return Err(error(name, message));
        }
        let advice = foreign_names::cures(&word, "", foreign_names::BREAKER_ADVICE).next();
        return Err(match advice {
            Some(advice) => error(name, format!("unknown breaker setting `{word}`: {advice}")),
            None => unknown_option(what, &name, input, &names, others),
        });
    };
    if let Some(first) = settings.entry(option.field) {
        return Err(set_twice(&first.name, &name));
    }
    let ahead = input.fork();
    let value = ahead.parse::<Token![=]>().and_then(|_| ahead.parse::<Expr>());
    if let Some(value) = value.ok().filter(|value| scope.runtime(value).is_some()) {
        settings.poisoned = settings.poisoned.with(option.field);
        return Err(syn::Error::new_spanned(
            value,
            "an inline breaker is built at compile time and shared by all calls, so its settings \
             must be constant: to set one at runtime, keep a `CircuitBreaker` in a field and \
             write `breaker = self.breaker`",
        ));
    }
    settings.read(option, &name, input, &mut Scope::default(), errors)
}
