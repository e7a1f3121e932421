//! Malicious texts: they are shown as text, and nothing in them runs.

use retry_workflow::{DeadLetters, SqliteStore};
use serde_json::json;

use crate::jobs::board;
use crate::page::{Look, Page};
use crate::server::Server;

const SCRIPT: &str = "<img src=x onerror=\"harmed=1\"><script>harmed=1</script>\" onload=\"harmed=1\" \
    </pre></textarea><style>*{display:none!important}</style>";
const STEERS: &str = "\u{202e}evil\u{2066}\u{1b}[31m";

#[test]
fn a_hostile_item_is_text_and_does_nothing() {
    let Some(mut page) = Page::open() else { return };
    let text = format!("{SCRIPT}{STEERS}");
    let endless = format!("{text}{}", "x".repeat(1 << 20));
    let failure = json!({
        "class": SCRIPT, "message": endless, "chain": [endless], "signature": text,
        "output": { "stdout": endless, "stderr": endless },
    });
    let letter = json!({
        "job": text, "id": text, "payload": { "text": endless }, "correlation": endless,
        "state": "dead", "run": 1, "attempt": 1, "ended": "2026-11-21T08:00:00Z",
        "output": endless, "failure": failure,
        "history": [{
            "run": 1, "attempt": 1, "started": "2026-11-21T08:00:00Z", "duration": 1, "worker": text,
            "step": text, "outcome": "failed", "failure": failure,
        }],
    });
    let store = SqliteStore::in_memory();
    let server = Server::start(board(&store));
    let line = letter.to_string();
    server.block_on(DeadLetters::new(store).import(line.as_bytes(), None)).unwrap();

    page.go(&server.url("/jobs"));
    for link in ["tr[data-job] th a", "#main a[data-count='dead']", "tr[data-item] th a"] {
        assert_unharmed(&mut page);
        page.click(link);
        page.wait_until("document.readyState === 'complete'");
    }
    page.wait_until("document.querySelector('#payload') !== null");
    assert_unharmed(&mut page);
    for part in ["h1", "#failure", "#payload", "#history"] {
        let seen = page.text(part);
        assert!(seen.contains("<script>harmed=1</script>"), "{part}: {}", head(&seen));
        assert!(!seen.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{part}: {}", head(&seen));
    }
}

#[track_caller]
fn assert_unharmed(page: &mut Page) {
    let path = page.path();
    for look in Look::ALL {
        page.look(look);
        page.assert_fits(&format!("{path}, {}", look.name()));
    }
    page.look(Look::ALL[0]);
    assert_eq!(page.eval("typeof harmed"), "undefined", "{path}");
    assert_eq!(page.count("#main img, #main script, #main style"), 0, "{path}");
    page.assert_no_trouble();
}

fn head(text: &str) -> String {
    text.chars().take(300).collect()
}
