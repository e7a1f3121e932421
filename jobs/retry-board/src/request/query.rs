//! Reads values from addresses and bodies, and writes them into addresses.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// The query of an address.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let uri = merged(&parts.uri);
        match Query::try_from_uri(uri.as_ref().unwrap_or(&parts.uri)) {
            Ok(Query(value)) => Ok(Self(value)),
            Err(error) => Err(Problem::bad(error.body_text())),
        }
    }
}

/// The field of a row that a visitor has selected; there may be many, or none.
pub(crate) const PICK: &str = "pick";
/// The field that says that only such rows are meant.
pub(crate) const PICKED: &str = "picked";

/// The same address with all selected rows in one field: `items`, a JSON list.
fn merged(uri: &Uri) -> Option<Uri> {
    uri.query().filter(|query| query.contains(PICKED))?;
    let Query(mut fields) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    let before = fields.len();
    fields.retain(|(key, _)| key != PICKED);
    if fields.len() == before {
        return None;
    }
    let (picked, others): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(key, _)| key == PICK);
    let ids: Vec<_> = picked.into_iter().map(|(_, id)| id).collect();
    let page = Address::new(uri.path());
    let page = others.iter().fold(page, |page, (key, value)| page.with(key, value));
    page.with("items", &serde_json::json!(ids).to_string()).text().parse().ok()
}

/// A form, or JSON.
pub(crate) struct Sent<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("application/json") {
            let body = Bytes::from_request(request, state).await;
            let body = body.map_err(|error| Problem::bad(error.body_text()))?;
            let value = serde_json::from_slice(&body);
            return value.map(Self).map_err(|error| Problem::bad(error.to_string()));
        }
        let form = axum::Form::<T>::from_request(request, state).await;
        form.map(|form| Self(form.0)).map_err(|error| Problem::bad(error.body_text()))
    }
}

/// Everything that has to be percent-encoded in a query.
const KEPT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/').remove(b':');

/// An address of the board: a page and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Address(String, bool);

impl Address {
    pub(crate) fn new(page: &str) -> Self {
        Self(page.to_owned(), false)
    }

    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.0.push(if self.1 { '&' } else { '?' });
        self.1 = true;
        self.0.push_str(key);
        self.0.push('=');
        self.0.extend(utf8_percent_encode(value, KEPT));
        self
    }

    pub(crate) fn and(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    pub(crate) fn text(self) -> String {
        self.0
    }
}
