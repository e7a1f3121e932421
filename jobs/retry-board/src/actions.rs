//! Actions, which change something: each is a form for people and JSON for programs, with the same
//! checks.

pub(crate) mod once;
pub(crate) mod jobs_form;
pub(crate) mod action;
pub(crate) mod letters;
mod requests;
pub(crate) mod export;
pub(crate) mod overrides;

use std::hash::{Hash, Hasher};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::{Deserialize, Deserializer, Error as _, Unexpected};
use serde_json::Value;

use self::action::Action;
use self::once::{Done, Once};
use crate::request::RequestContext;
use crate::request::problem::Problem;
use crate::request::query::Address;

/// The actions on jobs and dead letters, in the order of their buttons.
pub(crate) static ACTIONS: [Action; 6] = [
    letters::REDRIVE,
    letters::PURGE,
    requests::DUE,
    requests::PAUSE,
    requests::CANCEL,
    requests::CANCEL_ITEMS,
];

/// A visitor who may change something, provided that the form's proof is valid.
pub(crate) struct Actor {
    pub(crate) context: RequestContext,
    /// The last part of the path, which is the same for a page and its JSON form.
    action: String,
    csrf: Option<String>,
    key: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for Actor {
    type Rejection = Problem;

    /// Checked before the body is read, so that a forbidden action is refused whatever the body
    /// says.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let context = RequestContext::from_request_parts(parts, state).await?;
        context.is_actor()?;
        let text = |headers: &HeaderMap, name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let csrf = text(&parts.headers, "x-csrf-token");
        let key = text(&parts.headers, "idempotency-key");
        let path = parts.uri.path();
        let action = path.rsplit_once('/').map_or(path, |(_, action)| action).to_owned();
        Ok(Self { context, action, csrf, key })
    }
}

/// The hidden fields that prove where a form comes from.
///
/// Two requests with the same fields otherwise are the same request, so none of it is hashed.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Proof {
    csrf: Option<String>,
    once: Option<String>,
}

impl Hash for Proof {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Actor {
    /// Returns the name of the authenticated user who performs the action.
    pub(crate) fn who(&self) -> &str {
        self.context.identity.who()
    }

    /// Performs the action, if the form was made for this visitor and has not been sent before;
    /// then answers. The hash of the form identifies the request that an idempotency key belongs to.
    pub(crate) async fn act<F>(
        &self,
        once: &Once,
        (form, proof): (&impl Hash, &Proof),
        back: Address,
        work: impl FnOnce() -> F,
    ) -> Result<Response, Problem>
    where
        F: Future<Output = Result<Done, Problem>>,
    {
        self.context.is_from_here(self.csrf.as_deref().or(proof.csrf.as_deref()))?;
        let key = self.key.clone().or_else(|| proof.once.clone());
        // Scope the key to the visitor, so that visitors cannot collide.
        let key = key.map(|key| format!("{}/{}/{key}", self.who(), self.context.csrf()));
        let done = once.run(key.as_deref(), (&self.action, form), work).await?;
        Ok(self.context.answer(&done.json, || {
            let to = back.with("done", &done.number.to_string()).text();
            (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
        }))
    }
}

/// A field of a form, whose fields are always texts. In JSON, it may also be a number or a boolean.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Field(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let unexpected = match Value::deserialize(deserializer)? {
            Value::Null => return Ok(Self(None)),
            Value::String(text) => {
                return Ok(Self(Some(text.trim().to_owned()).filter(|text| !text.is_empty())));
            }
            value @ (Value::Number(_) | Value::Bool(_)) => {
                return Ok(Self(Some(value.to_string())));
            }
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        Err(D::Error::invalid_type(unexpected, &"a text, a number or a truth value"))
    }
}

impl Field {
    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn is_true(&self) -> bool {
        matches!(self.text(), Some("true" | "1" | "on" | "yes"))
    }
}
