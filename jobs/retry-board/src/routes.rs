//! The routers: which handler answers which address, all behind the same checks.

mod middleware;
mod jobs_routes;
mod policies_routes;

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use retry_workflow::store::IntoStore;
use serde::Deserialize;
use serde_json::json;

use crate::actions::once::Once;
use crate::assets;
use crate::board::Board;
use crate::page_group::PageGroup;
use crate::pages::sign_in::{sign_in, sign_out};
use crate::request::RequestContext;

/// The board that the two functions below share.
static DEFAULT: LazyLock<Board> = LazyLock::new(Board::new);

/// Returns the pages of the jobs in a store, read-only, with the default settings of a [`Board`].
///
/// ```
/// # let store = retry_workflow::SqliteStore::in_memory();
/// let app: axum::Router = retry_board::jobs(store);
/// ```
pub fn jobs(store: impl IntoStore) -> Router {
    DEFAULT.jobs(store)
}

/// Returns the page of what this process retries, read-only, with the default settings of a
/// [`Board`].
///
/// ```
/// let app: axum::Router = retry_board::policies();
/// ```
pub fn policies() -> Router {
    DEFAULT.policies()
}

impl Board {
    /// Returns the pages of the jobs in a store.
    ///
    /// ```
    /// # use retry_board::Board;
    /// # use retry_workflow::SqliteStore;
    /// let app = axum::Router::new().nest("/retry", Board::new().jobs(SqliteStore::in_memory()));
    /// ```
    pub fn jobs(&self, store: impl IntoStore) -> Router {
        let store = store.into_store();
        self.mounted.jobs.store(true, Ordering::Release);
        let board = Arc::new(self.clone());
        middleware::wrap(
            jobs_routes::router(&board, store).merge(common(PageGroup::Jobs)),
            board,
            PageGroup::Jobs,
        )
    }

    /// Returns the page of what this process retries: functions with `#[retry]`, breakers, quotas
    /// and overrides.
    ///
    /// ```
    /// # use retry_board::Board;
    /// let app = axum::Router::new().nest("/retry", Board::new().policies());
    /// ```
    pub fn policies(&self) -> Router {
        self.mounted.policies.store(true, Ordering::Release);
        let board = Arc::new(self.clone());
        let router = policies_routes::router(&board).merge(common(PageGroup::Policies));
        middleware::wrap(router, board, PageGroup::Policies)
    }
}

/// The routes that each group of pages has for itself: assets, sign-in, and the form token.
fn common(page_group: PageGroup) -> Router {
    let mut router = Router::new()
        .route(&format!("/{page_group}-sign-in"), post(sign_in))
        .route(&format!("/{page_group}-sign-out"), post(sign_out))
        .route(
            &format!("/api/{page_group}/session"),
            get(|context: RequestContext| async move {
                let csrf = context.session.as_ref().map(|session| &session.csrf);
                let actions = context.shows_forms();
                crate::request::json(&json!({ "actions": actions, "csrf": csrf }))
            }),
        );
    for asset in assets::ALL {
        let path = format!("/{}", asset.path(page_group));
        router = router.route(&path, get(|| async { asset.response() }));
    }
    router
}

/// The number of the action that was just performed, whose result the page shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DoneQuery {
    done: Option<String>,
}

impl DoneQuery {
    fn notice(&self, once: &Once) -> Option<String> {
        once.message(self.done.as_deref()?.parse().ok()?)
    }
}

/// Redirects to the first page; the address is relative to where the pages are mounted.
fn home(mounted: &Uri, page: &str) -> Response {
    let to = match mounted.path() {
        path if path.ends_with('/') => page.to_owned(),
        path => format!("{path}/{page}"),
    };
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

/// Routes both the page and its JSON form below `api/`.
fn both<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    page: &str,
    answers: &MethodRouter<S>,
) -> Router<S> {
    router
        .route(&format!("/{page}"), answers.clone())
        .route(&format!("/api/{page}"), answers.clone())
}

/// The `OpenAPI` description as a response.
fn described(groups: &[PageGroup]) -> Response {
    let text = crate::api::openapi(groups).to_string();
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
