//! [`Visit`]: one request that may be answered, and what its answer has to know. Whoever may not
//! ask gets a [`Problem`].

pub(crate) mod problem;
pub(crate) mod query;

use std::sync::Arc;

use axum::http::header::{ACCEPT, AUTHORIZATION};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};

use self::problem::Problem;
use crate::board::Board;
use crate::safety::session::Session;
use crate::safety::{host, origin};

/// What a visitor reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Html,
    Json,
}

impl Wants {
    /// Below `api/` and for those who ask for it, JSON.
    pub(crate) fn of(parts: &Parts) -> Self {
        let accepts = |kind: &str| {
            let accepted = parts.headers.get_all(ACCEPT).iter();
            accepted.filter_map(|value| value.to_str().ok()).any(|value| value.contains(kind))
        };
        if parts.uri.path().starts_with("/api/")
            || (accepts("application/json") && !accepts("text/html"))
        {
            Self::Json
        } else {
            Self::Html
        }
    }
}

/// A request that may be answered.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) wants: Wants,
    pub(crate) board: Arc<Board>,
    /// The room that answers: its name stands before those of its files.
    pub(crate) room: &'static str,
    pub(crate) session: Option<Session>,
    /// Whether the browser does not have the session's cookie yet.
    pub(crate) is_new: bool,
    /// What leads from the page's address to the others: empty, or `../` for each folder.
    pub(crate) root: String,
    /// Whether the token came with the request itself: no other page can make a browser send that.
    has_token: bool,
    /// Whether the request was sent by a page of the board, or by none.
    is_own: bool,
}

impl Visit {
    /// Of a visitor who may ask.
    pub(crate) fn admit(
        board: &Arc<Board>,
        room: &'static str,
        parts: &Parts,
    ) -> Result<Self, Problem> {
        let name = host::of(parts).unwrap_or_default();
        if !board.answers_as(name) {
            return Err(Problem::foreign_host(name));
        }
        let secret = board.secret();
        let mut visit = Self {
            wants: Wants::of(parts),
            board: Arc::clone(board),
            room,
            session: Session::find(&parts.headers, secret),
            is_new: false,
            root: root(parts.uri.path()),
            has_token: false,
            is_own: origin::is_own(&parts.headers, host::authority(parts)),
        };
        if let Some(token) = &board.token {
            let given = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
            let given = given.and_then(|value| value.strip_prefix("Bearer "));
            visit.has_token = given.is_some_and(|given| token.is(given));
            let is_open = is_open(room, parts.uri.path());
            if visit.session.is_none() && !visit.has_token && !is_open {
                return Err(Problem::signed_out());
            }
        } else if board.allows_actions
            && visit.session.is_none()
            && parts.method == Method::GET
            && visit.keeps_session(parts.uri.path())
        {
            visit.session = Some(Session::begin(secret));
            visit.is_new = true;
        }
        Ok(visit)
    }

    /// Whether something may be changed by this request; `csrf` is what its form has sent.
    pub(crate) fn may_act(&self, csrf: Option<&str>) -> Result<(), Problem> {
        if !self.board.allows_actions {
            return Err(Problem::read_only());
        }
        self.is_from_here(csrf)
    }

    /// Of a visitor who may not ask, and is told so.
    pub(crate) fn stranger(board: &Arc<Board>, room: &'static str, parts: &Parts) -> Self {
        Self {
            wants: Wants::of(parts),
            board: Arc::clone(board),
            room,
            session: None,
            is_new: false,
            root: root(parts.uri.path()),
            has_token: false,
            is_own: false,
        }
    }

    /// Whether a browser that has no session gets one here: where there are forms, or who asks for it.
    fn keeps_session(&self, path: &str) -> bool {
        !is_open(self.room, path) && (self.wants == Wants::Html || path.ends_with("/session"))
    }

    /// Whether the request was sent by a page of the board, or by none.
    pub(crate) fn is_own_page(&self) -> Result<(), Problem> {
        if self.is_own { Ok(()) } else { Err(Problem::foreign_origin()) }
    }

    /// Where the token is sent to.
    pub(crate) fn sign_in(&self) -> String {
        format!("{}{}-sign-in", self.root, self.room)
    }

    /// Whether a form was made here, for this browser.
    fn is_from_here(&self, csrf: Option<&str>) -> Result<(), Problem> {
        self.is_own_page()?;
        if self.has_token {
            return Ok(());
        }
        let is_known = self.session.as_ref().is_some_and(|session| {
            csrf.is_some_and(|csrf| session.sent(csrf, self.board.secret()))
        });
        if is_known { Ok(()) } else { Err(Problem::no_form()) }
    }

    /// What forms have to send.
    pub(crate) fn csrf(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.csrf)
    }

    /// Whether forms are shown.
    pub(crate) fn shows_forms(&self) -> bool {
        self.board.allows_actions
    }
}

/// Style, script and icon say nothing, and who signs in needs them.
fn is_open(room: &str, path: &str) -> bool {
    let name = path.trim_start_matches('/').strip_prefix(room);
    name.is_some_and(|rest| rest.starts_with('.') || rest == "-sign-in")
}

/// From a page's address to the folder of all of them.
fn root(path: &str) -> String {
    "../".repeat(path.bytes().filter(|&byte| byte == b'/').count().saturating_sub(1))
}

/// What a request without an answer is told.
pub(crate) fn unanswered(status: StatusCode) -> Option<Problem> {
    match status {
        StatusCode::NOT_FOUND => Some(Problem::no_page()),
        StatusCode::METHOD_NOT_ALLOWED => Some(Problem::wrong_method()),
        _ => None,
    }
}
