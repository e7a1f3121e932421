//! Exports items with their histories as lines of JSON, page by page, however many there are.

use std::collections::VecDeque;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use retry_workflow::store::Cursor;
use retry_workflow::{DeadLetters, Filter, ItemRecord, StoreError};

/// The number of items that are read at a time, without their histories.
const PAGE: usize = 100;

struct Rest {
    letters: DeadLetters,
    filter: Filter,
    listed: VecDeque<ItemRecord>,
    after: Option<Cursor>,
    is_last: bool,
}

pub(crate) fn response(letters: DeadLetters, filter: Filter) -> Response {
    let rest = Rest { letters, filter, listed: VecDeque::new(), after: None, is_last: false };
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson"),
        (CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.jsonl\""),
    ];
    (headers, Body::from_stream(try_unfold(rest, next))).into_response()
}

/// Returns the next line. Items that have changed state in the meantime are skipped.
async fn next(mut rest: Rest) -> Result<Option<(Bytes, Rest)>, StoreError> {
    loop {
        if let Some(listed) = rest.listed.pop_front() {
            let item = rest.letters.show(&listed.job, &listed.id).await?;
            let Some(item) = item.filter(|item| rest.filter.wants(item)) else { continue };
            let mut line = serde_json::to_vec(&item).map_err(StoreError::other)?;
            line.push(b'\n');
            return Ok(Some((line.into(), rest)));
        }
        if rest.is_last {
            return Ok(None);
        }
        let page = rest.letters.list(&rest.filter, rest.after, PAGE).await?;
        rest.listed = page.items.into();
        rest.after = page.next;
        rest.is_last = page.next.is_none();
    }
}
