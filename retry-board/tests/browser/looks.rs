//! Every page: wide and narrow, light and dark, accessible; with screenshots.

use std::sync::Mutex;

use retry_board::Board;
use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry};
use retry_workflow::MemoryStore;

use crate::jobs::{board, import, release};
use crate::page::{Look, Page};
use crate::server::Server;

static BANK: CircuitBreaker =
    CircuitBreaker::new("bank", BreakerConfig::new().failure_threshold(3));
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new().capacity(100));

#[retry(attempts = 5, initial_delay = "1ms", breaker = BANK, quota = OUTBOUND, name = "shop.charge")]
async fn charge() -> Result<(), RetryError<String>> {
    Err("the bank is closed".to_owned())
}

#[retry(attempts = 4, backoff = fibonacci, initial_delay = "1ms", jitter, name = "shop.mail")]
async fn mail(calls: &Mutex<u32>) -> Result<(), String> {
    let mut calls = calls.lock().unwrap();
    *calls += 1;
    if *calls < 3 { Err("421 try again later".to_owned()) } else { Ok(()) }
}

/// Checks a page in each look, and keeps a screenshot of each.
#[track_caller]
fn look_at(page: &mut Page, url: &str, name: &str) {
    page.go(url);
    for look in Look::ALL {
        page.look(look);
        let way = format!("{name}-{}", look.name());
        page.assert_accessible(&way);
        page.assert_fits(&way);
        page.picture(&way);
    }
}

#[test]
fn pages_of_jobs_are_for_everybody() {
    let Some(mut page) = Page::open() else { return };
    let store = MemoryStore::new();
    let server = Server::start(board(&store));
    import(&server, &store);
    release(&server, &store);
    for (name, path) in [
        ("jobs", "/jobs"),
        ("job", "/job?id=import-1"),
        ("graph", "/job?id=release-1"),
        ("dead-letters", "/dead-letters"),
        ("item", "/item?job=import-1&id=5"),
        ("re-drive", "/re-drive?job=import-1"),
        ("purge", "/purge?job=import-1"),
        ("cancel", "/cancel?job=import-1"),
    ] {
        look_at(&mut page, &server.url(path), name);
    }
    page.assert_no_trouble();
}

#[test]
fn pages_of_policies_are_for_everybody() {
    let Some(mut page) = Page::open() else { return };
    let board = Board::new().allow_actions().breaker(&BANK).quota(&OUTBOUND);
    let server = Server::start(board.jobs(MemoryStore::new()).merge(board.policies()));
    server.block_on(async {
        assert!(charge().await.is_err());
        assert!(mail(&Mutex::new(0)).await.is_ok());
    });
    look_at(&mut page, &server.url("/policies"), "policies");

    // The rule's message is shown beside the field.
    page.look(Look::ALL[0]);
    page.go(&server.url("/policies"));
    page.click("#override-value");
    page.type_text("none of all");
    page.press("Enter");
    page.wait_until("document.querySelector('#override-error') !== null");
    page.assert_accessible("a change that is refused");
}

#[test]
fn pages_without_anything_are_for_everybody() {
    let Some(mut page) = Page::open() else { return };
    let store = MemoryStore::new();
    let server = Server::start(retry_board::jobs(store.clone()));
    look_at(&mut page, &server.url("/jobs"), "no-jobs");
    look_at(&mut page, &server.url("/dead-letters"), "no-dead-letters");
    look_at(&mut page, &server.url("/job?id=gone"), "unknown-job");
    let token = retry_board::Token::new("correct horse battery staple").unwrap();
    let closed = Server::start(Board::new().token(token).jobs(store));
    look_at(&mut page, &closed.url("/jobs"), "sign-in");
}
