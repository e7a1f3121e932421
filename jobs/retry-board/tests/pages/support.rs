//! A store with a job of each kind, and a visitor.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use retry_board::Board;
use retry_workflow::{Graph, SqliteStore, Store, Task, Workflow, keyed, policy};
use serde_json::Value;
use tower::ServiceExt as _;

/// The response to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The text between the first `before` and the next `after`.
    #[track_caller]
    pub(crate) fn between(&self, before: &str, after: &str) -> &str {
        let from = self.text.find(before).unwrap_or_else(|| panic!("no {before}: {}", self.text));
        let rest = &self.text[from + before.len()..];
        &rest[..rest.find(after).unwrap()]
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.text.contains(text), "no {text:?} in {}", self.text);
        self
    }

    /// The value of a hidden field.
    pub(crate) fn field(&self, name: &str) -> String {
        self.between(&format!("name=\"{name}\" value=\""), "\"").to_owned()
    }

    /// The cookie that was set.
    pub(crate) fn cookie(&self) -> String {
        self.header("set-cookie").split(';').next().unwrap().to_owned()
    }
}

/// Sends a request with these headers.
pub(crate) async fn ask(
    app: &Router,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut request = Request::builder().method(method).uri(uri);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header(header::HOST, "localhost:7878");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await;
    let (parts, body) = response.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    Answer { status: parts.status, headers: parts.headers, text }
}

pub(crate) async fn get(app: &Router, uri: &str) -> Answer {
    ask(app, Method::GET, uri, &[], "").await
}

/// Sends a form as a browser would.
pub(crate) async fn send(app: &Router, uri: &str, cookie: &str, form: &str) -> Answer {
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", "http://localhost:7878"),
        ("sec-fetch-site", "same-origin"),
        ("cookie", cookie),
    ];
    ask(app, Method::POST, uri, &headers, form).await
}

/// `import-1`: 6 items, 2 of which are dead letters; `release-1`: a graph in which one task failed.
pub(crate) async fn store() -> SqliteStore {
    let store = SqliteStore::in_memory();
    Workflow::new("import")
        .retry(policy!(attempts = 2, initial_delay = "1ms"))
        .store(store.clone())
        .run(keyed(1..=6_u32, u32::to_string), |n: u32, _| async move {
            if n.is_multiple_of(3) {
                Err(format!("order {n} has no \"tax rate\""))
            } else {
                Ok(n * 7)
            }
        })
        .await
        .unwrap();
    Graph::new("release")
        .store(store.clone())
        .task(Task::new("fetch", |_| async { Ok::<_, String>(()) }))
        .task(
            Task::new("render", |_| async { Err::<(), _>("no template") })
                .max_retries(0)
                .depends_on(["fetch"]),
        )
        .task(Task::new("upload", |_| async { Ok::<_, String>(()) }).depends_on(["render"]))
        .run()
        .await
        .unwrap();
    store
}

pub(crate) async fn read_only() -> Router {
    let board = Board::new();
    board.jobs(store().await).merge(board.policies())
}

/// A board with actions allowed, and its store.
pub(crate) async fn acting() -> (Router, SqliteStore) {
    let (board, store) = (Board::new().allow_actions(), store().await);
    (board.jobs(store.clone()).merge(board.policies()), store)
}

pub(crate) async fn dead(store: &SqliteStore) -> u64 {
    store.counts("import-1").await.unwrap().dead
}
