//! Exports items with their histories as lines of JSON, page by page, however many there are.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use retry_workflow::{DeadLetters, Filter, StoreError};

/// Returns the items that a filter selects, as a file.
pub(crate) fn response(letters: DeadLetters, filter: Filter) -> Response {
    let pages = try_unfold(Some((letters, filter, None)), |rest| async {
        let Some((letters, filter, after)) = rest else { return Ok(None) };
        let page = letters.exported_page(&filter, after).await?;
        let rest = page.next.map(|next| (letters, filter, Some(next)));
        Ok::<_, StoreError>(Some((Bytes::from(page.items.concat()), rest)))
    });
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson"),
        (CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.jsonl\""),
    ];
    (headers, Body::from_stream(pages)).into_response()
}
