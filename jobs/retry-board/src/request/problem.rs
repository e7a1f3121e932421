//! [`Problem`]: why a request was refused or failed, with a status for programs.

use crate::board::SettingNames;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use retry_workflow::StoreError;
use retry_workflow::dead_letters::SignatureError;
use retry_workflow::sanitize::{Lines, OneLine};
use retry_workflow::search::{InvalidCondition, SearchError};
use retry_workflow::words::{chain, cut};

/// An error page: what is wrong and what to do. It is rendered on the way out.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    /// Safe to show; one or more lines.
    pub(crate) text: String,
    /// Set if the page asks for the token.
    pub(crate) signs_in: bool,
    /// The number of seconds after which a retry may succeed.
    pub(crate) retry_after: Option<u32>,
    /// The page to open after signing in, if it is not the requested one.
    pub(crate) to: Option<String>,
}

impl Problem {
    fn new(status: StatusCode, title: &'static str, text: impl Into<String>) -> Self {
        Self { status, title, text: text.into(), signs_in: false, retry_after: None, to: None }
    }

    pub(crate) fn foreign_host(name: &str, settings: SettingNames) -> Self {
        let setting = settings.name("--host NAME", "Board::host");
        let name = short(name);
        Self::new(
            StatusCode::FORBIDDEN,
            "Unknown host",
            format!(
                "This board does not answer to the name \"{name}\". Use localhost, or add the name with \
                 {setting}, where the board is started."
            ),
        )
    }

    pub(crate) fn signed_out() -> Self {
        let mut problem = Self::new(
            StatusCode::UNAUTHORIZED,
            "Sign in",
            "Enter the token of this board. Programs send it as Authorization: Bearer TOKEN.",
        );
        problem.signs_in = true;
        problem
    }

    pub(crate) fn wrong_token(to: &str, settings: SettingNames) -> Self {
        let mut problem = Self::signed_out();
        problem.to = Some(to.to_owned());
        problem.text = format!(
            "That is not the token. It was set where the board was started: with {}.",
            settings.name("--token-file", "Board::token")
        );
        problem
    }

    pub(crate) fn read_only(settings: SettingNames) -> Self {
        let text = format!(
            "This board is read-only, and nothing was changed. To allow actions, start it with {}.",
            settings.name("--allow-actions", "Board::allow_actions")
        );
        Self::new(StatusCode::FORBIDDEN, "Read-only", text)
    }

    pub(crate) fn reader() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "You may read only",
            "Nothing was changed: you may read everything here, but not act. If you need to, ask \
             the operator of this board for a token or a role that may.",
        )
    }

    /// `came` is the page's origin, and the host that the request asked for.
    pub(crate) fn foreign_origin(came: Option<(&str, &str)>, settings: SettingNames) -> Self {
        let mut text = "Another site sent this request, and nothing was changed. Use the forms of \
                        the board itself."
            .to_owned();
        if let Some((from, to)) = came {
            let [from, to] = [from, to].map(short);
            let setting = settings.name("--public-url URL", "Board::public_url");
            text = format!(
                "This request came from a page of {from}, but asks for the host {to}, and nothing \
                 was changed. Use the forms of the board itself. If a proxy in between changes the \
                 header Host, let it pass the browser's on, or name the address that browsers use \
                 with {setting}, where the board is started."
            );
        }
        Self::new(StatusCode::FORBIDDEN, "Not from this board", text)
    }

    pub(crate) fn no_form() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "The form has expired",
            "This form was not made for this browser, or the board has restarted since, and nothing \
             was changed. Reload the page and send it again. Programs send x-csrf-token and the \
             cookie of api/jobs/session, or Authorization: Bearer TOKEN.",
        )
    }

    pub(crate) fn no_page() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", "There is no such page.")
    }

    pub(crate) fn wrong_method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "Wrong method",
            "Pages are read with GET, and actions are sent with POST: see api/openapi.json.",
        )
    }

    pub(crate) fn no_job(id: &str) -> Self {
        let id = short(id);
        Self::new(StatusCode::NOT_FOUND, "No such job", format!("The store has no job \"{id}\"."))
    }

    pub(crate) fn no_item(job: &str, id: &str) -> Self {
        let [job, id] = [job, id].map(short);
        let text = format!("Job \"{job}\" has no item \"{id}\".");
        Self::new(StatusCode::NOT_FOUND, "No such item", text)
    }

    /// A value in an address or a form that cannot be used.
    pub(crate) fn bad(text: impl AsRef<str>) -> Self {
        let text = cut(&Lines(text.as_ref()).to_string(), 4_000);
        Self::new(StatusCode::BAD_REQUEST, "Invalid request", text)
    }

    /// An idempotency key that was used before, for another action or another body.
    pub(crate) fn other_request() -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "The key belongs to another request",
            "Nothing was changed: this idempotency-key was sent before, with another action or \
             another body. Send a new key with each new request, and the same one only to repeat it. \
             In a browser: reload the page, and send its form again.",
        )
    }

    /// Creates the problem of a form whose subject has changed state since the form was shown.
    pub(crate) fn changed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Already changed", text)
    }

    pub(crate) fn too_many_watch() -> Self {
        let mut problem = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many viewers",
            "So many pages are open already that no stream of events is left: this page is reloaded \
             every ten seconds instead.",
        );
        problem.retry_after = Some(10);
        problem
    }
}

/// An id or a name as it is shown in a message.
pub(crate) fn short(text: &str) -> String {
    cut(&OneLine(text).to_string(), 200)
}

retry_rules::conversion!(|error: InvalidCondition| -> Problem {
    Self::bad(format!("This is not a condition: {error}"))
});

retry_rules::conversion!(|error: SearchError| -> Problem {
    match error {
        SearchError::Store(error) => error.into(),
        SearchError::TooMany { max } => Self::bad(format!(
            "More than {max} items match: choose a signature or a class instead of a text."
        )),
        other => Self::bad(other.to_string()),
    }
});

retry_rules::conversion!(|error: StoreError| -> Problem {
    let (status, title) = match &error {
        StoreError::Locked { .. } => (StatusCode::SERVICE_UNAVAILABLE, "The store is locked"),
        StoreError::Missing { .. } | StoreError::Replaced { .. } | StoreError::Closed => {
            (StatusCode::SERVICE_UNAVAILABLE, "The store is gone")
        }
        StoreError::Full { .. } => (StatusCode::INSUFFICIENT_STORAGE, "The store is full"),
        StoreError::Newer { .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "The store is newer than this program")
        }
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "The store failed"),
    };
    let text = cut(&Lines(&chain(&error)).to_string(), 4_000);
    let mut problem = Self::new(status, title, text);
    problem.retry_after = matches!(error, StoreError::Locked { .. }).then_some(2);
    problem
});

retry_rules::conversion!(|error: SignatureError| -> Problem {
    match error {
        SignatureError::Store(error) => error.into(),
        other => Self::bad(other.to_string()),
    }
});

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
