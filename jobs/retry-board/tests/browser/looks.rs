//! Every page: wide and narrow, light and dark, accessible; with screenshots if they are wanted.

use std::sync::Mutex;
use std::time::Duration;

use retry_board::Board;
use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry};
use retry_workflow::store::NewItem;
use retry_workflow::{
    Failure, Filter, ItemRecord, ItemState, Operator, Redrive, SqliteStore, Store, Workflow, policy,
};

use crate::jobs::{board, import, release};
use crate::page::{Look, Page, are_pictures_wanted};
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

/// An id in which no line breaks, unless it does not fit.
const LONG_ID: &str = "ordnungsgemässerechnungsnummernverwaltungsdatenbankschlüsselverzeichnis";

/// Checks a page in each look, and keeps a screenshot of each if pictures are wanted.
#[track_caller]
fn look_at(page: &mut Page, url: &str, name: &str) {
    page.go(url);
    for look in Look::ALL {
        page.look(look);
        let way = format!("{name}-{}", look.name());
        page.assert_accessible(&way);
        page.assert_fits(&way);
        if are_pictures_wanted() {
            page.picture(&way);
        }
    }
}

#[test]
fn pages_of_jobs_are_accessible() {
    look_at_jobs(&[
        ("jobs", "/jobs"),
        ("job", "/job?id=import-1"),
        ("graph", "/job?id=release-1"),
        ("cancel", "/cancel?job=import-1"),
    ]);
}

#[test]
fn pages_of_dead_letters_are_accessible() {
    look_at_jobs(&[
        ("dead-letters", "/dead-letters"),
        ("item", "/item?job=import-1&id=5"),
        ("re-drive", "/re-drive?job=import-1"),
        ("purge", "/purge?job=import-1"),
    ]);
}

#[test]
fn checkboxes_buttons_and_names_have_room_beside_each_other() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let token = retry_board::Token::new("correct horse battery staple").unwrap().named("ada");
    let server = Server::start(Board::new().allow_actions().token(token).jobs(store.clone()));
    import(&server, &store);
    let mut long = ItemRecord::new("import-1", LONG_ID, "{}");
    (long.state, long.ended) = (ItemState::Dead, Some(store.now()));
    long.failure = Some(Failure::new("other", "it has a long id"));
    server.block_on(store.import(vec![long], store.now())).expect("it is in memory");
    page.go(&server.url("/dead-letters?job=import-1"));
    page.click("#token");
    page.type_text("correct horse battery staple");
    page.press("Enter");
    page.wait_for_text("#items", "has no address");
    look_at(&mut page, &server.url("/dead-letters?job=import-1"), "selection");
    for look in Look::ALL {
        page.look(look);
        // The checkbox, the id that begins beside it in the same line, however long it is, and the
        // two buttons below.
        let boxes = page.eval(
            "(() => {
                const box = element => element.getBoundingClientRect();
                const pick = [...document.querySelectorAll('.pick')].pop();
                const [one, two] = [pick, pick.parentElement.querySelector('a')].map(box);
                const [left, right] = [...document.querySelectorAll('#picked button')].map(box);
                const apart = Math.max(right.left - left.right, right.top - left.bottom);
                return [one.width, two.left - one.right, Math.abs(one.top - two.top), apart];
            })()",
        );
        let [width, gap, shift, apart] =
            serde_json::from_value::<[f64; 4]>(boxes.clone()).expect("numbers");
        assert!((13.0..=24.0).contains(&width), "{}: {boxes}", look.name());
        assert!((4.0..=16.0).contains(&gap) && shift < 8.0, "{}: {boxes}", look.name());
        assert!(apart >= 8.0, "{}: {boxes}", look.name());
    }
    let footer = page.text("footer");
    assert!(footer.contains("as ada. Sign out"), "{footer}");
}

/// Looks at pages of a store with a job, a graph, and an item that ada has re-driven.
#[track_caller]
fn look_at_jobs(pages: &[(&str, &str)]) {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    import(&server, &store);
    release(&server, &store);
    let ada = Operator::new(store.clone(), "ada");
    let one = Filter::job("import-1").ids(["5"]);
    server.block_on(ada.redrive(one, Redrive::new())).expect("it is in memory");
    // It fails again.
    import(&server, &store);
    for (name, path) in pages {
        look_at(&mut page, &server.url(path), name);
    }
    page.assert_no_trouble();
}

#[test]
fn pages_of_policies_are_accessible() {
    let Some(mut page) = Page::open() else { return };
    let board = Board::new().allow_actions().breaker(&BANK).quota(&OUTBOUND);
    let server = Server::start(board.jobs(SqliteStore::in_memory()).merge(board.policies()));
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
fn an_unsent_choice_survives_live_updates() {
    let Some(mut page) = Page::open() else { return };
    let board = Board::new().allow_actions().breaker(&BANK).quota(&OUTBOUND);
    let server = Server::start(board.jobs(SqliteStore::in_memory()).merge(board.policies()));
    server.block_on(async {
        assert!(charge().await.is_err());
        assert!(mail(&Mutex::new(0)).await.is_ok());
    });
    page.go(&server.url("/policies"));
    // No field has the focus.
    let chosen = page.eval(
        "(() => {
            const select = document.querySelector('#override-name');
            const names = [...select.options].map(option => option.value);
            select.selectedIndex = names.findLastIndex(name => name !== '*');
            document.activeElement?.blur();
            window.heard = 0;
            const events = new EventSource(document.querySelector('#live').dataset.url);
            events.addEventListener('hello', () => window.listens = true);
            events.addEventListener('change', () => window.heard += 1);
            return select.value;
        })()",
    );
    page.wait_until("window.listens === true");
    server.block_on(async { assert!(mail(&Mutex::new(0)).await.is_ok()) });
    page.wait_until("window.heard > 0");
    assert_eq!(page.eval("document.querySelector('#override-name').value"), chosen);
    // The form is for that function, and says so before anything changes.
    page.click("#override-value");
    page.type_text("2");
    page.press("Enter");
    page.wait_for_text("h1", chosen.as_str().expect("a name"));
}

#[test]
fn pictures_and_their_legends_are_seen_in_forced_colours() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    import(&server, &store);
    // The chart is that of a job which has not ended.
    let late = vec![NewItem::new("late", "1")];
    let due = store.now() + Duration::from_hours(1);
    server.block_on(store.enqueue("import-1", late, due)).expect("it is in memory");
    for is_dark in [false, true] {
        page.force_colours(is_dark);
        page.go(&server.url("/job?id=import-1"));
        assert!(!page.text(".chart .x").contains("UTC"), "times are the visitor's everywhere");
        // Keys of the legend and bars of the picture have the same colours, which differ.
        let colours = page.eval(
            "['succeeded', 'dead', 'skipped'].map(state => [
                getComputedStyle(document.querySelector(`#states .key.${state}`)).backgroundColor,
                getComputedStyle(document.querySelector(`svg.states .${state}`) ?? document.body).fill,
            ])",
        );
        let colours: Vec<[String; 2]> = serde_json::from_value(colours).unwrap();
        assert_eq!(colours[0][0], colours[0][1], "{colours:?}");
        assert_eq!(colours[1][0], colours[1][1], "{colours:?}");
        assert_ne!(colours[0][0], colours[1][0], "{colours:?}");
        // Texts in pictures are on a ground that they can be read on.
        page.go(&server.url("/policies"));
        let grounds = page.eval(
            "[...document.querySelectorAll('svg text')].map(text => [
                getComputedStyle(text).fill, getComputedStyle(text.closest('svg')).backgroundColor,
                getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor,
            ])",
        );
        let grounds: Vec<[String; 4]> = serde_json::from_value(grounds).unwrap();
        assert!(!grounds.is_empty(), "this page has a picture with texts");
        for [fill, ground, text, body] in grounds {
            assert_eq!((&fill, &ground), (&text, &body), "as the page's own texts");
        }
    }
}

#[test]
fn names_are_not_broken_and_a_filter_is_folded_where_it_is_narrow() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    let flood =
        Workflow::new("the-flood-of-orders").retry(policy!(attempts = 1)).store(store.clone());
    let flooded = flood.run(0..3_u32, |_, _| async {
        Err::<(), _>("429 Too Many Requests: a gateway timed out, 504 Gateway Timeout, later")
    });
    server.block_on(Box::pin(flooded)).expect("it runs");
    for look in Look::ALL {
        page.look(look);
        page.go(&server.url("/dead-letters"));
        assert!(page.text(".class").contains('_'), "a name that could be broken");
        assert!(page.text("#items td .whole").contains('-'), "another one");
        let is_open = page.eval("document.querySelector('.filters').open");
        assert_eq!(is_open, !look.name().starts_with("narrow"), "{}", look.name());
        let broken = page.eval(
            "[...document.querySelectorAll('.class, .whole')].flatMap(name => [...name.childNodes])
              .filter(node => node.nodeType === Node.TEXT_NODE).flatMap(text => {
                const range = document.createRange();
                const top = at => {
                    range.setStart(text, at);
                    range.setEnd(text, at + 1);
                    return range.getBoundingClientRect().top;
                };
                return [...text.data].keys().filter(at => at > 0 && top(at) > top(at - 1))
                    .map(at => text.data.slice(at - 1, at + 1)).toArray();
            })",
        );
        assert_eq!(broken, serde_json::json!([]), "{}", look.name());
        page.go(&server.url("/dead-letters?class=rate_limit"));
        assert_eq!(page.eval("document.querySelector('.filters').open"), true, "it filters");
    }
}

#[test]
fn empty_pages_are_accessible() {
    let Some(mut page) = Page::open() else { return };
    let store = SqliteStore::in_memory();
    let server = Server::start(retry_board::jobs(store.clone()));
    look_at(&mut page, &server.url("/jobs"), "no-jobs");
    look_at(&mut page, &server.url("/dead-letters"), "no-dead-letters");
    look_at(&mut page, &server.url("/job?id=gone"), "unknown-job");
    let token = retry_board::Token::new("correct horse battery staple").unwrap();
    let closed = Server::start(Board::new().token(token).jobs(store));
    look_at(&mut page, &closed.url("/jobs"), "sign-in");
}
