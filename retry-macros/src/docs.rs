//! The section "Retries" of the function's rustdoc, which an editor shows on hover: the policy in
//! one sentence, and the longest total of the waits.

use proc_macro2::TokenStream;
use quote::ToTokens;
use retry_rules::duration;
use syn::{Expr, Visibility};

use crate::args::{Args, Breaker, OnFailure, PolicyBase};
use crate::function::Function;
use crate::options::check::Checked;
use crate::options::matcher::Matcher;
use crate::tokens::hygiene::quote;
use crate::tokens::search::mentions;
use crate::tokens::text::token_text;

/// The place in which the section can be shown without harm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placement {
    Everywhere,
    /// Only in rustdoc, invisible to the `missing_docs` lint: the section does not say what the
    /// function is for.
    Rustdoc,
    /// Nowhere: a method without documentation may inherit the documentation of its trait.
    Nowhere,
}

fn placement(function: &Function) -> Placement {
    let documented = function.attrs.iter().any(|attr| attr.path().is_ident("doc"));
    let public = !matches!(function.vis, Visibility::Inherited);
    match (documented, public, function.sig.receiver().is_some()) {
        (true, ..) | (false, false, false) => Placement::Everywhere,
        (false, true, _) => Placement::Rustdoc,
        (false, false, true) => Placement::Nowhere,
    }
}

pub(crate) fn section(args: &Args, checked: &Checked, function: &Function) -> Option<TokenStream> {
    let placement = placement(function);
    if args.docs == Some(false) || placement == Placement::Nowhere {
        return None;
    }
    let mut lines = vec![String::new(), "# Retries".to_owned(), String::new()];
    match &checked.known {
        Some(policy) => {
            lines.push(format!("{policy}{}.", others(args)));
            let counted = if args.uncounted.is_some() { policy.unlimited() } else { *policy };
            if let Some(total) = counted.longest_total_wait().filter(|total| !total.is_zero()) {
                let total = duration::format(total);
                lines.extend([String::new(), format!("The waits add up to {total} at most.")]);
            }
        }
        None => lines.push(format!("{}{}.", as_written(args), others(args))),
    }
    let text = lines.join("\n");
    Some(match placement {
        Placement::Rustdoc => quote!(#[cfg_attr(doc, doc = #text)]),
        Placement::Everywhere | Placement::Nowhere => quote!(#[doc = #text]),
    })
}

/// The options that are not part of the policy, in a few words each.
fn others(args: &Args) -> String {
    let mut words = vec![String::new()];
    if let Some(matchers) = &args.retry_on {
        words.push(format!("retries {}", listed(matchers)));
    }
    if let Some(matchers) = &args.abort_on {
        words.push(format!("never retries {}", listed(matchers)));
    }
    if let Some(kinds) = &args.uncounted {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
        words.push(format!("{} uses up no attempt", kinds.join(", ")));
    }
    match &args.breaker {
        Some(Breaker::Shared(breaker)) => words.push(format!("circuit breaker {}", value(breaker))),
        Some(Breaker::InPlace(breaker)) => {
            let observes = breaker.checked.known.is_some_and(|known| known.is_observe_only());
            let effect = if observes { ", which only observes" } else { "" };
            words.push(format!("its own circuit breaker{effect}"));
        }
        None => {}
    }
    if let Some(quota) = &args.quota {
        words.push(format!("retry quota {}", value(quota)));
    }
    match &args.on_failure {
        OnFailure::Stop => {}
        OnFailure::Continue => words.push("continues with a default value in the end".to_owned()),
        OnFailure::Fallback(_) => words.push("falls back in the end".to_owned()),
    }
    if args.map_error.is_some() {
        words.push("maps its last error".to_owned());
    }
    words.join("; ")
}

/// An expression as written, unless it is one of `self`, whose fields may be private.
fn value(written: &impl ToTokens) -> String {
    if mentions(written.to_token_stream(), &|word| matches!(word, "self" | "__self")) {
        return "given at runtime".to_owned();
    }
    format!("`{}`", token_text(written))
}

/// Matchers as written, except for closures, which say little in a sentence.
fn listed(matchers: &[Matcher]) -> String {
    let callable = |function: &Expr| match function {
        Expr::Closure(_) => "…".to_owned(),
        path => token_text(path),
    };
    let written = matchers.iter().map(|matcher| match matcher {
        Matcher::Class(class) => class.to_string(),
        Matcher::Pattern(text) => format!("pattern({})", text.token()),
        Matcher::Matches { pattern, .. } => format!("matches({})", token_text(pattern)),
        Matcher::When(predicate) => format!("when({})", callable(predicate)),
        Matcher::Ok(predicate) => format!("ok({})", callable(predicate)),
    });
    // Double backquotes can hold text that contains one.
    let framed = written
        .map(|text| if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") });
    framed.collect::<Vec<_>>().join(", ")
}

/// A policy that only const evaluation knows, shown as written. One that is known only at runtime has
/// no name that a reader could find.
fn as_written(args: &Args) -> String {
    let policy = &args.policy;
    let mut words = Vec::new();
    match &policy.base {
        Some(PolicyBase::Constant(base)) => words.push(format!("Policy `{}`", token_text(base))),
        Some(PolicyBase::Runtime(_)) => words.push("The policy given at runtime".to_owned()),
        None => {}
    }
    for entry in &policy.settings.entries {
        let (name, value) = (&entry.name, value(&entry.value.tokens));
        // A bare `jitter` is shown as it is.
        words.push(match value.strip_prefix('`') {
            Some(shown) if *name == shown.trim_end_matches('`') => value,
            Some(shown) => format!("`{name} = {shown}"),
            None => format!("`{name}` {value}"),
        });
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenTree;
    use syn::LitStr;

    use super::*;
    use crate::args::Syntax;
    use crate::function;
    use crate::tokens::errors::Errors;
    use crate::value::runtime::Scope;

    /// The lines of the section, and whether they are only for rustdoc.
    fn section_of(options: &str, function: &str) -> (Vec<String>, bool) {
        let parse = |text: &str| text.parse::<TokenStream>().expect("tokens");
        let (mut errors, mut scope) = (Errors::new(), Scope::new(&[], Vec::new()));
        let args = Args::parse(parse(options), Syntax::Attribute, &mut scope, &mut errors);
        let checked = args.check(&mut errors);
        assert!(errors.into_tokens().is_empty());
        let function = function::parse(&parse(function)).expect("a function");
        let Some(section) = section(&args, &checked, &function) else {
            return (Vec::new(), false);
        };
        let rustdoc_only = section.to_string().contains("cfg_attr");
        let text = text_in(section).expect("a text");
        (text.lines().map(str::to_owned).collect(), rustdoc_only)
    }

    fn text_in(tokens: TokenStream) -> Option<String> {
        tokens.into_iter().find_map(|token| match token {
            TokenTree::Group(group) => text_in(group.stream()),
            token => syn::parse2::<LitStr>(token.into()).ok().map(|text| text.value()),
        })
    }

    #[test]
    fn the_section_lists_the_policy_and_the_longest_total_of_the_waits() {
        let (lines, _) = section_of(
            r#"attempts = 4, jitter = 0.5, budget = "5m""#,
            "/// Fetches.\npub async fn fetch() -> Option<u32> { None }",
        );
        let text = lines.join("\n");
        assert!(text.contains("# Retries"), "{text}");
        assert!(
            text.contains(
                "4 attempts, exponential (base 2) from 1s to 30s, jitter ±50 %, budget 5m."
            ),
            "{text}"
        );
        assert!(text.contains("The waits add up to 10s 500ms at most."), "{text}");
    }

    #[test]
    fn a_policy_known_only_to_const_evaluation_is_shown_as_written() {
        let (lines, _) = section_of(
            "policy = config::HTTP, attempts = MANY, breaker = DB",
            "async fn fetch() -> Option<u32> { None }",
        );
        let text = lines.join("\n");
        assert!(
            text.contains("Policy `config::HTTP`, `attempts = MANY`; circuit breaker `DB`."),
            "{text}"
        );
        assert!(!text.contains("add up"), "{text}");
    }

    #[test]
    fn expressions_of_runtime_are_not_shown() {
        let function = "async fn fetch(&self) -> Option<u32> { None }";
        for (options, expected) in [
            (
                "policy = self.retry.0, attempts = 4, breaker = self.server",
                "The policy given at runtime, `attempts = 4`; circuit breaker given at runtime.",
            ),
            (
                "attempts = self.retries + 1, max_delay = \"1m\", quota = &self.quota",
                "`attempts` given at runtime, `max_delay = \"1m\"`; retry quota given at runtime.",
            ),
            ("policy = runtime(HTTP), quota = QUOTA", "runtime; retry quota `QUOTA`."),
        ] {
            let (lines, _) = section_of(options, &format!("/// Fetches.\n{function}"));
            let text = lines.join("\n");
            assert!(text.contains(expected), "{options}: {text}");
        }
    }

    #[test]
    fn matchers_are_shown_as_written() {
        let (lines, _) = section_of(
            "retry_on = [network, when(E::is_busy), when(|_| true)], abort_on = [matches(E::Corrupt)]",
            "async fn fetch() -> Option<u32> { None }",
        );
        let text = lines.join("\n");
        assert!(
            text.contains(
                "; retries `network`, `when(E::is_busy)`, `when(…)`; never retries `matches(E::Corrupt)`."
            ),
            "{text}"
        );
    }

    #[test]
    fn the_effect_of_its_breaker_is_told_if_it_is_known() {
        for (options, expected) in [
            (
                "attempts = 3, breaker(observe_only = true)",
                "its own circuit breaker, which only observes.",
            ),
            (
                "attempts = MANY, breaker(observe_only = true)",
                "its own circuit breaker, which only observes.",
            ),
            ("attempts = 3, breaker()", "its own circuit breaker."),
            ("attempts = 3, breaker = DB", "circuit breaker `DB`."),
        ] {
            let (lines, _) = section_of(options, "async fn fetch() -> Option<u32> { None }");
            let text = lines.join("\n");
            assert!(text.contains(&format!("; {expected}")), "{options}: {text}");
        }
    }

    #[test]
    fn docs_false_leaves_it_out() {
        let (lines, _) = section_of("docs = false", "async fn fetch() -> Option<u32> { None }");
        assert!(lines.is_empty());
    }

    #[test]
    fn missing_documentation_stays_missing() {
        let public = "pub async fn fetch() -> Option<u32> { None }";
        assert!(section_of("", public).1, "a public function");
        let inherited = "async fn fetch(&self) -> Option<u32> { None }";
        assert!(section_of("", inherited).0.is_empty(), "a method of a trait");
    }
}
