//! Malicious ids, messages and payloads: they are shown, and do nothing.

use axum::http::StatusCode;
use retry_workflow::store::MAX_ID_BYTES;
use retry_workflow::{DeadLetters, SqliteStore};
use serde_json::json;

use crate::support::get;

const SCRIPT: &str = "<script>alert(1)</script>\" onload=\"x' `${y}` </pre><style>*{}</style>";
const STEERS: &str = "a\u{202e}b\u{1b}[31mc\u{0}d\u{200b}";

/// A board with a dead letter that has these texts everywhere.
async fn app(job: &str, id: &str, text: &str) -> axum::Router {
    let letter = json!({
        "job": job, "id": id, "payload": { "text": text }, "correlation": text, "state": "dead",
        "run": 1, "attempt": 1, "ended": "2026-11-21T08:00:00Z",
        "failure": { "class": text, "message": text, "chain": [text], "signature": text, "culprits": [text] },
        "history": [{
            "run": 1, "attempt": 1, "started": "2026-11-21T08:00:00Z", "duration": 1, "worker": text,
            "step": text, "outcome": "failed",
            "failure": {
                "class": text, "message": text, "signature": text,
                "output": { "stdout": text, "stderr": text },
            },
        }],
    });
    let store = SqliteStore::in_memory();
    let line = letter.to_string();
    DeadLetters::new(store.clone()).import(line.as_bytes(), None).await.unwrap();
    retry_board::Board::new().allow_actions().jobs(store)
}

fn addresses(page: &str) -> impl Iterator<Item = String> {
    let found = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    found.map(|address| address.replace("&amp;", "&")).collect::<Vec<_>>().into_iter()
}

#[tokio::test(start_paused = true)]
async fn nothing_in_a_text_becomes_markup() {
    let app = app(SCRIPT, SCRIPT, SCRIPT).await;
    let mut pages = vec!["jobs".to_owned(), "dead-letters".to_owned()];
    let mut seen = Vec::new();
    while let Some(page) = pages.pop() {
        let answer = get(&app, &format!("/{page}")).await;
        assert!(answer.status.is_success(), "{page}: {}", answer.text);
        if answer.header("content-type").starts_with("text/html") {
            assert!(
                !answer.text.contains("<script>") && !answer.text.contains("<style>"),
                "{page}"
            );
            assert!(!answer.text.contains(" onload=\"x"), "{page}");
            for next in addresses(&answer.text).filter(|next| !next.starts_with('#')) {
                if !seen.contains(&next) {
                    seen.push(next.clone());
                    pages.push(next);
                }
            }
        }
    }
    // Each link leads to the right page, whatever the ids contain.
    for page in ["job?", "item?", "re-drive?", "purge?", "export?"] {
        assert!(seen.iter().any(|address| address.starts_with(page)), "{page}: {seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn control_characters_are_displayed_and_not_interpreted() {
    let app = app("j", "i", STEERS).await;
    for page in ["item?job=j&id=i", "dead-letters", "job?id=j"] {
        let answer = get(&app, &format!("/{page}")).await;
        for steers in ['\u{202e}', '\u{1b}', '\u{0}', '\u{200b}'] {
            assert!(!answer.text.contains(steers), "{page}: {steers:?}");
        }
        answer.says("\\u{202e}b\\u{1b}[31mc");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_bounded_however_large_an_item_is() {
    let huge = "x".repeat(1 << 18);
    let app = app("j", "i", &huge).await;
    for page in ["item?job=j&id=i", "dead-letters", "job?id=j", "jobs"] {
        for page in [format!("/{page}"), format!("/api/{page}")] {
            let answer = get(&app, &page).await;
            assert_eq!(answer.status, StatusCode::OK, "{page}");
            assert!(answer.text.len() < 200_000, "{page}: {}", answer.text.len());
        }
    }
    let item = get(&app, "/api/item?job=j&id=i").await.json();
    assert!(
        item["payload"]["left_out"].as_u64().unwrap() > 200_000,
        "{}",
        item["payload"]["left_out"]
    );
    get(&app, "/item?job=j&id=i").await.says("more bytes are left out");
    // An export is not cut.
    assert!(get(&app, "/export?job=j").await.text.len() > 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn ids_that_are_not_valid_in_an_address_are_displayed() {
    let longest = "é".repeat(MAX_ID_BYTES / 2);
    for id in [".", "..", "a/b", "%2e", "a b&c=d#e", "é", &longest] {
        let app = app_with(id).await;
        let page = get(&app, "/dead-letters").await;
        let address = addresses(&page.text).find(|address| address.starts_with("item?")).unwrap();
        let item = get(&app, &format!("/api/{address}")).await.json();
        assert_eq!(item["id"], id);
    }
}

async fn app_with(id: &str) -> axum::Router {
    app(id, id, "text").await
}
