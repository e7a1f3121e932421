//! The one rule list, on what is known here: literals, and what was left out.
//!
//! A rule whose fields are all known is checked now, with the caret on the
//! user's token. A rule that reads a `const` expression, or a shared policy, is
//! handed on to const evaluation, with the expression to blame.

use core::time::Duration;

use proc_macro2::TokenStream;
use quote::ToTokens;

use retry_rules::{Backoff, Field, Fields, Policy, Rule, Rules, Settings, Style};

use crate::args::{Args, PolicyArgs};
use crate::curve::{BackoffKind, JitterKind};
use crate::errors::Errors;
use crate::hygiene::quote;

/// What the check has found out.
pub(crate) struct Checked {
    /// The policy, where everything is known.
    pub(crate) known: Option<Policy>,
    /// The rules that are left for const evaluation, and the expression to blame.
    pub(crate) unchecked: Vec<(Rule, TokenStream)>,
    /// The fields that were written.
    pub(crate) written: Fields,
    /// The fields that were written and break a rule, or are wrong in themselves.
    pub(crate) wrong: Fields,
}

/// Checks the policy that the options describe.
pub(crate) fn check(args: &Args, errors: &mut Errors) -> Checked {
    let policy_args = &args.policy;
    let draft = Draft::of(policy_args);
    let written = written(args);
    let mut wrong = policy_args.poisoned;

    for rule in Rules::broken_by_policy(&draft.policy, written).iter() {
        let fields = Fields::from_slice(rule.fields());
        if fields.intersects(draft.unknown) || fields.intersects(policy_args.poisoned) {
            continue;
        }
        let blamed = blamed(rule, args, &draft.policy);
        errors.at(blamed, rule.explained(Style::Attribute, &draft.policy));
        for field in rule.fields() {
            wrong = wrong.with(*field);
        }
    }

    let unchecked = Rule::ALL
        .iter()
        .filter(|rule| rule.settings() == Settings::Policy)
        .filter(|rule| {
            let fields = Fields::from_slice(rule.fields());
            fields.intersects(draft.unknown) && !fields.intersects(wrong)
        })
        .filter_map(|rule| {
            let constant = rule.fields().iter().find(|field| draft.constant.contains(**field));
            let blamed = match constant {
                Some(field) => policy_args.tokens(*field)?,
                // Nothing here is an expression but the shared policy that it starts from.
                None => rule
                    .fields()
                    .iter()
                    .find_map(|field| policy_args.tokens(*field))
                    .or_else(|| policy_args.base.as_ref().map(ToTokens::to_token_stream))?,
            };
            Some((*rule, blamed))
        })
        .collect();

    let all_known = draft.unknown == Fields::NONE && wrong == Fields::NONE;
    Checked { known: all_known.then_some(draft.policy), unchecked, written, wrong }
}

/// The fields that somebody wrote, those outside of the policy included.
fn written(args: &Args) -> Fields {
    let mut written = Fields::NONE;
    for field in PolicyArgs::FIELDS {
        if args.policy.tokens(field).is_some() {
            written = written.with(field);
        }
    }
    // With a breaker, the matchers say also what trips it, and that matters to a single call.
    if args.breaker.is_none() && (args.retry_on.is_some() || args.abort_on.is_some()) {
        written = written.with(Field::RetryOn);
    }
    for (there, field) in [
        (args.retry_after.is_some(), Field::RetryAfter),
        (args.on_retry.is_some(), Field::OnRetry),
        (args.quota.is_some(), Field::Quota),
    ] {
        if there {
            written = written.with(field);
        }
    }
    written
}

/// The tokens that a broken rule's caret stands under.
fn blamed(rule: Rule, args: &Args, policy: &Policy) -> TokenStream {
    if let (
        Some(BackoffKind::Custom(delays)),
        Rule::CustomDelayAboveMax | Rule::CustomDelaysUnused,
    ) = (args.policy.backoff.as_ref().map(|backoff| &backoff.curve), rule)
    {
        let waits = match policy.get_attempts() {
            retry_rules::Attempts::Limited(attempts) => attempts.saturating_sub(1) as usize,
            retry_rules::Attempts::Unlimited => delays.len(),
        };
        let blamed = match rule {
            Rule::CustomDelayAboveMax => {
                policy.custom_delay_above_max().and_then(|at| delays.get(at..=at))
            }
            // From the first that is never used to the last.
            _ => delays.get(waits..),
        };
        if let Some(blamed) = blamed {
            return quote!(#(#blamed),*);
        }
    }
    rule.fields()
        .iter()
        .find_map(|field| args.policy.tokens(*field))
        .or_else(|| args.policy.base.as_ref().map(ToTokens::to_token_stream))
        .unwrap_or_default()
}

impl Checked {
    /// Leaves a field out of the expansion, and with it what it would be checked by.
    pub(crate) fn leave_out(&mut self, field: Field) {
        self.wrong = self.wrong.with(field);
        self.known = None;
        self.unchecked.retain(|(rule, _)| !rule.fields().contains(&field));
    }
}

impl PolicyArgs {
    /// The values that were written, each once, with the field that it is for.
    pub(crate) fn written_tokens(&self) -> impl Iterator<Item = (Field, TokenStream)> {
        Self::FIELDS
            .into_iter()
            // What stands inside of a backoff is part of its tokens.
            .filter(|field| {
                !matches!(
                    field,
                    Field::Base | Field::Increment | Field::Delays | Field::JitterFactor
                )
            })
            .filter_map(|field| Some((field, self.tokens(field)?)))
    }

    const FIELDS: [Field; 12] = [
        Field::Attempts,
        Field::Backoff,
        Field::Base,
        Field::Increment,
        Field::Delays,
        Field::InitialDelay,
        Field::MaxDelay,
        Field::Jitter,
        Field::JitterFactor,
        Field::Budget,
        Field::Deadline,
        Field::Timeout,
    ];

    /// What was written for a field.
    fn tokens(&self, field: Field) -> Option<TokenStream> {
        fn of<T: ToTokens>(value: Option<&T>) -> Option<TokenStream> {
            value.map(ToTokens::to_token_stream)
        }
        let curve = self.backoff.as_ref().map(|backoff| &backoff.curve);
        let spread = self.jitter.as_ref().map(|jitter| &jitter.spread);
        match field {
            Field::Attempts => of(self.attempts.as_ref()),
            Field::Backoff => self.backoff.as_ref().map(|backoff| backoff.tokens.clone()),
            Field::Base => match curve {
                Some(BackoffKind::Exponential(base)) => of(base.as_ref()),
                _ => None,
            },
            Field::Increment => match curve {
                Some(BackoffKind::Linear(increment)) => of(Some(increment)),
                _ => None,
            },
            Field::Delays => match curve {
                Some(BackoffKind::Custom(delays)) if !delays.is_empty() => {
                    Some(quote!(#(#delays),*))
                }
                _ => None,
            },
            Field::InitialDelay => of(self.initial_delay.as_ref()),
            Field::MaxDelay => of(self.max_delay.as_ref()),
            Field::Jitter => self.jitter.as_ref().map(|jitter| jitter.tokens.clone()),
            Field::JitterFactor => match spread {
                Some(JitterKind::Factor(factor)) => of(Some(factor)),
                _ => None,
            },
            Field::Budget => of(self.budget.as_ref()),
            Field::Deadline => of(self.deadline.as_ref()),
            Field::Timeout => of(self.timeout.as_ref()),
            _ => None,
        }
    }
}

/// A builder method that takes a time.
type Apply = fn(Policy, Duration) -> Policy;

/// The policy as far as literals and defaults tell.
struct Draft {
    policy: Policy,
    /// Fields whose value is not known here.
    unknown: Fields,
    /// Those of them that are a `const` expression written here.
    constant: Fields,
}

impl Draft {
    fn of(args: &PolicyArgs) -> Self {
        let mut draft =
            Self { policy: Policy::new(), unknown: args.poisoned, constant: Fields::NONE };
        if args.base.is_some() {
            for field in PolicyArgs::FIELDS {
                if args.tokens(field).is_none() {
                    draft.unknown = draft.unknown.with(field);
                }
            }
            draft.forget_what_is_replaced(args);
        }
        let mut set = |field, known: Option<Policy>| match known {
            Some(policy) => draft.policy = policy,
            None => {
                draft.unknown = draft.unknown.with(field);
                draft.constant = draft.constant.with(field);
            }
        };
        let mut policy = Policy::new();
        if let Some(attempts) = &args.attempts {
            set(
                Field::Attempts,
                attempts.known.map(|attempts| {
                    policy = match attempts {
                        retry_rules::Attempts::Limited(attempts) => policy.attempts(attempts),
                        retry_rules::Attempts::Unlimited => policy.unlimited(),
                    };
                    policy
                }),
            );
        }
        if let Some(backoff) = &args.backoff {
            let (field, curve) = known_curve(&backoff.curve);
            set(
                field,
                curve.map(|curve| {
                    policy = policy.backoff(curve);
                    policy
                }),
            );
        }
        if let Some(jitter) = &args.jitter {
            let (field, known) = match &jitter.spread {
                JitterKind::Named(named) => (Field::Jitter, Some(*named)),
                JitterKind::Factor(factor) => {
                    (Field::JitterFactor, factor.known.map(retry_rules::Jitter::Proportional))
                }
            };
            set(
                field,
                known.map(|jitter| {
                    policy = policy.jitter(jitter);
                    policy
                }),
            );
        }
        let times: [(Field, &Option<_>, Apply); 5] = [
            (Field::InitialDelay, &args.initial_delay, Policy::initial_delay),
            (Field::MaxDelay, &args.max_delay, Policy::max_delay),
            (Field::Budget, &args.budget, Policy::budget),
            (Field::Deadline, &args.deadline, Policy::deadline),
            (Field::Timeout, &args.timeout, Policy::timeout),
        ];
        for (field, written, apply) in times {
            if let Some(value) = written {
                set(
                    field,
                    value.known.map(|time| {
                        policy = apply(policy, time);
                        policy
                    }),
                );
            }
        }
        draft
    }

    /// A curve or a jitter that is written here replaces all of the shared one.
    fn forget_what_is_replaced(&mut self, args: &PolicyArgs) {
        let mut replaced = Fields::NONE;
        if args.backoff.is_some() {
            replaced = replaced.with(Field::Base).with(Field::Increment).with(Field::Delays);
        }
        if args.jitter.is_some() {
            replaced = replaced.with(Field::JitterFactor);
        }
        self.unknown = self.unknown.without(replaced);
    }
}

/// The curve, or the field of it that is no literal.
fn known_curve(curve: &BackoffKind) -> (Field, Option<Backoff>) {
    match curve {
        BackoffKind::Fixed => (Field::Backoff, Some(Backoff::Fixed)),
        BackoffKind::Linear(increment) => {
            (Field::Increment, increment.known.map(|increment| Backoff::Linear { increment }))
        }
        BackoffKind::Exponential(None) => (Field::Backoff, Some(Backoff::DEFAULT)),
        BackoffKind::Exponential(Some(base)) => {
            (Field::Base, base.known.map(|base| Backoff::Exponential { base }))
        }
        BackoffKind::Fibonacci => (Field::Backoff, Some(Backoff::Fibonacci)),
        BackoffKind::Custom(delays) => {
            let known: Option<Vec<Duration>> = delays.iter().map(|delay| delay.known).collect();
            // A policy is `Copy` and so holds a `'static` list; a macro's process is short-lived.
            (Field::Delays, known.map(|delays| Backoff::Custom(delays.leak())))
        }
    }
}
