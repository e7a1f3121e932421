//! The codes of quotas that waiting does not renew: the account has to pay, or to raise a limit.
//!
//! Such a failure looks like a rate limit. Only an exact code distinguishes them: sentences such as
//! "You exceeded your current quota" are also used for limits per minute.

/// Returns the first such code in a text or in the body of a response. Addresses do not count.
pub(crate) fn quota_code(text: &str) -> Option<&str> {
    let is_code = |code: &&str| {
        matches!(
            *code,
            "insufficient_quota" | "billing_hard_limit_reached" | "credit_balance_exhausted"
        ) || code.ends_with("spend_limit_exceeded")
    };
    let tokens = text.split(|c: char| c.is_whitespace() || "\"'`<>()".contains(c));
    let tokens = tokens.filter(|token| !token.contains("://") && !token.starts_with('/'));
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let names = tokens.flat_map(|token| token.split(move |c| !is_of_name(c)));
    names.map(|name| name.trim_matches(['-', '.'])).find(is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exact_code_counts() {
        for (text, code) in [
            (r#"{"error":{"type":"insufficient_quota"}}"#, Some("insufficient_quota")),
            (r#"{\"code\":\"insufficient_quota\"}"#, Some("insufficient_quota")),
            ("{'code': 'billing_hard_limit_reached'}", Some("billing_hard_limit_reached")),
            ("code=credit_balance_exhausted.", Some("credit_balance_exhausted")),
            ("429 (org_spend_limit_exceeded): no", Some("org_spend_limit_exceeded")),
            ("spend_limit_exceeded", Some("spend_limit_exceeded")),
            ("insufficient quota", None),
            ("insufficientQuota", None),
            ("insufficient_quota_alerts, my_insufficient_quota", None),
            ("insufficient_quota-alerts insufficient_quota.rs", None),
            ("https://h/errors#insufficient_quota", None),
            ("/errors/insufficient_quota", None),
            ("You exceeded your current quota, please check your plan", None),
            ("", None),
        ] {
            assert_eq!(quota_code(text), code, "{text}");
        }
    }
}
