//! An open page shows what happens without being reloaded.

use std::time::Duration;

use retry_workflow::{DeadLetters, Filter, MemoryStore, Redrive};

use crate::jobs::{board, import, resume};
use crate::page::Page;
use crate::server::Server;

const LIVE: &str = "document.querySelector('#live').dataset.live === 'live'";

#[test]
fn what_a_job_does_is_seen_without_a_reload() {
    let Some(mut page) = Page::open() else { return };
    let store = MemoryStore::new();
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
    let store = MemoryStore::new();
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
