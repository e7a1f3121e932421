//! The middleware that every request and every response passes through: admission, and security
//! headers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::board::Board;
use crate::page_group::PageGroup;
use crate::parts::layout;
use crate::request::problem::Problem;
use crate::request::{RequestContext, ResponseFormat, unanswered};
use crate::safety::headers;

/// The largest request body.
const LARGEST_BODY: usize = 64 * 1024;

#[derive(Clone)]
struct MiddlewareState {
    board: Arc<Board>,
    page_group: PageGroup,
}

pub(super) fn wrap(router: Router, board: Arc<Board>, page_group: PageGroup) -> Router {
    router
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(MiddlewareState { board, page_group }, handle))
}

async fn handle(State(state): State<MiddlewareState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let admitted = RequestContext::admit(&state.board, state.page_group, &parts);
    let context = match &admitted {
        Ok(context) => context.clone(),
        Err(_) => RequestContext::anonymous(&state.board, state.page_group, &parts),
    };
    let mut response = match admitted {
        Ok(context) => {
            parts.extensions.insert(context);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    };
    let problem = response.extensions_mut().remove::<Problem>();
    let is_empty = !response.headers().contains_key(CONTENT_TYPE);
    let problem = problem.or_else(|| unanswered(response.status()).filter(|_| is_empty));
    if let Some(problem) = problem {
        let mut answer = error_response(&context, &problem);
        if let Some(allow) = response.headers_mut().remove(ALLOW) {
            answer.headers_mut().insert(ALLOW, allow);
        }
        response = answer;
    }
    if let Some(session) = context.session.as_ref().filter(|_| context.is_new) {
        let (secret, folder) = (&context.identity.secret, context.folder.as_deref());
        session.keep(response.headers_mut(), secret, context.is_https, folder);
    }
    let has_forms = state.board.allows_actions || !state.board.tokens.is_empty();
    headers::add(response.headers_mut(), has_forms);
    response
}

/// An error in the requested format.
fn error_response(context: &RequestContext, problem: &Problem) -> Response {
    let mut response = match context.format {
        ResponseFormat::Html => layout::problem(context, problem),
        ResponseFormat::Json => crate::request::json(&json!({
            "error": problem.title, "status": problem.status.as_u16(), "message": problem.text,
        })),
    };
    *response.status_mut() = problem.status;
    let headers = response.headers_mut();
    if let Some(seconds) = problem.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.signs_in {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
