//! The pages, each for people and for programs.

mod buttons;
pub(crate) mod confirm;
pub(crate) mod dead_letters;
pub(crate) mod item;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod policies;
pub(crate) mod sign_in;

use axum::response::Response;
use serde::Serialize;

use crate::parts::layout::{self, Page};
use crate::request::RequestContext;

/// Renders the view in the requested format.
pub(crate) fn answer<'a>(
    context: &RequestContext,
    view: &impl Serialize,
    page: impl FnOnce() -> Page<'a>,
) -> Response {
    context.answer(view, || layout::page(context, &page()))
}
