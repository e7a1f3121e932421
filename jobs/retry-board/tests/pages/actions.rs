//! Actions: whether they are allowed, for whom, from where, and how many times.

use std::time::Duration;

use axum::Router;
use axum::http::{Method, StatusCode};
use retry_tests_support::events;
use retry_workflow::store::{NewItem, Selection, Settled, Settlement};
use retry_workflow::{Failure, ItemState, Job, JobStatus, SqliteStore, Store};

use crate::support::{Answer, acting, ask, dead, get, read_only, send};

const ACTIONS: [(&str, &str); 7] = [
    ("re-drive", "job=import-1"),
    ("purge", "job=import-1&confirm=purge+2"),
    ("pause", "job=import-1"),
    ("due", "job=import-1"),
    ("cancel", "job=import-1"),
    ("cancel-items", "job=import-1&item=1"),
    ("override", "name=x&key=attempts&value=2"),
];

/// The form of a page, as a browser gets it.
async fn form(app: &Router, page: &str) -> (Answer, String, String) {
    let answer = get(app, page).await;
    let cookie = answer.cookie();
    let proof = format!("csrf={}&once={}", answer.field("csrf"), answer.field("once"));
    (answer, cookie, proof)
}

#[tokio::test(start_paused = true)]
async fn nothing_changes_on_a_read_only_board() {
    let app = read_only().await;
    for (action, body) in ACTIONS {
        for path in [format!("/{action}"), format!("/api/{action}")] {
            let answer = send(&app, &path, "", body).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
            answer.says("--allow-actions");
        }
    }
    assert_eq!(get(&app, "/re-drive?job=import-1").await.status, StatusCode::FORBIDDEN);
    assert_eq!(get(&app, "/api/jobs").await.json()["jobs"][1]["counts"]["dead"], 2);
}

#[tokio::test(start_paused = true)]
async fn an_action_needs_its_forms_token_the_boards_origin_and_host() {
    let (app, store) = acting().await;
    let (_, cookie, proof) = form(&app, "/re-drive?job=import-1").await;
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let (own, cookie) = (("origin", "http://localhost:7878"), ("cookie", cookie.as_str()));
    let other = get(&app, "/jobs").await.cookie();
    for (action, body) in ACTIONS {
        let signed = format!("{body}&{proof}");
        for path in [format!("/{action}"), format!("/api/{action}")] {
            for (headers, body, why) in [
                (vec![kind, own, cookie], body, "no token"),
                (vec![kind, own], signed.as_str(), "no session"),
                (vec![kind, own, ("cookie", other.as_str())], &signed, "the session of another"),
                (vec![kind, own, cookie, ("x-csrf-token", "00")], body, "a made-up token"),
                (vec![kind, cookie, ("origin", "http://evil.test")], &signed, "a foreign origin"),
                (vec![kind, cookie, ("origin", "null")], &signed, "a hidden origin"),
                (vec![kind, cookie, ("sec-fetch-site", "cross-site")], &signed, "another site"),
                (vec![kind, cookie, ("host", "evil.test"), own], &signed, "a foreign host"),
            ] {
                let answer = ask(&app, Method::POST, &path, &headers, body).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}: {why}: {}", answer.text);
            }
        }
        for method in [Method::PUT, Method::DELETE, Method::PATCH] {
            let answer = ask(&app, method, &format!("/{action}"), &[own, cookie], &signed).await;
            assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{action}");
        }
    }
    assert_eq!(dead(&store).await, 2, "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn dead_letters_are_counted_and_then_taken_back_once() {
    let (app, store) = acting().await;
    let (page, cookie, proof) = form(&app, "/re-drive?job=import-1").await;
    page.says("2 dead letters").says("will be re-driven");
    assert_eq!(dead(&store).await, 2, "a look changes nothing");
    let body = format!("job=import-1&rate=&max=1&{proof}");
    for _ in 0..2 {
        let done = send(&app, "/re-drive", &cookie, &body).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
        let to = done.header("location");
        assert!(to.starts_with("job?id=import-1&done="), "{to}");
        let page = ask(&app, Method::GET, &format!("/{to}"), &[("cookie", &cookie)], "").await;
        page.says("1 dead letter re-driven");
    }
    assert_eq!(dead(&store).await, 1, "what is sent twice is done once");
    let (_, cookie, proof) = form(&app, "/re-drive?job=import-1").await;
    let bad = send(&app, "/re-drive", &cookie, &format!("job=import-1&rate=fast&{proof}")).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    bad.says("30/m");
    // A request that failed can be corrected and sent again.
    let done = send(&app, "/re-drive", &cookie, &format!("job=import-1&rate=10/s&{proof}")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER);
    assert_eq!(dead(&store).await, 0);
}

#[tokio::test(start_paused = true)]
async fn letters_are_taken_back_from_the_failed_step_only_if_that_is_chosen() {
    let (app, store) = acting().await;
    let job = Job::create(&store, "night", None).await.unwrap();
    let items = ["a", "b"].map(|id| NewItem::new(id, "{}")).to_vec();
    store.enqueue(&job.id, items, store.now()).await.unwrap();
    let (two, lease) = (Selection::Items { max: 2, starts: 2 }, Duration::from_secs(60));
    for lease in store.claim(&job.id, "worker", store.now(), two, lease).await.unwrap() {
        let (failure, checkpoint) = (Failure::new("other", "no"), Some("\"half\"".to_owned()));
        let end = Settled::Dead { failure, checkpoint };
        let dead = Settlement::new(lease.key, end, Vec::new());
        store.settle(vec![dead], Vec::new(), store.now()).await.unwrap();
    }
    for (item, field, kept) in [("a", "", None), ("b", "&from_failed=true", Some("\"half\""))] {
        let (page, cookie, proof) = form(&app, &format!("/re-drive?job=night-1&item={item}")).await;
        page.says("name=\"from_failed\"");
        let body = format!("job=night-1&item={item}{field}&{proof}");
        let done = send(&app, "/re-drive", &cookie, &body).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
        let item = store.item("night-1", item).await.unwrap().unwrap();
        assert_eq!((item.state, item.checkpoint.as_deref()), (ItemState::Pending, kept));
    }
    let (cookie, csrf) = session(&app).await;
    let own = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    let body = r#"{"job":"night-1","from_failed":true}"#;
    call(&app, "/api/due", &own, body).await.says("no field but job");
    get(&app, "/api/openapi.json").await.says("from_failed");
}

#[tokio::test(start_paused = true)]
async fn a_purge_is_confirmed_with_the_number_of_lost_letters() {
    let (app, store) = acting().await;
    let (page, cookie, proof) = form(&app, "/purge?job=import-1").await;
    page.says("purge 2").says("purged for good");
    for confirm in ["", "yes", "purge", "purge 3"] {
        let body = format!("job=import-1&confirm={}&{proof}", confirm.replace(' ', "+"));
        let answer = send(&app, "/purge", &cookie, &body).await;
        assert_eq!(answer.status, StatusCode::CONFLICT, "{confirm}");
        answer.says("Nothing was purged");
    }
    assert_eq!(dead(&store).await, 2);
    let body = format!("job=import-1&confirm=purge+2&{proof}");
    let done = send(&app, "/purge", &cookie, &body).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    let item = store.item("import-1", "3").await.unwrap().unwrap();
    assert_eq!((item.state, item.payload.as_str()), (ItemState::Skipped, ""));
    get(&app, "/item?job=import-1&id=3").await.says("(purged)");
}

#[tokio::test(start_paused = true)]
async fn a_whole_store_is_selected_only_explicitly() {
    let (app, store) = acting().await;
    let (_, cookie, proof) = form(&app, "/re-drive").await;
    let answer = send(&app, "/re-drive", &cookie, &proof).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    answer.says("all=true");
    let done = send(&app, "/re-drive", &cookie, &format!("all=true&{proof}")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER);
    assert_eq!(dead(&store).await, 0);
}

/// The session of an API client: a cookie and its form token.
async fn session(app: &Router) -> (String, String) {
    let answer = get(app, "/api/jobs/session").await;
    (answer.cookie(), answer.json()["csrf"].as_str().unwrap().to_owned())
}

async fn call(app: &Router, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers: Vec<_> =
        headers.iter().copied().chain([("content-type", "application/json")]).collect();
    ask(app, Method::POST, path, &headers, body).await
}

#[tokio::test(start_paused = true)]
async fn the_api_does_the_same_with_the_same_checks() {
    let (app, store) = acting().await;
    let (cookie, csrf) = session(&app).await;
    let own = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    let none = call(&app, "/api/re-drive", &own[..1], r#"{"job":"import-1"}"#).await;
    assert_eq!((none.status, &none.json()["status"]), (StatusCode::FORBIDDEN, &403.into()));

    let dry =
        call(&app, "/api/re-drive", &own, r#"{"job":"import-1","dry_run":true,"rate":"1/s"}"#)
            .await;
    assert_eq!(dry.json(), serde_json::json!({ "dry_run": true, "retried": 2 }));
    let key = [own[0], own[1], ("idempotency-key", "a")];
    for _ in 0..2 {
        let done = call(&app, "/api/re-drive", &key, r#"{"job":"import-1","max":1}"#).await;
        assert_eq!(done.json(), serde_json::json!({ "dry_run": false, "retried": 1 }));
    }
    assert_eq!(dead(&store).await, 1);
    let purge = r#"{"job":"import-1","confirm":"purge 1"}"#;
    assert_eq!(call(&app, "/api/purge", &own, purge).await.json()["purged"], 1);
    let bad = call(&app, "/api/re-drive", &own, "{").await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn an_idempotency_key_is_bound_to_its_request() {
    let (app, store) = acting().await;
    let (cookie, csrf) = session(&app).await;
    let with_key = |key| {
        [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str()), ("idempotency-key", key)]
    };
    let first = r#"{"job":"import-1","item":"3"}"#;
    // A dry run is another request, too.
    let dry = r#"{"job":"import-1","item":"3","dry_run":true}"#;
    assert_eq!(call(&app, "/api/re-drive", &with_key("a"), first).await.json()["retried"], 1);
    for (path, body) in [
        ("/api/re-drive", r#"{"job":"import-1","item":"6"}"#),
        ("/api/re-drive", dry),
        ("/api/purge", first),
        ("/api/purge", r#"{"job":"import-1","item":"6","confirm":"purge 1"}"#),
        ("/api/cancel", r#"{"job":"import-1"}"#),
    ] {
        let other = call(&app, path, &with_key("a"), body).await;
        assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY, "{path} {body}");
        other.says("idempotency-key").says("new key");
    }
    assert_eq!(dead(&store).await, 1);
    // The order of the fields, and the form in which they come, make no other request.
    let same =
        call(&app, "/api/re-drive", &with_key("a"), r#"{"item":"3","job":"import-1"}"#).await;
    assert_eq!(same.json()["retried"], 1);
    // A failed request uses up no key: it is corrected and sent again.
    let purge = |n| format!(r#"{{"job":"import-1","confirm":"purge {n}"}}"#);
    let wrong = call(&app, "/api/purge", &with_key("b"), &purge(9)).await;
    assert_eq!(wrong.status, StatusCode::CONFLICT);
    assert_eq!(call(&app, "/api/purge", &with_key("b"), &purge(1)).await.json()["purged"], 1);
}

#[tokio::test(start_paused = true)]
async fn an_action_on_a_job_refuses_fields_that_have_no_effect() {
    let (app, store) = acting().await;
    let (cookie, csrf) = session(&app).await;
    let own = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    for field in [r#""dry_run":true"#, r#""item":"3""#, r#""all":true"#, r#""other":1"#] {
        for path in ["/api/cancel", "/api/pause", "/api/due"] {
            let body = format!(r#"{{"job":"import-1",{field}}}"#);
            let refused = call(&app, path, &own, &body).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path} {body}");
            refused.says("no field but job");
        }
    }
    assert_eq!(dead(&store).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_is_misspelt_does_not_select_everything() {
    let (app, store) = acting().await;
    let (cookie, csrf) = session(&app).await;
    let own = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    for body in [r#"{"job":"import-1","itme":"a"}"#, r#"{"job":"import-1","all":true,"rates":9}"#] {
        for path in ["/api/re-drive", "/api/purge"] {
            let refused = call(&app, path, &own, body).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST);
            let said = refused.json()["message"].as_str().unwrap_or_default().to_owned();
            assert!(said.starts_with("There is no field \"") && said.contains("item"), "{said}");
        }
    }
    assert_eq!(dead(&store).await, 2);
}

#[tokio::test(start_paused = true)]
async fn with_the_token_itself_a_program_needs_no_form() {
    let token = "correct horse battery";
    let board =
        retry_board::Board::new().token(retry_board::Token::new(token).unwrap()).allow_actions();
    let store = crate::support::store().await;
    let app = board.jobs(store.clone());
    let header = format!("Bearer {token}");
    let headers = [("authorization", header.as_str())];
    let done = call(&app, "/api/re-drive", &headers, r#"{"job":"import-1"}"#).await;
    assert_eq!(done.json()["retried"], 2);
    assert_eq!(dead(&store).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_is_paused_and_cancelled() {
    let (app, store) = acting().await;
    let (_, cookie, proof) = form(&app, "/re-drive?job=import-1").await;
    let ended = send(&app, "/pause", &cookie, &format!("job=import-1&{proof}")).await;
    assert_eq!(ended.status, StatusCode::CONFLICT);
    ended.says("import-1 has ended");

    let job = Job::create(&store, "night", None).await.unwrap();
    let items = (0..3).map(|n| NewItem::new(n.to_string(), "{}")).collect();
    store.enqueue(&job.id, items, store.now()).await.unwrap();
    let (_, cookie, proof) = form(&app, "/cancel?job=night-1").await;
    let paused = send(&app, "/pause", &cookie, &format!("job=night-1&{proof}")).await;
    assert_eq!(paused.status, StatusCode::SEE_OTHER);
    let (page, cookie, proof) = form(&app, "/cancel?job=night-1").await;
    page.says("3 items");
    let done = send(&app, "/cancel", &cookie, &format!("job=night-1&{proof}")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    assert_eq!(store.counts("night-1").await.unwrap().skipped, 3);
    assert_eq!(Job::get(&store, "night-1").await.unwrap().status, JobStatus::Finished);
    let none = send(&app, "/cancel", &cookie, &format!("job=none&{proof}x")).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn items_that_have_not_ended_are_cancelled() {
    let (app, store) = acting().await;
    let job = Job::create(&store, "night", None).await.unwrap();
    let items = ["a", "b", "c", "d"].map(|id| NewItem::new(id, "{}")).to_vec();
    store.enqueue(&job.id, items, store.now()).await.unwrap();
    let (one, lease) = (Selection::Items { max: 1, starts: 1 }, Duration::from_secs(60));
    let held = store.claim("night-1", "worker", store.now(), one, lease).await.unwrap();

    let button = "href=\"cancel-items?job=night-1&amp;item=a&amp;state=leased\"";
    get(&app, "/item?job=night-1&id=a").await.says(button).says("Cancel…");
    let (page, cookie, proof) = form(&app, "/cancel-items?job=night-1&item=a&state=leased").await;
    page.says("1 item").says("Cancel 1 item");
    let done = send(&app, "/cancel-items", &cookie, &format!("job=night-1&item=a&{proof}")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    let page = get(&app, &format!("/{}", done.header("location"))).await;
    page.says("1 item cancelled").says("cancelled").says("id=\"re-drive\"");
    let extended = store.extend(vec![held[0].key], Vec::new(), store.now() + lease).await;
    assert_eq!(extended, Ok(vec![false]));

    // Several rows of a list, which has no other actions.
    let list = get(&app, "/dead-letters?job=night-1&state=pending").await;
    list.says("value=\"b\"").says("id=\"cancel-items-picked\"");
    assert!(!list.text.contains("re-drive-picked"));
    let page = get(&app, "/cancel-items?job=night-1&state=pending&picked=1&pick=b&pick=c").await;
    page.says("2 items");

    let session = get(&app, "/api/jobs/session").await;
    let (cookie, csrf) = (session.cookie(), session.json()["csrf"].as_str().unwrap().to_owned());
    let headers = [
        ("content-type", "application/json"),
        ("cookie", cookie.as_str()),
        ("x-csrf-token", csrf.as_str()),
    ];
    let post = async |body| ask(&app, Method::POST, "/api/cancel-items", &headers, body).await;
    for body in [
        r#"{"job":"night-1"}"#,
        r#"{"item":"b"}"#,
        r#"{"job":"night-1","item":"b","dry_run":true}"#,
        r#"{"job":"night-1","item":"b","class":"other"}"#,
    ] {
        let refused = post(body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{body}");
        refused.says("An action on items takes the fields job and item, or items");
    }
    let done = post(r#"{"job":"night-1","items":["b","c","a","none"]}"#).await;
    assert_eq!(done.json()["cancelled"], 2, "{}", done.text);
    assert_eq!(store.counts("night-1").await.unwrap().pending, 1);
}

#[tokio::test(start_paused = true)]
async fn the_waits_of_items_end_at_a_press() {
    let (app, store) = acting().await;
    let (_, cookie, proof) = form(&app, "/re-drive?job=import-1").await;
    let ended = send(&app, "/due", &cookie, &format!("job=import-1&{proof}")).await;
    assert_eq!(ended.status, StatusCode::CONFLICT);
    let button = "id=\"due\"";
    assert!(!get(&app, "/job?id=import-1").await.text.contains(button));

    let job = Job::create(&store, "night", None).await.unwrap();
    let in_an_hour = store.now() + std::time::Duration::from_secs(3_600);
    let items = (0..3).map(|n| NewItem::new(n.to_string(), "{}")).collect();
    store.enqueue(&job.id, items, in_an_hour).await.unwrap();
    let (page, cookie, proof) = form(&app, "/job?id=night-1").await;
    events::collect();
    page.says(button).says("Run waiting items now");
    let done = send(&app, "/due", &cookie, &format!("job=night-1&{proof}")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    let page = get(&app, &format!("/{}", done.header("location"))).await;
    page.says("3 waiting items are due now. No process is working on the job; to resume: ");
    assert!(!page.text.contains(button));
    assert_eq!(store.overview("night-1", 0).await.unwrap().next_due, Some(store.now()));
    assert_eq!(
        events::collect(),
        [r#"user="somebody" action="make due" object="job night-1" count=3"#]
    );
}

#[tokio::test(start_paused = true)]
async fn a_running_job_is_cancelled_once_its_attempts_have_ended() {
    let store = SqliteStore::in_memory();
    let app = retry_board::Board::new().allow_actions().jobs(store.clone());
    let run = tokio::spawn({
        let workflow = retry_workflow::Workflow::new("night").max_parallel(1).store(store.clone());
        workflow.run(0..1_000_u32, |_, _| async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            Ok::<_, String>(())
        })
    });
    while store.counts("night-1").await.unwrap().succeeded == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    get(&app, "/job?id=night-1").await.says("id=\"pause\"");
    let (_, cookie, proof) = form(&app, "/cancel?job=night-1").await;
    let done = send(&app, "/cancel", &cookie, &format!("job=night-1&{proof}")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER);
    run.await.unwrap().unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let counts = store.counts("night-1").await.unwrap();
    assert!(counts.skipped > 900 && counts.unfinished() == 0, "{counts:?}");
}

/// The cancellation goes on when the request has ended.
#[tokio::test(start_paused = true)]
async fn a_cancellation_does_not_wait_for_leases_of_other_machines() {
    let (app, store) = acting().await;
    let job = Job::create(&store, "night", None).await.unwrap();
    let items = (0..9).map(|n| NewItem::new(n.to_string(), "{}")).collect();
    store.enqueue(&job.id, items, store.now()).await.unwrap();
    let (two, hour) = (Selection::Items { max: 2, starts: 2 }, Duration::from_secs(3_000));
    let held = store.claim("night-1", "elsewhere", store.now(), two, hour).await.unwrap();
    assert_eq!(held.len(), 2);
    let begun = tokio::time::Instant::now();
    let (cookie, csrf) = session(&app).await;
    let own = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    let done = call(&app, "/api/cancel", &own, r#"{"job":"night-1"}"#).await.json();
    assert_eq!((&done["requested"], &done["left"]), (&true.into(), &2.into()), "{done}");
    assert!(begun.elapsed() <= Duration::from_secs(1));
    assert_eq!(store.counts("night-1").await.unwrap().skipped, 7);
    while store.counts("night-1").await.unwrap().unfinished() > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(begun.elapsed() >= hour);
    assert_eq!(store.counts("night-1").await.unwrap().skipped, 9);
}

/// The request has ended by then.
#[tokio::test(start_paused = true)]
async fn a_cancellation_that_fails_after_its_response_is_an_event() {
    for (is_deleted, error) in [(true, "was deleted or replaced"), (false, "have not stopped")] {
        let folder = tempfile::tempdir().unwrap();
        let store = if is_deleted {
            SqliteStore::open(folder.path().join("jobs.db")).unwrap()
        } else {
            SqliteStore::in_memory()
        };
        let app = retry_board::Board::new().allow_actions().jobs(store.clone());
        let job = Job::create(&store, "night", None).await.unwrap();
        store.enqueue(&job.id, vec![NewItem::new("a", "{}")], store.now()).await.unwrap();
        let (one, long) = (Selection::Items { max: 1, starts: 1 }, Duration::from_secs(9_000));
        store.claim("night-1", "elsewhere", store.now(), one, long).await.unwrap();
        let (cookie, csrf) = session(&app).await;
        let own = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
        events::collect();
        let done = call(&app, "/api/cancel", &own, r#"{"job":"night-1"}"#).await.json();
        assert_eq!(done["requested"], true, "{done}");
        if is_deleted {
            std::fs::remove_file(folder.path().join("jobs.db")).unwrap();
        }
        let event = loop {
            match &events::collect()[..] {
                [] => tokio::time::sleep(Duration::from_millis(100)).await,
                [event] => break event.clone(),
                several => panic!("{several:?}"),
            }
        };
        assert!(event.contains("action=\"cancel\" object=\"job night-1\""), "{event}");
        assert!(event.contains(error), "{event}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_export_can_be_imported() {
    let app = read_only().await;
    let exported = get(&app, "/export?job=import-1").await;
    assert_eq!(exported.header("content-type"), "application/x-ndjson");
    let there = retry_workflow::DeadLetters::new(SqliteStore::in_memory());
    let imported = there.import(exported.text.as_bytes(), None).await.unwrap();
    assert_eq!(imported.new, 2);
    let item = there.show("import-1", "3").await.unwrap().unwrap();
    assert_eq!(item.history.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn rows_are_selected_and_acted_on_at_once() {
    let (app, store) = acting().await;
    let page = get(&app, "/dead-letters?job=import-1").await;
    page.says("name=\"pick\" value=\"3\"").says("name=\"pick\" value=\"6\"");
    assert!(!get(&app, "/dead-letters").await.text.contains("pick"), "ids are those of a job");
    // An action without a selection changes nothing.
    get(&app, "/re-drive?job=import-1&picked=1").await.says("0 dead letters");
    get(&app, "/purge?job=import-1&picked=1&pick=3&pick=6").await.says("2 dead letters");

    let (answer, cookie, proof) = form(&app, "/re-drive?job=import-1&picked=1&pick=6").await;
    answer.says("1 dead letter");
    let items = answer.field("items").replace("&quot;", "%22");
    assert_eq!(items, "[%226%22]");
    let sent =
        send(&app, "/re-drive", &cookie, &format!("job=import-1&items={items}&{proof}")).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    assert_eq!(dead(&store).await, 1);
    let item = store.item("import-1", "6").await.unwrap().unwrap();
    assert_eq!(item.state, ItemState::Pending);

    // Programs send a list.
    let session = get(&app, "/api/jobs/session").await;
    let (cookie, csrf) = (session.cookie(), session.json()["csrf"].as_str().unwrap().to_owned());
    let headers = [
        ("content-type", "application/json"),
        ("cookie", cookie.as_str()),
        ("x-csrf-token", csrf.as_str()),
    ];
    let body = r#"{"job":"import-1","items":["3","none"]}"#;
    let done = ask(&app, Method::POST, "/api/re-drive", &headers, body).await;
    assert_eq!(done.json()["retried"], 1, "{}", done.text);
    for (body, says) in [
        (r#"{"items":["3"]}"#, "name the job, too"),
        (r#"{"job":"import-1","items":"3"}"#, "write one such as"),
    ] {
        let refused = ask(&app, Method::POST, "/api/re-drive", &headers, body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
        refused.says(says);
    }
}
