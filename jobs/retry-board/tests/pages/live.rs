//! Pages that are notified of changes.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use retry_board::Board;
use retry_workflow::store::NewItem;
use retry_workflow::{SqliteStore, Store};
use tower::ServiceExt as _;

use crate::policies::ALONE;
use crate::support::get;

async fn events(app: &Router, topic: &str) -> Body {
    stream(app, &format!("/live?topic={topic}")).await
}

async fn stream(app: &Router, uri: &str) -> Body {
    let request = Request::get(uri).header(header::HOST, "localhost").body(Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
    response.into_body()
}

/// The next event; `None` at the end.
async fn next(body: &mut Body) -> Option<String> {
    Some(next_with_data(body).await?.0)
}

/// The next event, and its data.
async fn next_with_data(body: &mut Body) -> Option<(String, String)> {
    let frame = body.frame().await?.unwrap().into_data().unwrap();
    let text = String::from_utf8(frame.to_vec()).unwrap();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let [event, data] =
        ["event: ", "data: "].map(|name| field(name).unwrap_or_default().to_owned());
    Some((event, data))
}

#[tokio::test(start_paused = true)]
async fn a_page_receives_events_of_its_job_and_the_list_of_all_jobs() {
    let store = SqliteStore::in_memory();
    let app = retry_board::jobs(store.clone());
    let job = retry_workflow::Job::create(&store, "import", None).await.unwrap();
    let (mut all, mut one) = (events(&app, "jobs").await, events(&app, "job/import-1").await);
    assert_eq!(next(&mut all).await.unwrap(), "hello");
    assert_eq!(next(&mut one).await.unwrap(), "hello");
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.enqueue(&job.id, vec![NewItem::new("1", "1")], store.now()).await.unwrap();
    assert_eq!(next(&mut all).await.unwrap(), "change");
    assert_eq!(next(&mut one).await.unwrap(), "change");
    // After that, only heartbeats.
    assert_eq!(next(&mut all).await.unwrap(), "beat");
}

#[tokio::test(start_paused = true)]
async fn only_known_topics_can_be_subscribed_to() {
    let app = retry_board::jobs(SqliteStore::in_memory());
    assert_eq!(get(&app, "/live?topic=secrets").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(get(&app, "/live").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(get(&app, "/live?topic=job/gone-1").await.status, StatusCode::NOT_FOUND);
    let many = format!("/live?{}", "topic=jobs&".repeat(33));
    assert_eq!(get(&app, &many).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn one_stream_has_the_topics_of_all_tabs() {
    // Overrides are those of the whole process.
    let _alone = ALONE.lock().await;
    let (store, board) = (SqliteStore::in_memory(), Board::new().allow_actions());
    let app = board.jobs(store.clone()).merge(board.policies());
    let job = retry_workflow::Job::create(&store, "import", None).await.unwrap();
    // A job that has been removed takes nothing from the other tabs.
    let topics = "/live?topic=policies&topic=job/gone-1&topic=job/import-1&topic=jobs";
    let mut all = stream(&app, topics).await;
    assert_eq!(next(&mut all).await.unwrap(), "hello");
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.enqueue(&job.id, vec![NewItem::new("1", "1")], store.now()).await.unwrap();
    let heard = [next_with_data(&mut all).await.unwrap(), next_with_data(&mut all).await.unwrap()];
    let change = |number: &str| ("change".to_owned(), number.to_owned());
    assert!(heard.contains(&change("2")) && heard.contains(&change("3")), "{heard:?}");
    retry_runtime::Overrides::from_pairs([("*", "attempts", "2")]).unwrap().apply();
    let heard = next_with_data(&mut all).await.unwrap();
    retry_runtime::Overrides::default().apply();
    assert_eq!(heard, change("0"));
}

/// Streams without a name or an address to count them by, and streams of one visitor.
#[tokio::test(start_paused = true)]
async fn streams_are_fewer_than_connections_by_visitor_and_in_all() {
    async fn open(app: &Router, name: &str) -> Result<Body, StatusCode> {
        let request = Request::get("/live?topic=jobs").header(header::HOST, "localhost");
        let request = request.header("x-user", name).body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let status = response.status();
        if status == StatusCode::OK { Ok(response.into_body()) } else { Err(status) }
    }
    for (visitors, most) in [(1, 64), (2, 128), (9, 256)] {
        let board = Board::new().actor(|parts| {
            let name = parts.headers.get("x-user")?.to_str().ok()?;
            Some(name.to_owned())
        });
        // The pages of both groups count together.
        let app = board.jobs(SqliteStore::in_memory()).merge(board.policies());
        let mut held = Vec::new();
        for number in 0..900 {
            match open(&app, &format!("user {}", number % visitors)).await {
                Ok(body) => held.push(body),
                Err(status) => assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE),
            }
        }
        assert_eq!(held.len(), most, "{visitors} visitors");
        if most == 256 {
            let refused = get(&app, "/live-policies").await;
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        }
        drop(held);
        assert!(open(&app, "user 0").await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reconnects_after_a_restart_gets_a_new_hello() {
    let store = SqliteStore::in_memory();
    let mut before = events(&retry_board::jobs(store.clone()), "jobs").await;
    assert_eq!(next(&mut before).await.unwrap(), "hello");
    drop(before);
    let mut after = events(&retry_board::jobs(store), "jobs").await;
    assert_eq!(next(&mut after).await.unwrap(), "hello", "and asks for the page anew");
}

/// Clients that connect and never read, on real sockets: the board still answers others.
#[tokio::test]
async fn clients_that_never_read_do_not_delay_other_clients() {
    let store = SqliteStore::in_memory();
    let app = Board::new().jobs(store.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let pages = app.clone();
    let server = tokio::spawn(async move { axum::serve(listener, pages).await });
    let mut stuck = Vec::new();
    for _ in 0..as_many_as_files_allow(250) {
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let ask = b"GET /live?topic=jobs HTTP/1.1\r\nhost: localhost\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut socket, ask).await.unwrap();
        stuck.push(socket);
    }
    let mut reads = events(&app, "jobs").await;
    assert_eq!(next(&mut reads).await.unwrap(), "hello");
    // A change is one since the board's first look, whenever that is: jobs begin until one is seen.
    let jobs_begin = async {
        loop {
            retry_workflow::Job::create(&store, "import", None).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        heard = next(&mut reads) => assert_eq!(heard.unwrap(), "change"),
        () = jobs_begin => {}
    }
    assert_eq!(get(&app, "/jobs").await.status, StatusCode::OK);
    server.abort();
}

/// Each client uses a file descriptor at both ends, which are both in this process.
fn as_many_as_files_allow(wanted: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = files.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    files.map_or(200, |files| files.saturating_sub(200) / 2).clamp(100, wanted)
}
