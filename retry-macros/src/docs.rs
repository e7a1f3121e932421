//! The section "Retries" of the function's rustdoc, which an editor shows on
//! hover: the policy in one line, a table of the waits, the longest total wait.

use retry_policy::{Attempts, Policy, duration};
use syn::{Attribute, Visibility, parse_quote};

use crate::args::{Args, Breaker, OnFailure};
use crate::check::Checked;
use crate::item::Function;
use crate::value::plain;

/// Whether a section may be added: to what is documented, and to private free
/// functions. Elsewhere it would stand in the place of documentation that is
/// missing and wanted, or that a method inherits from its trait.
pub(crate) fn has_place(function: &Function) -> bool {
    let documented = function.attrs.iter().any(|attr| attr.path().is_ident("doc"));
    let private = matches!(function.vis, Visibility::Inherited);
    documented || private && function.sig.receiver().is_none()
}

/// Waits that the table shows at most; more of them tell nothing new.
const SHOWN: u32 = 10;

pub(crate) fn section(args: &Args, checked: &Checked) -> Vec<Attribute> {
    let mut lines = vec![String::new(), "# Retries".to_owned(), String::new()];
    match &checked.known {
        Some(policy) => {
            lines.push(format!("{policy}{}.", others(args)));
            lines.extend(table(policy));
        }
        None => lines.push(format!("{}{}.", as_written(args), others(args))),
    }
    lines.iter().map(|line| parse_quote!(#[doc = #line])).collect()
}

/// The options that are no part of the policy, in a few words each.
fn others(args: &Args) -> String {
    let mut words = vec![String::new()];
    if args.retry_on.is_some() || args.abort_on.is_some() {
        words.push("only some failures".to_owned());
    }
    match &args.breaker {
        Some(Breaker::Shared(breaker)) => {
            words.push(format!("circuit breaker `{}`", plain(breaker)));
        }
        Some(Breaker::InPlace(_)) => words.push("with its own circuit breaker".to_owned()),
        None => {}
    }
    if let Some(quota) = &args.quota {
        words.push(format!("retry quota `{}`", plain(quota)));
    }
    match &args.on_failure {
        OnFailure::Stop => {}
        OnFailure::Continue => words.push("at the end it continues with a default".to_owned()),
        OnFailure::Fallback(_) => words.push("at the end it falls back".to_owned()),
    }
    words.join("; ")
}

/// A policy that only const evaluation knows: as it was written.
fn as_written(args: &Args) -> String {
    let policy = &args.policy;
    let mut words = Vec::new();
    if let Some(base) = &policy.base {
        words.push(format!("policy `{}`", plain(base)));
    }
    if let Some(attempts) = &policy.attempts {
        words.push(format!("`attempts = {}`", plain(attempts)));
    }
    if let Some(backoff) = &policy.backoff {
        words.push(format!("`backoff = {}`", backoff.tokens));
    }
    for (name, value) in [
        ("initial_delay", &policy.initial_delay),
        ("max_delay", &policy.max_delay),
        ("budget", &policy.budget),
        ("deadline", &policy.deadline),
        ("timeout", &policy.timeout),
    ] {
        if let Some(value) = value {
            words.push(format!("`{name} = {}`", plain(value)));
        }
    }
    if let Some(jitter) = &policy.jitter {
        words.push(format!("jitter `{}`", jitter.tokens));
    }
    words.join(", ")
}

/// A column for each wait, and the longest total.
fn table(policy: &Policy) -> Vec<String> {
    let waits = match policy.get_attempts() {
        Attempts::Limited(attempts) => attempts.saturating_sub(1),
        Attempts::Unlimited => u32::MAX,
    };
    if waits == 0 {
        return Vec::new();
    }
    let mut lines =
        vec![String::new(), "| after attempt | wait |".to_owned(), "| --- | --- |".to_owned()];
    let mut previous = None;
    let (mut shown, mut longest_so_far) = (0, core::time::Duration::ZERO);
    for n in 1..=waits.min(SHOWN) {
        let (shortest, longest) = policy.wait_interval(n, previous);
        longest_so_far = longest_so_far.saturating_add(shortest);
        if policy.get_budget().is_some_and(|budget| longest_so_far > budget) {
            break;
        }
        let wait = if shortest == longest {
            duration::format(longest).to_string()
        } else {
            format!("{} to {}", duration::format(shortest), duration::format(longest))
        };
        lines.push(format!("| {n} | {wait} |"));
        previous = Some(longest);
        shown = n;
    }
    if shown == SHOWN && waits > SHOWN {
        lines.push("| … | … |".to_owned());
    }
    lines.push(String::new());
    if let Some(total) = policy.longest_total_wait() {
        lines.push(format!("It waits {} in all at the longest.", duration::format(total)));
    }
    lines
}
