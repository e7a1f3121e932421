//! The codes of quotas that waiting does not renew: the account has to pay, or to raise a limit.
//!
//! Such a failure looks like a rate limit. Only an exact code distinguishes them: sentences such as
//! "You exceeded your current quota" are also used for limits per minute.

use crate::base::text::words::has;

/// Returns the first such code in a text or in the body of a response. Addresses do not count.
pub(crate) fn quota_code<'a>(text: &'a str) -> Option<&'a str> {
    let is_code = |code: &&str| {
        matches!(
            *code,
            "insufficient_quota" | "billing_hard_limit_reached" | "credit_balance_exhausted"
        ) || code.ends_with("spend_limit_exceeded")
    };
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let ends_token =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '(' | ')');
    let names = |token: &'a str| token.split(|c| !is_of_name(c));
    text.split(ends_token)
        .filter(|token| !has(token, "://") && !token.starts_with('/'))
        .find_map(|token| names(token).map(|name| name.trim_matches(['-', '.'])).find(is_code))
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
