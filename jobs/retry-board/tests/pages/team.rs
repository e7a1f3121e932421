//! A team: who may act, and who has changed what.

use axum::Router;
use axum::http::{Method, StatusCode};
use retry_board::{Board, Token};
use retry_tests_support::events;
use retry_workflow::{SqliteStore, Workflow};
use serde_json::{Value, json};

use crate::policies::ALONE;
use crate::support::{acting, ask, dead, get, send, store};

const ADA: &str = "token of ada, who acts";
const BOB: &str = "token of bob, who reads";

async fn team() -> (Router, SqliteStore) {
    let (ada, bob) = (Token::new(ADA).unwrap().named("ada"), Token::new(BOB).unwrap());
    let board = Board::new().allow_actions().token(ada).token(bob.named("bob").reader());
    let store = store().await;
    (board.jobs(store.clone()).merge(board.policies()), store)
}

/// Sends JSON with a token.
async fn post(app: &Router, path: &str, token: &str, body: &Value) -> (StatusCode, Value) {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let answer = ask(app, Method::POST, path, &headers, &body.to_string()).await;
    (answer.status, answer.json())
}

async fn see(app: &Router, path: &str, token: &str) -> (StatusCode, String) {
    let bearer = format!("Bearer {token}");
    let answer = ask(app, Method::GET, path, &[("authorization", &bearer)], "").await;
    (answer.status, answer.text)
}

#[tokio::test(start_paused = true)]
async fn a_reader_sees_everything_and_changes_nothing() {
    let (app, store) = team().await;
    let (status, page) = see(&app, "/dead-letters?job=import-1", BOB).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("You may read only, as bob") && !page.contains("Re-drive"), "{page}");
    for (action, body) in [
        ("re-drive", json!({ "job": "import-1" })),
        ("purge", json!({ "job": "import-1", "confirm": "purge 2" })),
        ("cancel", json!({ "job": "import-1" })),
        ("override", json!({ "name": "*", "key": "attempts", "value": 2 })),
    ] {
        let (status, answer) = post(&app, &format!("/api/{action}"), BOB, &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{action}");
        assert_eq!(answer["error"], "You may read only", "{action}");
    }
    assert_eq!(see(&app, "/re-drive?job=import-1", BOB).await.0, StatusCode::FORBIDDEN);
    assert_eq!(dead(&store).await, 2);
    let (_, page) = see(&app, "/dead-letters?job=import-1", ADA).await;
    assert!(page.contains("Actions are allowed, as ada") && page.contains("Re-drive"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn an_idempotency_key_is_that_of_its_visitor() {
    let tokens = [("ada", ADA), ("eve", "token of eve, who acts")];
    let board = tokens.iter().fold(Board::new().allow_actions(), |board, (name, token)| {
        board.token(Token::new(token).unwrap().named(*name))
    });
    let app = board.jobs(store().await);
    let mut retried = Vec::new();
    for (_, token) in tokens {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "1"),
        ];
        let body = json!({ "job": "import-1" }).to_string();
        let answer = ask(&app, Method::POST, "/api/re-drive", &headers, &body).await;
        retried.push(answer.json()["retried"].clone());
    }
    assert_eq!(retried, [2, 0], "the second visitor's own request found nothing left");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_that_of_the_token_that_began_it() {
    let (app, _) = team().await;
    for (token, says) in [(ADA, "as ada"), (BOB, "as bob")] {
        let form = format!("token={}", token.replace(' ', "+").replace(',', "%2C"));
        let signed_in = send(&app, "/jobs-sign-in", "", &form).await;
        assert_eq!(signed_in.status, StatusCode::SEE_OTHER);
        let cookie = signed_in.cookie();
        let page = ask(&app, Method::GET, "/jobs", &[("cookie", &cookie)], "").await;
        page.says(says);
    }
}

#[tokio::test(start_paused = true)]
async fn each_action_is_one_event_with_user_object_and_count() {
    // Overrides are those of the whole process.
    let _alone = ALONE.lock().await;
    let (app, _) = team().await;
    events::collect();
    let re_drive = json!({ "job": "import-1", "item": "3", "rate": "10/s" });
    assert_eq!(post(&app, "/api/re-drive", ADA, &re_drive).await.1["retried"], 1);
    // A dry run, a refusal and a reader change nothing.
    post(&app, "/api/re-drive", ADA, &json!({ "job": "import-1", "dry_run": true })).await;
    post(&app, "/api/purge", ADA, &json!({ "job": "import-1", "confirm": "purge 9" })).await;
    post(&app, "/api/purge", BOB, &json!({ "job": "import-1", "confirm": "purge 1" })).await;
    let purge = json!({ "job": "import-1", "class": "other", "confirm": "purge 1" });
    assert_eq!(post(&app, "/api/purge", ADA, &purge).await.1["purged"], 1);
    let change = json!({ "name": "*", "key": "attempts", "value": 2 });
    assert_eq!(post(&app, "/api/override", ADA, &change).await.0, StatusCode::OK);
    post(&app, "/api/override-reset", ADA, &json!({})).await;

    let by_ada = |event: &str| format!("user=\"ada\" {event}");
    assert_eq!(
        events::collect(),
        [
            by_ada(r#"action="re-drive" object="job import-1, item 3" count=1"#),
            by_ada(r#"action="purge" object="job import-1, class other" count=1"#),
            by_ada(r#"action="override" object="* attempts 2" count=0"#),
            by_ada(r#"action="override-reset" object="" count=0"#),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_item_shows_who_re_drove_it() {
    let (app, store) = team().await;
    let re_drive = json!({ "job": "import-1", "item": "3" });
    assert_eq!(post(&app, "/api/re-drive", ADA, &re_drive).await.1["retried"], 1);
    let says = "Re-driven by <strong>ada</strong>";
    let (_, item) = see(&app, "/item?job=import-1&id=3", BOB).await;
    let (before, run) = item.split_once("Run 1").expect("a new run");
    assert!(!before.contains(says) && run.contains(says), "{item}");

    let again = Workflow::new("import").store(store.clone());
    again.resume("import-1", |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
    let (_, item) = see(&app, "/item?job=import-1&id=3", BOB).await;
    let (_, run) = item.split_once("Run 1").expect("the run");
    assert!(run.contains(says) && run.contains("attempt 1") && !run.contains("attempt 0"), "{run}");
    let (_, item) = see(&app, "/api/item?job=import-1&id=3", BOB).await;
    let item: Value = serde_json::from_str(&item).unwrap();
    let outcomes: Vec<_> =
        item["history"].as_array().unwrap().iter().map(|row| &row["outcome"]).collect();
    assert_eq!(outcomes, ["failed", "failed", "redriven", "succeeded"]);
    let (_, item) = see(&app, "/item?job=import-1&id=6", BOB).await;
    assert!(!item.contains("Re-driven"), "{item}");
}

#[tokio::test(start_paused = true)]
async fn the_user_can_come_from_the_surrounding_authentication() {
    let board = Board::new().allow_actions().actor(|request| {
        let name = request.headers.get("x-user")?.to_str().ok()?;
        Some(name.to_owned())
    });
    let store = store().await;
    let app = board.jobs(store.clone());
    let form = |user: &'static str| {
        let app = app.clone();
        async move {
            let headers = [("x-user", user)];
            ask(&app, Method::GET, "/re-drive?job=import-1", &headers, "").await
        }
    };
    assert_eq!(get(&app, "/re-drive?job=import-1").await.status, StatusCode::FORBIDDEN);
    assert!(!get(&app, "/job?id=import-1").await.text.contains("Pause"), "no forms for readers");
    let page = form("eve").await;
    let proof = format!("job=import-1&csrf={}&once={}", page.field("csrf"), page.field("once"));
    let cookie = page.cookie();
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", "http://localhost:7878"),
        ("cookie", cookie.as_str()),
    ];
    let stranger = ask(&app, Method::POST, "/re-drive", &headers, &proof).await;
    assert_eq!(stranger.status, StatusCode::FORBIDDEN, "the form alone is not enough");
    events::collect();
    let signed = [&headers[..], &[("x-user", "eve")]].concat();
    let done = ask(&app, Method::POST, "/re-drive", &signed, &proof).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    let [event] = &events::collect()[..] else { panic!() };
    assert!(event.starts_with("user=\"eve\" "), "{event}");
}

#[tokio::test(start_paused = true)]
async fn without_names_the_events_have_an_unnamed_user() {
    let (app, _) = acting().await;
    let session = get(&app, "/api/jobs/session").await;
    let (cookie, csrf) = (session.cookie(), session.json()["csrf"].as_str().unwrap().to_owned());
    let body = format!("job=import-1&csrf={csrf}");
    events::collect();
    assert_eq!(send(&app, "/re-drive", &cookie, &body).await.status, StatusCode::SEE_OTHER);
    let [event] = &events::collect()[..] else { panic!() };
    assert!(event.starts_with("user=\"somebody\" "), "{event}");
}
