//! The origin of a change: it has to be one of the board's own pages.

use axum::http::HeaderMap;
use axum::http::header::ORIGIN;

use super::host::without_default_port;
use super::public_url::PublicUrl;

/// Returns whether the page that sent a request belongs to `authority`. Programs other than
/// browsers do not send an origin, but they still need the form's token.
pub(crate) fn is_own(
    headers: &HeaderMap,
    authority: Option<&str>,
    public: Option<&PublicUrl>,
) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site = text("sec-fetch-site");
    match text(ORIGIN.as_str()) {
        // Browsers hide the origin if the page has a strict referrer policy.
        Some("null") => site == Some("same-origin"),
        Some(origin) => {
            let is_own = origin.split_once("://").is_some_and(|(scheme, origin)| {
                let is_here =
                    |own| without_default_port(scheme, origin) == without_default_port(scheme, own);
                authority.is_some_and(is_here)
                    || public.is_some_and(|public| public.is_origin(scheme, origin))
            });
            is_own && site.is_none_or(|site| site == "same-origin")
        }
        None => site.is_none_or(|site| matches!(site, "same-origin" | "none")),
    }
}

/// The page that sent a request.
pub(crate) fn of(headers: &HeaderMap) -> Option<&str> {
    headers.get(ORIGIN).and_then(|origin| origin.to_str().ok())
}

/// Returns whether the browser has reached the board by https, as its page or the proxy that has
/// decrypted the request reports.
pub(crate) fn is_https(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    text(ORIGIN.as_str()).is_some_and(|origin| origin.starts_with("https://"))
        || text("x-forwarded-proto").is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn only_a_page_of_the_board_itself_is_its_own() {
        let is_own_of = |authority, origin: Option<&'static str>, site: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            for (name, value) in [("origin", origin), ("sec-fetch-site", site)] {
                if let Some(value) = value {
                    headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
                }
            }
            is_own(&headers, Some(authority), None)
        };
        let is_own = |origin, site| is_own_of("localhost:7878", origin, site);
        assert!(is_own(None, None), "curl");
        assert!(is_own(Some("http://localhost:7878"), Some("same-origin")));
        assert!(is_own(Some("http://localhost:7878"), None));
        assert!(is_own(Some("null"), Some("same-origin")));
        assert!(!is_own(Some("null"), None));
        assert!(!is_own(Some("null"), Some("cross-site")));
        assert!(!is_own(Some("http://localhost:8080"), None));
        assert!(!is_own(Some("http://example.org"), Some("cross-site")));
        assert!(!is_own(Some("http://localhost:7878"), Some("same-site")));
        assert!(!is_own(None, Some("cross-site")));
        assert!(!is_own(Some("localhost:7878"), None));
        assert!(is_own_of("board.example:443", Some("https://board.example"), None));
        assert!(is_own_of("board.example", Some("https://board.example:443"), None));
        assert!(!is_own_of("board.example:443", Some("http://board.example"), None));
        assert!(!is_own_of("board.example:4430", Some("https://board.example"), None));
    }
}
