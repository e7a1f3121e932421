//! Every page, for people and for programs.

use std::time::Duration;

use axum::Router;
use axum::http::{Method, StatusCode};
use retry_workflow::store::{
    AttemptOutcome, AttemptRecord, NewItem, Selection, Settled, Settlement,
};
use retry_workflow::{Failure, ItemContext, Job, SqliteStore, Store, Workflow, keyed};

use crate::support::{ask, get, read_only};

const MINUTE: Duration = Duration::from_secs(60);

const PAGES: [&str; 6] = [
    "jobs",
    "job?id=import-1",
    "job?id=release-1",
    "dead-letters",
    "item?job=import-1&id=3",
    "policies",
];

#[tokio::test(start_paused = true)]
async fn each_page_is_html_and_json_with_its_headers() {
    let app = read_only().await;
    for page in PAGES {
        let html = get(&app, &format!("/{page}")).await;
        assert_eq!(html.status, StatusCode::OK, "{page}");
        assert_eq!(html.header("content-type"), "text/html; charset=utf-8", "{page}");
        assert!(
            html.text.starts_with("<!DOCTYPE html>") && html.text.contains("<main id=\"main\"")
        );
        let by_path = get(&app, &format!("/api/{page}")).await;
        let accept = [("accept", "application/json")];
        let by_accept = ask(&app, Method::GET, &format!("/{page}"), &accept, "").await;
        for json in [&by_path, &by_accept] {
            assert_eq!(json.status, StatusCode::OK, "{page}");
            assert_eq!(json.header("content-type"), "application/json", "{page}");
            assert!(json.json().is_object(), "{page}");
        }
        for answer in [html, by_path, by_accept] {
            let policy = answer.header("content-security-policy");
            assert!(
                policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'")
            );
            assert!(!policy.contains("unsafe"), "{policy}");
            for (name, value) in [
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("x-frame-options", "DENY"),
                ("cache-control", "no-store"),
            ] {
                assert_eq!(answer.header(name), value, "{page}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_show_the_contents_of_the_store() {
    let app = read_only().await;
    let jobs = get(&app, "/api/jobs").await.json();
    assert_eq!(jobs["jobs"][0]["id"], "release-1", "the newest first");
    assert_eq!(jobs["jobs"][1]["counts"]["dead"], 2);
    let page = get(&app, "/jobs").await;
    page.says("job?id=import-1").says("100 %").says("data-state=\"finished\"");

    let job = get(&app, "/api/job?id=import-1").await.json();
    assert_eq!(job["groups"][0]["signature"], "order <n> has no <text>");
    assert_eq!(job["groups"][0]["count"], 2);
    assert!(job["groups"][0]["advice"].as_str().unwrap().contains("re-drive"));
    assert!(job.get("groups_of_newest").is_none(), "there are no others");

    let graph = get(&app, "/api/job?id=release-1").await.json();
    let tasks = graph["tasks"]["tasks"].as_array().unwrap();
    let upload = tasks.iter().find(|task| task["name"] == "upload").unwrap();
    assert_eq!((&upload["state"], &upload["culprits"][0]), (&"skipped".into(), &"render".into()));
    get(&app, "/job?id=release-1")
        .await
        .says("class=\"edge broken\"")
        .says("class=\"task skipped\"");

    let item = get(&app, "/api/item?job=import-1&id=3").await.json();
    assert_eq!(item["payload"]["text"], "3");
    assert_eq!(item["history"].as_array().unwrap().len(), 2);
    assert_eq!(item["failure"]["message"]["text"], "order 3 has no \"tax rate\"");
    get(&app, "/item?job=import-1&id=3").await.says("<time datetime=").says("attempt 2");
}

/// A store has no history of its counts: they are compared from one look to the next.
#[tokio::test(start_paused = true)]
async fn a_job_shows_its_rate_and_a_chart_while_it_is_watched() {
    let store = SqliteStore::in_memory();
    let job = Job::create(&store, "import", None).await.unwrap();
    let items = ["a", "b", "c", "d"].map(|id| NewItem::new(id, "1")).into();
    assert_eq!(store.enqueue(&job.id, items, store.now()).await, Ok(4));
    let app = retry_board::jobs(store.clone());
    let page = format!("/job?id={}", job.id);
    let first = get(&app, &page).await;
    first.says("Counted while this page is open.");
    assert!(!first.text.contains("/min"), "nothing to compare with");

    let two = Selection::Items { max: 2, starts: 2 };
    let leases = store.claim(&job.id, "worker", store.now(), two, MINUTE).await.unwrap();
    let ends = [
        (AttemptOutcome::Succeeded, Settled::Succeeded(None)),
        (AttemptOutcome::Failed, Settled::dead(Failure::new("other", "no"))),
    ];
    let ends = leases.iter().zip(ends).map(|(lease, (outcome, end))| {
        let row = AttemptRecord::new("worker", store.now(), outcome);
        Settlement::new(lease.key, end, vec![row])
    });
    store.settle(ends.collect(), Vec::new(), store.now()).await.unwrap();
    tokio::time::advance(MINUTE).await;
    get(&app, &page).await.says("1 succeeded, 1 failed for good, 1 attempt failed").says("2/min");
    tokio::time::advance(MINUTE).await;
    let line = get(&app, "/api/jobs").await.json()["jobs"][0].clone();
    assert_eq!((&line["items_per_minute"], &line["seconds_left"]), (&1.0.into(), &120.into()));
    // Ten minutes later, nothing has ended within the chart and the rate.
    tokio::time::advance(11 * MINUTE).await;
    let line = get(&app, "/api/jobs").await.json()["jobs"][0].clone();
    assert!(line.get("items_per_minute").is_none(), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_postponed_item_shows_the_number_of_postponements() {
    let store = SqliteStore::in_memory();
    let import = Workflow::new("import").store(store.clone()).deadline(3 * MINUTE);
    let waits = |_: u32, cx: ItemContext| async move {
        cx.postpone(MINUTE);
        Err::<(), _>("the export is not there yet")
    };
    import.run(keyed([7_u32], ToString::to_string), waits).await.unwrap();
    let app = retry_board::jobs(store);
    let page = get(&app, "/item?job=import-1&id=7").await;
    page.says("postponed").says(" 3 times after ").says("the last time started").says("waits of ");
    page.says("the export is not there yet");
    let row = &get(&app, "/api/item?job=import-1&id=7").await.json()["history"][0];
    assert_eq!((&row["outcome"], &row["times"]), (&"postponed".into(), &3.into()));
}

#[tokio::test(start_paused = true)]
async fn dead_letters_are_filtered_by_the_address() {
    let app = read_only().await;
    let items = async |query: &str| {
        let letters = get(&app, &format!("/api/dead-letters{query}")).await.json();
        let items = letters["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(items("").await, ["3", "6", "render"]);
    assert_eq!(items("?job=import-1").await, ["3", "6"]);
    assert_eq!(items("?text=order%206").await, ["6"]);
    assert_eq!(items("?text=nothing+says+so").await, [""; 0]);
    assert_eq!(items("?text=item+%3D+6").await, ["6"], "a payload");
    assert_eq!(items("?class=timeout").await, [""; 0]);
    assert_eq!(items("?job=import-1&state=succeeded").await, ["1", "2", "4", "5"]);
    assert_eq!(items("?since=1h+ago&until=").await, ["3", "6", "render"]);
    assert_eq!(items("?until=2001-01-01").await, [""; 0]);
    let counted = async |query: &str| {
        get(&app, &format!("/api/dead-letters{query}")).await.json()["count"].as_u64()
    };
    assert_eq!(counted("?since=1h+ago").await, Some(3));
    assert_eq!(counted("?until=2001-01-01").await, Some(0));
    let skipped = items("?state=skipped").await.len() as u64;
    assert!(skipped > 0);
    assert_eq!(counted("?state=skipped").await, Some(skipped));
    assert_eq!(counted("?state=all").await, Some(3 + skipped));
    let groups = get(&app, "/api/dead-letters").await.json()["groups"].clone();
    let id = groups[0]["id"].as_str().unwrap();
    assert_eq!(items(&format!("?signature={}", &id[..6])).await, ["3", "6"]);
    get(&app, "/dead-letters?job=none").await.says("Nothing matches this filter");
}

#[tokio::test(start_paused = true)]
async fn invalid_parameters_are_refused_with_the_valid_form() {
    let app = read_only().await;
    for (page, says) in [
        ("jobs?after=x", "is not a place in a list"),
        ("dead-letters?since=yesterday", "2h ago"),
        ("dead-letters?state=gone", "write pending, leased"),
        ("dead-letters?signature=beef", "no dead letter has the signature"),
    ] {
        let answer = get(&app, &format!("/{page}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{page}: {}", answer.text);
        answer.says("<!DOCTYPE html>").says(&says.replace('"', "&quot;"));
        let json = get(&app, &format!("/api/{page}")).await.json();
        assert!(json["message"].as_str().unwrap().contains(says), "{json}");
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_pages_jobs_and_items_are_404_and_wrong_methods_405() {
    let app = read_only().await;
    for page in ["nowhere", "nowhere/at/all", "job?id=none", "item?job=import-1&id=none"] {
        let answer = get(&app, &format!("/{page}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{page}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{page}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{page}");
        let json = get(&app, &format!("/api/{page}")).await;
        assert_eq!(
            (json.status, json.json()["status"].as_u64()),
            (StatusCode::NOT_FOUND, Some(404))
        );
    }
    // A page finds its assets from any address.
    get(&app, "/nowhere/at/all").await.says("href=\"../../policies.");
    for (method, page) in [(Method::POST, "jobs"), (Method::DELETE, "item"), (Method::GET, "pause")]
    {
        let answer = ask(&app, method, &format!("/{page}"), &[], "").await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{page}");
        assert!(!answer.header("allow").is_empty() && answer.text.contains("Wrong method"));
    }
}

#[tokio::test(start_paused = true)]
async fn assets_have_hashed_names_and_are_cached_permanently() {
    let app = read_only().await;
    let page = get(&app, "/jobs").await;
    for (before, kind) in
        [("stylesheet\" href=\"", "text/css"), ("script src=\"", "text/javascript")]
    {
        let path = page.between(before, "\"");
        let file = get(&app, &format!("/{path}")).await;
        assert!(file.header("content-type").starts_with(kind), "{path}");
        assert!(file.header("cache-control").contains("immutable"), "{path}");
    }
    assert!(!page.text.contains("style=") && !page.text.contains("http://"), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn it_works_wherever_it_is_mounted() {
    for nested in [
        Router::new().nest("/a/b", read_only().await),
        Router::new().nest_service("/a/b", read_only().await),
    ] {
        works_at_a_b(&nested).await;
    }
    // `nest` itself does not pass an address with a trailing slash to the routes below it.
    let app = Router::new().nest_service("/a/b", read_only().await);
    let home = get(&app, "/a/b/").await;
    assert_eq!((home.status, home.header("location")), (StatusCode::SEE_OTHER, "jobs"));
    get(&app, "/a/b/nowhere").await.says("There is no such page");
    assert_eq!(get(&read_only().await, "/").await.header("location"), "jobs");
}

async fn works_at_a_b(app: &Router) {
    let home = get(app, "/a/b").await;
    assert_eq!((home.status, home.header("location")), (StatusCode::SEE_OTHER, "/a/b/jobs"));
    let page = get(app, "/a/b/jobs").await;
    let style = page.between("stylesheet\" href=\"", "\"").to_owned();
    assert_eq!(get(app, &format!("/a/b/{style}")).await.status, StatusCode::OK);
    assert_eq!(get(app, "/a/b/api/jobs").await.header("content-type"), "application/json");
}

#[tokio::test(start_paused = true)]
async fn the_api_is_described_as_it_is() {
    let app = crate::support::acting().await.0;
    let described = get(&app, "/api/openapi.json").await.json();
    assert_eq!(described["openapi"], "3.1.0");
    let paths = described["paths"].as_object().unwrap();
    assert!(paths.len() >= 14, "{paths:?}");
    for (path, operations) in paths {
        for method in operations.as_object().unwrap().keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let answer = ask(&app, method.clone(), path, &[], "").await;
            assert_ne!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert!(!answer.text.contains("There is no such page"), "{method} {path}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_jobs_goes_on_page_by_page() {
    let store = retry_workflow::SqliteStore::in_memory();
    for _ in 0..120 {
        retry_workflow::Job::create(&store, "import", None).await.unwrap();
    }
    let app = retry_board::jobs(store);
    let (mut after, mut seen) = (String::new(), Vec::new());
    loop {
        let page = get(&app, &format!("/api/jobs?after={after}")).await.json();
        seen.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["id"].to_string()));
        match page["next"].as_i64() {
            Some(next) => after = next.to_string(),
            None => break,
        }
    }
    assert_eq!(
        (seen.len(), seen[0].as_str(), seen[119].as_str()),
        (120, "\"import-120\"", "\"import-1\"")
    );
    get(&app, "/jobs").await.says("id=\"older\"");
}

#[tokio::test(start_paused = true)]
async fn empty_pages_name_the_next_step() {
    let board = retry_board::Board::new();
    let app = board.jobs(retry_workflow::SqliteStore::in_memory());
    get(&app, "/jobs").await.says("retry-workflow run FILE");
    get(&app, "/dead-letters").await.says("No dead letters.");
    assert!(!get(&app, "/jobs").await.text.contains("Policies"), "they are not mounted");
}
