//! The sign-in page, which asks for the token.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::safety::session::Session;
use crate::visit::Visit;
use crate::visit::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SignInForm {
    token: String,
}

/// Begins a session for a visitor who knows the token.
pub(crate) fn sign_in(visit: &Visit, form: &SignInForm, to: &str) -> Result<Response, Problem> {
    let is_right = visit.board.token.as_ref().is_some_and(|token| token.is(&form.token));
    if !is_right {
        return Err(Problem::wrong_token());
    }
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    let secret = visit.board.secret();
    Session::begin(secret).keep(response.headers_mut(), secret);
    Ok(response)
}
