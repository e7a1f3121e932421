//! Applies the one list of rules to what is known at expansion: literals, and what was left out.
//!
//! A rule whose fields are all known is checked now, with the error on the user's tokens. A rule
//! that reads a `const` expression or a shared policy is left to const evaluation, together with
//! the expression to blame.

use core::ops::Range;

use proc_macro2::TokenStream;

use retry_rules::{Attempts, BreakerConfig, Fields, Policy, Rule, Rules, Style, Values};

use crate::options::settings::{Base, PartialConfig, Settings};
use crate::tokens::errors::Errors;
use crate::tokens::hygiene::quote;

/// The result of the check.
pub(crate) struct Checked<C = Policy> {
    /// The configuration, if everything in it is known.
    pub(crate) known: Option<C>,
    /// The rules left to const evaluation, each with the expression to blame.
    pub(crate) unchecked: Vec<(Rule, TokenStream)>,
    /// The fields that were written.
    pub(crate) written: Fields,
    /// The fields that were written and break a rule, or are invalid themselves.
    pub(crate) wrong: Fields,
    /// The fields that are known only at runtime.
    pub(crate) runtime: Fields,
}

/// A configuration to which rules apply.
pub(crate) trait Configuration: Copy + Default + Values {
    fn broken_rules(&self, written: Fields) -> Rules;

    /// The elements of a list that are to blame.
    fn blamed(&self, _rule: Rule, _length: usize) -> Range<usize> {
        0..0
    }
}

impl Configuration for Policy {
    fn broken_rules(&self, written: Fields) -> Rules {
        Rules::broken_by_policy(self, written)
    }

    fn blamed(&self, rule: Rule, delays: usize) -> Range<usize> {
        match (rule, self.custom_delay_above_max(), self.get_attempts()) {
            (Rule::CustomDelayAboveMax, Some(at), _) => at..at + 1,
            // From the first one that is never used to the last.
            (Rule::CustomDelaysUnused, _, Attempts::Limited(attempts)) => {
                attempts.saturating_sub(1) as usize..delays
            }
            _ => 0..0,
        }
    }
}

impl Configuration for BreakerConfig {
    fn broken_rules(&self, written: Fields) -> Rules {
        Rules::broken_by_breaker(self, written)
    }
}

/// Checks settings, next to which the fields `beside` were written, based on a `base` that is not
/// known here. If no setting is to blame, `whole` is.
pub(crate) fn check_settings<C: Configuration>(
    settings: &Settings<C>,
    beside: Fields,
    base: Base,
    whole: Option<&TokenStream>,
    errors: &mut Errors,
) -> Checked<C> {
    let PartialConfig { config, unknown, constant, runtime } = settings.partial_config(base);
    let written = settings.written().union(beside);
    let mut wrong = settings.poisoned;
    let blamed = |rule: Rule| {
        let setting = rule.fields().iter().find_map(|field| settings.entry_with(*field));
        let delays = setting.and_then(|entry| {
            let list = &entry.value.list;
            list.get(config.blamed(rule, list.len())).filter(|blamed| !blamed.is_empty())
        });
        match delays {
            Some(delays) => Some(quote!(#(#delays),*)),
            None => rule.fields().iter().find_map(|field| settings.tokens(*field)),
        }
        .or_else(|| whole.cloned())
    };

    for rule in config.broken_rules(written).iter() {
        let fields = Fields::from_slice(rule.fields());
        if !fields.intersects(unknown) {
            errors.at(blamed(rule), rule.explained(Style::Attribute, &config));
            wrong = wrong.union(fields);
        }
    }

    let is_left = |rule: &Rule| {
        let fields = Fields::from_slice(rule.fields());
        fields.intersects(unknown) && !fields.intersects(wrong) && !fields.intersects(runtime)
    };
    let unchecked = Rule::ALL
        .iter()
        .filter(|rule| is_left(rule))
        .filter_map(|rule| {
            let expression = rule.fields().iter().find(|field| constant.contains(**field));
            let blamed = match expression {
                Some(field) => settings.tokens(*field),
                // No expression here, so it must be the shared policy to start from.
                None => blamed(*rule),
            };
            Some((*rule, blamed?))
        })
        .collect();

    let known = (unknown.is_empty() && wrong.is_empty()).then_some(config);
    Checked { known, unchecked, written, wrong, runtime }
}
