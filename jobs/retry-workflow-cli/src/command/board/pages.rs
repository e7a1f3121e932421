//! [`Pages`]: the board of a store, opened again once another file is in the place of the store.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use retry_board::Board;

use crate::command::outcome::CommandError;
use crate::command::store::{Address, FileId};

/// The time limit until the response to a request begins, including the arrival of its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The pages of a board.
pub(super) struct Pages {
    board: Board,
    address: Address,
    allow_actions: bool,
    current: Mutex<Current>,
    /// Held while the store is opened again.
    opening: tokio::sync::Mutex<()>,
}

struct Current {
    /// The file whose jobs are shown.
    file: Option<FileId>,
    app: Router,
}

impl Pages {
    pub(super) async fn open(
        board: Board,
        address: Address,
        allow_actions: bool,
    ) -> Result<Arc<Self>, CommandError> {
        let current = Self::load(&board, &address, allow_actions).await?;
        let (current, opening) = (Mutex::new(current), tokio::sync::Mutex::default());
        Ok(Arc::new(Self { board, address, allow_actions, current, opening }))
    }

    async fn load(
        board: &Board,
        address: &Address,
        allow_actions: bool,
    ) -> Result<Current, CommandError> {
        // Before it is opened: if it is replaced in between, it is opened again.
        let file = address.file_id();
        // Read access to the file is enough to view it.
        let store =
            if allow_actions { address.open().await? } else { address.open_read_only().await? };
        let app = board.jobs(store).layer(from_fn(in_time));
        Ok(Current { file, app })
    }

    /// Returns the pages of the store that is there now.
    pub(super) async fn current(&self) -> Router {
        if self.is_current() {
            return self.current.lock().app.clone();
        }
        let _opening = self.opening.lock().await;
        // If the store is missing or cannot be used, the pages of the old one report it.
        if !self.is_current()
            && let Ok(current) = Self::load(&self.board, &self.address, self.allow_actions).await
        {
            *self.current.lock() = current;
        }
        self.current.lock().app.clone()
    }

    fn is_current(&self) -> bool {
        let file = self.address.file_id();
        file.is_none() || self.current.lock().file == file
    }
}

/// Ends requests that take too long, and refusals with their connection.
async fn in_time(request: Request, next: Next) -> Response {
    let answered = tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await;
    let mut response = answered.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response());
    // A client that is refused a stream must not keep its connection for nothing.
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
