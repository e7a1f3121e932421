//! [`RequestContext`]: a request that has been admitted, with the data for its response. A request
//! that is not admitted gets a [`Problem`].

pub(crate) mod problem;
pub(crate) mod query;

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use self::problem::Problem;
use crate::board::Board;
use crate::page_group::PageGroup;
use crate::safety::identity::Identity;
use crate::safety::public_url::PublicUrl;
use crate::safety::session::Session;
use crate::safety::{host, origin};
use crate::streams::Visitor;

/// The form of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    Html,
    Json,
}

impl ResponseFormat {
    /// JSON below `api/` and for clients that ask for it, otherwise HTML.
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

/// A JSON response.
pub(crate) fn json(value: &impl Serialize) -> Response {
    // Serialization cannot fail: all map keys are texts.
    let text = serde_json::to_string(value).unwrap_or_default();
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

/// A request that has been admitted, with what its response needs to know.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) format: ResponseFormat,
    pub(crate) board: Arc<Board>,
    /// The group of pages that answers; its name is the prefix of its assets.
    pub(crate) page_group: PageGroup,
    /// The identity of the visitor.
    pub(crate) identity: Identity,
    pub(crate) session: Option<Session>,
    /// Set if the browser does not have the session's cookie yet.
    pub(crate) is_new: bool,
    /// The path from the page to the folder of all pages: empty, or `../` once per level.
    pub(crate) root: String,
    /// The address of the page, relative to that folder.
    pub(crate) here: String,
    /// The path of that folder in the browser's URL; `None` if the page is in it.
    pub(crate) folder: Option<String>,
    /// Set if the browser has reached the board by https.
    pub(crate) is_https: bool,
    /// Set if the request itself carried the token, which a foreign page cannot make a browser do.
    has_token: bool,
    /// The reason why the request may not change anything: it came from a page outside of the
    /// board. `None` if it came from the board, or from no page.
    foreign: Option<Problem>,
}

impl RequestContext {
    /// Admits a request, or explains why not.
    pub(crate) fn admit(
        board: &Arc<Board>,
        page_group: PageGroup,
        parts: &Parts,
    ) -> Result<Self, Problem> {
        let name = host::of(parts).unwrap_or_default();
        if !board.answers_as(name) {
            return Err(Problem::foreign_host(name, board.settings));
        }
        let mut context =
            Self { foreign: foreign(board, parts), ..Self::anonymous(board, page_group, parts) };
        if board.tokens.is_empty() {
            context.session = Session::find(&parts.headers, &context.identity.secret);
        } else {
            let given = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
            // The name of a scheme has no case (RFC 9110).
            let given = given.and_then(|value| value.split_once(' '));
            let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let given = given.map(|(_, token)| token.trim_start());
            if let Some(token) = given.and_then(|given| board.token_of(given)) {
                (context.identity, context.has_token) = (token.identity(), true);
            } else if let Some((token, session)) =
                board.tokens.iter().find_map(|token| Some((token, token.begun(&parts.headers)?)))
            {
                (context.identity, context.session) = (token.identity(), Some(session));
            }
            let is_open = is_open(page_group, parts.uri.path());
            if context.session.is_none() && !context.has_token && !is_open {
                return Err(Problem::signed_out());
            }
        }
        if let Some(actor) = &board.actor {
            let name = (actor.0)(parts);
            context.identity.acts &= name.is_some();
            context.identity.name = name.or(context.identity.name);
        }
        if board.tokens.is_empty()
            && context.shows_forms()
            && context.session.is_none()
            && parts.method == Method::GET
            && context.keeps_session(parts.uri.path())
        {
            context.session = Some(Session::begin(&context.identity.secret));
            context.is_new = true;
        }
        Ok(context)
    }

    /// Answers in the requested format.
    pub(crate) fn answer(
        &self,
        object: &impl Serialize,
        page: impl FnOnce() -> Response,
    ) -> Response {
        match self.format {
            ResponseFormat::Json => json(object),
            ResponseFormat::Html => page(),
        }
    }

    /// Requires that the visitor may act at all.
    pub(crate) fn is_actor(&self) -> Result<(), Problem> {
        if !self.board.allows_actions {
            return Err(Problem::read_only(self.board.settings));
        }
        if self.identity.acts { Ok(()) } else { Err(Problem::reader()) }
    }

    /// A context that is not admitted yet; it also renders the error if it never is.
    pub(crate) fn anonymous(board: &Arc<Board>, page_group: PageGroup, parts: &Parts) -> Self {
        Self {
            format: ResponseFormat::of(parts),
            board: Arc::clone(board),
            page_group,
            identity: board.anonymous(),
            session: None,
            is_new: false,
            root: root(parts.uri.path()),
            here: here(parts),
            folder: folder(board, parts),
            is_https: board
                .public_url
                .as_ref()
                .map_or_else(|| origin::is_https(&parts.headers), PublicUrl::is_https),
            has_token: false,
            foreign: None,
        }
    }

    /// Returns whether a browser without a session gets one here: on pages with forms, and on
    /// request.
    fn keeps_session(&self, path: &str) -> bool {
        !is_open(self.page_group, path)
            && (self.format == ResponseFormat::Html || path.ends_with("/session"))
    }

    /// Requires that the request came from a page of the board, or from no page at all.
    pub(crate) fn is_own_page(&self) -> Result<(), Problem> {
        self.foreign.clone().map_or(Ok(()), Err)
    }

    /// Returns whether the visitor has signed in by the form, and can sign out.
    pub(crate) fn is_signed_in(&self) -> bool {
        !self.board.tokens.is_empty() && self.session.is_some()
    }

    /// The address that ends the session.
    pub(crate) fn sign_out(&self) -> String {
        format!("{}{}-sign-out", self.root, self.page_group)
    }

    /// The address that the token is sent to.
    pub(crate) fn sign_in(&self) -> String {
        format!("{}{}-sign-in", self.root, self.page_group)
    }

    /// Requires that the form was made here, for this browser.
    pub(crate) fn is_from_here(&self, csrf: Option<&str>) -> Result<(), Problem> {
        self.is_own_page()?;
        if self.has_token {
            return Ok(());
        }
        let is_known = self.session.as_ref().is_some_and(|session| {
            csrf.is_some_and(|csrf| session.sent(csrf, &self.identity.secret))
        });
        if is_known { Ok(()) } else { Err(Problem::no_form()) }
    }

    /// The token that forms have to send.
    pub(crate) fn csrf(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.csrf)
    }

    /// Returns whether forms are shown.
    pub(crate) fn shows_forms(&self) -> bool {
        self.board.allows_actions && self.identity.acts
    }
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(Problem::no_page)
    }
}

/// The visitor of an event stream.
pub(crate) struct Watcher(pub(crate) Option<Visitor>);

impl<S: Sync> FromRequestParts<S> for Watcher {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let context = parts.extensions.get::<RequestContext>();
        Ok(Self(context.and_then(|context| Visitor::of(&context.identity, parts))))
    }
}

/// Style, script and icon contain no data, and the sign-in page needs them.
fn is_open(page_group: PageGroup, path: &str) -> bool {
    let name = path.trim_start_matches('/').strip_prefix(page_group.as_str());
    name.is_some_and(|rest| rest.starts_with('.') || rest == "-sign-in")
}

/// The path from a page to the folder of all pages.
fn root(path: &str) -> String {
    "../".repeat(path.bytes().filter(|&byte| byte == b'/').count().saturating_sub(1))
}

/// The path of the folder of all pages, for a page in a folder below it.
fn folder(board: &Board, parts: &Parts) -> Option<String> {
    let path = parts.uri.path();
    if root(path).is_empty() {
        return None;
    }
    // A router may be nested in another one, or behind a proxy that removes a part of the path.
    let original = parts.extensions.get::<OriginalUri>().map_or(path, |uri| uri.path());
    let public = board.public_url.as_ref().and_then(PublicUrl::folder);
    let folder = public.unwrap_or_else(|| original.strip_suffix(path).unwrap_or_default());
    Some(if folder.is_empty() { "/" } else { folder }.to_owned())
}

/// Returns the problem of a request that does not come from the board's own pages.
fn foreign(board: &Board, parts: &Parts) -> Option<Problem> {
    let authority = host::authority(parts);
    if origin::is_own(&parts.headers, authority, board.public_url.as_ref()) {
        return None;
    }
    let came = origin::of(&parts.headers).zip(authority);
    Some(Problem::foreign_origin(came, board.settings))
}

/// Returns the address of a page, relative to the folder of all pages. Actions are not visited
/// again.
fn here(parts: &Parts) -> String {
    let address = parts.uri.path_and_query().map_or("", |address| address.as_str());
    match parts.method {
        Method::GET => address.trim_start_matches('/').to_owned(),
        _ => String::new(),
    }
}

/// The problem for a status without a response body.
pub(crate) fn unanswered(status: StatusCode) -> Option<Problem> {
    match status {
        StatusCode::NOT_FOUND => Some(Problem::no_page()),
        StatusCode::METHOD_NOT_ALLOWED => Some(Problem::wrong_method()),
        _ => None,
    }
}
