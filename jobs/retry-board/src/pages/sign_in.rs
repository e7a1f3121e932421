//! Signing in, by a page that asks for the token, and signing out.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::request::RequestContext;
use crate::request::problem::Problem;
use crate::request::query::Sent;
use crate::safety::session::Session;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SignInForm {
    token: String,
    /// The page that was asked for.
    to: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SignOutForm {
    csrf: String,
}

/// Begins a session for a visitor who knows the token, and leads to the page that was asked for.
pub(crate) async fn sign_in(
    context: RequestContext,
    Sent(form): Sent<SignInForm>,
) -> Result<Response, Problem> {
    context.is_own_page()?;
    let Some(token) = context.board.token_of(&form.token) else {
        return Err(Problem::wrong_token(&form.to, context.board.settings));
    };
    let to = if is_page(&form.to) { form.to.as_str() } else { context.page_group.as_str() };
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    let secret = token.identity().secret;
    Session::begin(&secret).keep(response.headers_mut(), &secret, context.is_https, None);
    Ok(response)
}

/// Ends the session of a browser.
pub(crate) async fn sign_out(
    context: RequestContext,
    Sent(form): Sent<SignOutForm>,
) -> Result<Response, Problem> {
    context.is_from_here(Some(&form.csrf))?;
    let to = context.page_group.as_str();
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    Session::end(response.headers_mut(), context.is_https);
    Ok(response)
}

/// Returns whether this is an address of the board, relative to the folder of its pages, and cannot
/// be taken for an address of another site.
fn is_page(to: &str) -> bool {
    let path = to.split(['?', '#']).next().unwrap_or_default();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/');
    path.starts_with(|first: char| first.is_ascii_alphanumeric())
        && path.bytes().all(is_name)
        && to.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn nothing_leads_away_from_the_board() {
        for to in ["jobs", "job?id=import-1", "item?job=a%2Fb&id=3#history", "dead-letters"] {
            assert!(is_page(to), "{to}");
        }
        for to in [
            "",
            "/jobs",
            "//evil.test",
            "https://evil.test",
            "javascript:alert(1)",
            "jobs:x",
            "\\\\evil.test",
            "../other",
            "jobs/../../other",
            "jobs\r\nset-cookie: x",
            "jobs?a=b c",
        ] {
            assert!(!is_page(to), "{to}");
        }
    }
}
