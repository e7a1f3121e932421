//! The pages, each for people and for machines.

pub(crate) mod confirm;
pub(crate) mod dead_letters;
pub(crate) mod item;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod policies;
pub(crate) mod sign_in;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::parts::layout::{self, Page};
use crate::visit::{Visit, Wants};

/// JSON.
pub(crate) fn json(value: &impl Serialize) -> Response {
    // Maps with keys that are texts, and numbers: that can always be written.
    let text = serde_json::to_string(value).unwrap_or_default();
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

/// What is shown, in the form that the visitor reads.
pub(crate) fn answer<'a>(
    visit: &Visit,
    view: &impl Serialize,
    page: impl FnOnce() -> Page<'a>,
) -> Response {
    match visit.wants {
        Wants::Json => json(view),
        Wants::Html => layout::page(visit, &page()),
    }
}
