//! The work of people on the board, from the first look to the end: with a mouse, and without.

use std::time::Duration;

use retry_workflow::store::NewItem;
use retry_workflow::{SqliteStore, Store as _};

use crate::jobs::{board, dead, import, resume};
use crate::page::Page;
use crate::server::Server;

const JOB: &str = "tr[data-job='import-1']";

#[test]
fn a_failed_job_is_examined_and_re_driven_by_clicks() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    assert_eq!(import(&server, &store).dead(), 4);

    page.go(&server.url("/jobs"));
    page.wait_for_text(JOB, "16");
    page.click("tr[data-job='import-1'] a.dead");
    page.wait_for_text(".groups", "<n> has no address");
    page.wait_for_text(".groups .count", "4");
    page.click("tr[data-item='5'] a");
    page.wait_for_text("#failure", "5 has no address");
    assert_eq!(page.count("#history [data-attempt]"), 3);
    page.click(".crumbs a[href*='import-1']");
    page.wait_for_text("[data-count='dead']", "4 dead");
    page.click("#re-drive");
    page.wait_for_text("#would", "4 dead letters");
    assert_eq!(dead(&server, &store), 4, "a look changes nothing");
    page.click("#submit");
    page.wait_for_text("#notice", "4");
    assert_eq!(dead(&server, &store), 0);

    page.go(&server.url("/job?id=import-1"));
    page.wait_for_text("[data-count='pending']", "4 waiting");
    page.wait_for_text("#no-worker", "run its program again");
    assert!(resume(&server, &store, Duration::from_millis(10)).is_success());
    page.wait_for_text("[data-count='succeeded']", "20 succeeded");
    page.assert_no_trouble();
}

#[test]
fn some_rows_or_all_of_a_page_are_selected_and_taken_back() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    import(&server, &store);
    page.go(&server.url("/dead-letters?job=import-1"));
    for row in ["5", "15"] {
        page.click(&format!("tr[data-item='{row}'] .pick"));
    }
    page.click("#re-drive-picked");
    page.wait_for_text("#would", "2 dead letters");
    page.click("#submit");
    page.wait_for_text("#notice", "2");
    assert_eq!(dead(&server, &store), 2);

    page.go(&server.url("/dead-letters?job=import-1"));
    page.click("#pick-all");
    page.click("#purge-picked");
    page.wait_for_text("#would", "2 dead letters");
    page.click("#confirm");
    page.type_text("purge 2");
    page.click("#submit");
    page.wait_for_text("#notice", "2");
    assert_eq!(dead(&server, &store), 0);
    page.assert_no_trouble();
}

#[test]
fn the_same_is_done_by_keyboard_alone() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    import(&server, &store);

    page.go(&server.url("/jobs"));
    page.press("Tab");
    assert_eq!(
        page.eval("document.activeElement.className"),
        "skip",
        "the first one skips the rest"
    );
    page.press("Enter");
    page.tab_to("tr[data-job='import-1'] a.dead");
    page.press("Enter");
    page.wait_for_text(".groups", "<n> has no address");
    page.tab_to("#filter-text");
    page.type_text("15 has");
    page.press("Enter");
    page.wait_until("document.querySelectorAll('tr[data-item]').length === 1");
    page.tab_to("tr[data-item='15'] a");
    page.press("Enter");
    page.wait_for_text("#failure", "15 has no address");
    page.tab_to("#re-drive");
    page.press("Enter");
    page.wait_for_text("#would", "1 dead letter");
    page.tab_to("#rate");
    page.type_text("10/s");
    page.tab_to("#from_failed");
    page.press("Space");
    page.tab_to("#submit");
    page.press("Space");
    page.wait_for_text("#notice", "1 dead letter re-driven at 10/s, from the failed step");
    assert_eq!(dead(&server, &store), 3);
    page.assert_no_trouble();
}

#[test]
fn a_waiting_item_is_cancelled_by_keyboard_alone() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    let item = vec![NewItem::new("17", "{}")];
    server.block_on(store.enqueue("night-1", item, store.now())).expect("it is in memory");

    page.go(&server.url("/item?job=night-1&id=17"));
    page.tab_to("#cancel-items");
    page.press("Enter");
    page.wait_for_text("#would", "1 item");
    page.tab_to("#submit");
    page.press("Space");
    page.wait_for_text("#notice", "1 item cancelled");
    page.wait_for_text("#failure", "the item was cancelled");
    page.assert_no_trouble();
}

#[test]
fn a_purge_requires_a_typed_confirmation() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    import(&server, &store);

    page.go(&server.url("/dead-letters?job=import-1"));
    page.click("#purge");
    page.wait_for_text("#would", "4 dead letters");
    page.click("#submit");
    // The browser itself refuses to submit the form without it.
    page.wait_until("document.querySelector('#confirm').matches(':invalid')");
    assert_eq!(dead(&server, &store), 4);
    let confirmation = page.text("label[for='confirm'] code");
    page.click("#confirm");
    page.type_text(&confirmation);
    page.click("#submit");
    page.wait_for_text("#notice", "4");
    assert_eq!(dead(&server, &store), 0);
    page.assert_no_trouble();
}
