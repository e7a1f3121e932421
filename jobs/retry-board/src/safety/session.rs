//! [`Session`]: a visitor's browser, identified by a signed cookie, and its form token.

use axum::http::header::{COOKIE, HeaderValue};
use axum::http::{HeaderMap, header};

use super::secret::Secret;

const COOKIE_NAME: &str = "retry-board";

/// The session of a browser, new or known.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    nonce: String,
    /// The token that its forms have to send.
    pub(crate) csrf: String,
}

impl Session {
    fn new(nonce: String, secret: &Secret) -> Self {
        let csrf = secret.sign("form", &nonce);
        Self { nonce, csrf }
    }

    /// Begins a new session.
    pub(crate) fn begin(secret: &Secret) -> Self {
        Self::new(Secret::nonce(), secret)
    }

    /// Reads the session of a request, if its cookie has a valid signature.
    pub(crate) fn find(headers: &HeaderMap, secret: &Secret) -> Option<Self> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut own = cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='));
        own.find_map(|value| {
            let (nonce, signature) = value.split_once('.')?;
            secret.verify("session", nonce, signature).then(|| Self::new(nonce.to_owned(), secret))
        })
    }

    /// Returns whether a form was made for this browser.
    pub(crate) fn sent(&self, csrf: &str, secret: &Secret) -> bool {
        secret.verify("form", &self.nonce, csrf)
    }

    /// Sets the cookie for the folder of the board: `folder`, or the folder of the page. Scripts
    /// cannot read it, and forms of other sites do not send it. A cookie that was set over https
    /// is never sent unencrypted.
    pub(crate) fn keep(
        &self,
        headers: &mut HeaderMap,
        secret: &Secret,
        is_https: bool,
        folder: Option<&str>,
    ) {
        let signature = secret.sign("session", &self.nonce);
        let path = folder.map_or_else(String::new, |folder| format!("; Path={folder}"));
        set(headers, &format!("{}.{signature}", self.nonce), &path, is_https);
    }

    /// Lets the browser forget its cookie.
    pub(crate) fn end(headers: &mut HeaderMap, is_https: bool) {
        set(headers, "", "; Max-Age=0", is_https);
    }
}

fn set(headers: &mut HeaderMap, value: &str, more: &str, is_https: bool) {
    let secure = if is_https { "; Secure" } else { "" };
    let cookie = format!("{COOKIE_NAME}={value}; HttpOnly; SameSite=Lax{secure}{more}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        headers.append(header::SET_COOKIE, cookie);
    }
}
