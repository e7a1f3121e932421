//! Actions, which change something: each is a form for people and JSON for programs, with the same
//! checks.

pub(crate) mod export;
pub(crate) mod letters;
pub(crate) mod once;
pub(crate) mod overrides;
pub(crate) mod requests;

use std::hash::{Hash, Hasher};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};

use self::once::{Done, Once};
use crate::request::problem::Problem;
use crate::request::query::Address;
use crate::request::{RequestContext, Wants, json};

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
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let context =
            parts.extensions.get::<RequestContext>().cloned().ok_or_else(Problem::no_page)?;
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

/// The fields of an action. Their hash identifies the request that an idempotency key belongs to.
pub(crate) trait ActionForm: Hash {
    fn proof(&self) -> &Proof;
}

impl Actor {
    /// Returns the name of the authenticated user who performs the action.
    pub(crate) fn who(&self) -> &str {
        self.context.identity.who()
    }

    /// Performs the action, if the form was made for this visitor and has not been sent before;
    /// then answers.
    pub(crate) async fn act<F>(
        &self,
        once: &Once,
        form: &impl ActionForm,
        back: Address,
        work: impl FnOnce() -> F,
    ) -> Result<Response, Problem>
    where
        F: Future<Output = Result<Done, Problem>>,
    {
        let proof = form.proof();
        self.context.may_act(self.csrf.as_deref().or(proof.csrf.as_deref()))?;
        let key = self.key.clone().or_else(|| proof.once.clone());
        // Scope the key to the visitor, so that visitors cannot collide.
        let key = key.map(|key| format!("{}/{}/{key}", self.who(), self.context.csrf()));
        let done = once.run(key.as_deref(), (&self.action, form), work).await?;
        Ok(match self.context.wants {
            Wants::Json => json(&done.json),
            Wants::Html => {
                let number = done.number.to_string();
                let to = back.with("done", &number).text();
                (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
            }
        })
    }
}

/// Deserializes a text, a number or a boolean as a text, because form fields are always texts.
pub(crate) fn loose<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    struct Loose;

    impl<'de> Visitor<'de> for Loose {
        type Value = Option<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a text, a number or a truth value")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        /// A number, if the program keeps all digits (`arbitrary_precision` of `serde_json`).
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let number = serde_json::Number::deserialize(MapAccessDeserializer::new(map));
            number
                .map(|number| Some(number.to_string()))
                .map_err(|_| A::Error::invalid_type(Unexpected::Map, &self))
        }

        fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
            Ok(Some(truth.to_string()))
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
            inner.deserialize_any(self)
        }
    }

    deserializer.deserialize_any(Loose)
}

/// A field that is read with [`loose`].
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Field(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        loose(deserializer).map(Self)
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
