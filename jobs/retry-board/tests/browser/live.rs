//! An open page shows what happens without being reloaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use retry_workflow::{DeadLetters, Filter, Redrive, SqliteStore};

use crate::jobs::{board, import, resume};
use crate::page::Page;
use crate::server::Server;

const LIVE: &str = "document.querySelector('#live').dataset.live === 'live'";

#[test]
fn progress_of_a_job_appears_without_a_reload() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    page.go(&server.url("/jobs"));
    page.wait_for_text("#empty", "No jobs yet");
    page.wait_until(LIVE);
    page.eval("loaded = 'once'");

    import(&server, &store);
    page.wait_for_text("tr[data-job='import-1']", "16");
    let letters = DeadLetters::new(store.clone());
    server.block_on(letters.retry(&[Filter::job("import-1")], Redrive::new())).unwrap();
    page.wait_until("!document.querySelector('a.dead')");
    resume(&server, &store, Duration::from_millis(10));
    page.wait_for_text("tr[data-job='import-1']", "20");
    assert_eq!(page.eval("loaded"), "once");
    page.assert_no_trouble();
}

#[test]
fn a_page_comes_back_with_its_server() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let mut server = Server::start(board(&store));
    page.go(&server.url("/jobs"));
    page.wait_until(LIVE);
    page.eval("loaded = 'once'");

    server.stop();
    page.wait_for_text("#live", "reconnecting");
    server.start_again(board(&store));
    import(&server, &store);
    page.wait_until(LIVE);
    page.wait_for_text("tr[data-job='import-1']", "16");
    assert_eq!(page.eval("loaded"), "once");
}

/// Counts the open streams of a board, and refuses them while `is_full` is set.
#[derive(Clone, Default)]
struct Streams(Arc<Counts>);

#[derive(Default)]
struct Counts {
    open: AtomicUsize,
    asked: AtomicUsize,
    is_full: AtomicUsize,
}

struct Open(Streams);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Streams {
    fn of(&self, board: Router) -> Router {
        let streams = self.clone();
        board.layer(from_fn(move |request, next| streams.clone().count(request, next)))
    }

    async fn count(self, request: Request, next: Next) -> Response {
        if !request.uri().path().starts_with("/live") {
            return next.run(request).await;
        }
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        if self.0.is_full.load(Ordering::Relaxed) > 0 {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        self.0.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(self);
        next.run(request).await.map(|body| {
            let events = body.into_data_stream();
            // Dropped with the stream.
            Body::from_stream(events.inspect(move |_| {
                let _open = &open;
            }))
        })
    }

    fn open(&self) -> usize {
        self.0.open.load(Ordering::Relaxed)
    }

    #[track_caller]
    fn wait_for(&self, open: usize) {
        let begun = Instant::now();
        while self.open() != open {
            assert!(begun.elapsed() < Duration::from_secs(20), "{} streams", self.open());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn seven_windows_of_a_browser_share_one_stream_and_all_are_live() {
    let Some(first) = Page::open() else { return };
    let (store, streams) = (SqliteStore::in_memory(), Streams::default());
    let server = Server::start(streams.of(board(&store)));
    import(&server, &store);
    let mut windows = vec![first];
    for _ in 1..8 {
        windows.push(windows[0].open_beside());
    }
    let paths = ["/jobs", "/job?id=import-1", "/dead-letters", "/policies", "/jobs"];
    for (window, path) in windows.iter_mut().zip(paths.into_iter().cycle()) {
        window.go(&server.url(path));
        window.wait_until(LIVE);
        window.eval("loaded = 'once'");
    }
    streams.wait_for(1);
    let letters = DeadLetters::new(store.clone());
    server.block_on(letters.retry(&[Filter::job("import-1")], Redrive::new())).unwrap();
    resume(&server, &store, Duration::from_millis(10));
    for (window, path) in windows.iter_mut().zip(paths.into_iter().cycle()) {
        if path == "/jobs" {
            window.wait_for_text("tr[data-job='import-1']", "20");
        }
        assert_eq!(window.eval("loaded"), "once");
        window.assert_no_trouble();
    }
    streams.wait_for(1);
}

#[test]
fn a_hidden_tab_has_no_stream_and_is_fresh_once_it_is_seen_again() {
    let Some(mut page) = Page::open() else { return };
    let (store, streams) = (SqliteStore::in_memory(), Streams::default());
    let server = Server::start(streams.of(board(&store)));
    page.go(&server.url("/jobs"));
    page.wait_until(LIVE);
    page.eval("loaded = 'once'");
    streams.wait_for(1);
    page.set_hidden(true);
    streams.wait_for(0);
    import(&server, &store);
    page.set_hidden(false);
    page.wait_for_text("tr[data-job='import-1']", "16");
    page.wait_until(LIVE);
    streams.wait_for(1);
    assert_eq!(page.eval("loaded"), "once");
}

#[test]
fn a_browser_without_shared_workers_has_a_stream_for_each_tab() {
    let Some(mut page) = Page::open() else { return };
    let (store, streams) = (SqliteStore::in_memory(), Streams::default());
    let server = Server::start(streams.of(board(&store)));
    page.before_scripts("delete window.SharedWorker");
    page.go(&server.url("/jobs"));
    page.wait_until(LIVE);
    import(&server, &store);
    page.wait_for_text("tr[data-job='import-1']", "16");
    page.set_hidden(true);
    streams.wait_for(0);
    page.set_hidden(false);
    streams.wait_for(1);
    page.assert_no_trouble();
}

#[test]
fn a_page_without_a_stream_shows_it_and_reloads_itself() {
    let Some(mut page) = Page::open() else { return };
    let (store, streams) = (SqliteStore::in_memory(), Streams::default());
    streams.0.is_full.store(1, Ordering::Relaxed);
    let server = Server::start(streams.of(board(&store)));
    page.go(&server.url("/jobs"));
    page.wait_for_text("#live", "every 10 s");
    page.eval("loaded = 'once'");
    page.assert_accessible("jobs without a stream");
    import(&server, &store);
    page.set_clock_forward(Duration::from_secs(10));
    page.wait_for_text("tr[data-job='import-1']", "16");
    assert_eq!(page.text("#live"), "every 10 s");
    // Streams that are refused are not asked for again and again.
    let asked = streams.0.asked.load(Ordering::Relaxed);
    assert!(asked <= 5, "{asked} requests");
    streams.0.is_full.store(0, Ordering::Relaxed);
    // The longest time between two requests.
    page.set_workers_clock_forward(Duration::from_secs(30));
    page.wait_until(LIVE);
    assert_eq!(page.eval("loaded"), "once");
}
