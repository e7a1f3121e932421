//! [`PublicUrl`]: the address under which browsers reach a board behind a proxy.

use axum::http::Uri;
use thiserror::Error;

use super::host::without_default_port;

/// The public address of the board: its scheme, and its host with the port.
#[derive(Clone, Debug)]
pub(crate) struct PublicUrl {
    scheme: String,
    authority: String,
    /// Its path, without a slash at the end.
    folder: String,
}

/// The error for a text that is not the address of a page.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not the address of a page: write one such as https://ops.example.com/board")]
pub struct InvalidUrl(String);

impl PublicUrl {
    pub(crate) fn new(url: &str) -> Result<Self, InvalidUrl> {
        let invalid = || InvalidUrl(url.to_owned());
        let parsed: Uri = url.trim().parse().map_err(|_| invalid())?;
        match (parsed.scheme_str(), parsed.authority()) {
            (Some(scheme @ ("http" | "https")), Some(authority))
                if !authority.as_str().contains('@') =>
            {
                Ok(Self {
                    scheme: scheme.to_owned(),
                    authority: authority.as_str().to_owned(),
                    folder: parsed.path().trim_end_matches('/').to_owned(),
                })
            }
            _ => Err(invalid()),
        }
    }

    pub(crate) fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// The path below which browsers find the pages, if it was given.
    pub(crate) fn folder(&self) -> Option<&str> {
        Some(self.folder.as_str()).filter(|folder| !folder.is_empty())
    }

    /// Its host, with the port if there is one.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns whether a page with this origin is found there.
    pub(crate) fn is_origin(&self, scheme: &str, authority: &str) -> bool {
        self.scheme == scheme
            && without_default_port(scheme, authority)
                .eq_ignore_ascii_case(without_default_port(scheme, &self.authority))
    }
}

#[cfg(test)]
mod tests {
    use super::PublicUrl;

    #[test]
    fn only_an_address_of_a_page_will_do() {
        for url in ["https://ops.example.com/board", "http://10.0.0.1:8080", "https://[::1]/"] {
            assert!(PublicUrl::new(url).is_ok(), "{url}");
        }
        for url in ["", "ops.example.com", "/board", "ftp://x", "https://a@b/", "https://"] {
            assert!(PublicUrl::new(url).is_err(), "{url}");
        }
    }

    #[test]
    fn its_origin_may_leave_out_the_port_of_the_scheme() {
        let url = PublicUrl::new("https://Ops.example.com:443/board").unwrap();
        assert!(url.is_origin("https", "ops.example.com"));
        assert!(!url.is_origin("http", "ops.example.com"));
        assert!(!url.is_origin("https", "ops.example.com:8443"));
    }
}
