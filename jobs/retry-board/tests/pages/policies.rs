//! The policies of this process, and the form that changes them.

use std::sync::Mutex;
use std::time::Duration;

use axum::Router;
use axum::http::{Method, StatusCode};
use retry_board::Board;
use retry_runtime::{
    Attempts, BreakerConfig, Breakers, CircuitBreaker, Overrides, QuotaConfig, RetryQuota, retry,
    sites,
};
use tokio::sync::MutexGuard;

use crate::support::{get, send};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(2));
static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 10);
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
static CALLS: Mutex<u32> = Mutex::new(0);
/// Policies are global to the process: one test at a time.
pub(crate) static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[retry(attempts = 5, initial_delay = "1s", jitter, name = "shop.charge")]
async fn charge() -> Result<u32, String> {
    *CALLS.lock().unwrap() += 1;
    Err("the bank is closed".to_owned())
}

async fn app() -> (Router, MutexGuard<'static, ()>) {
    let alone = ALONE.lock().await;
    Overrides::clear();
    *CALLS.lock().unwrap() = 0;
    let board = Board::new().allow_actions().breaker(&DB).breakers(&HOSTS).quota(&OUTBOUND);
    (board.policies(), alone)
}

async fn change(app: &Router, form: &str) -> crate::support::Answer {
    let page = get(app, &format!("/override?{form}")).await;
    if page.status != StatusCode::OK {
        return page;
    }
    let (cookie, csrf, once) = (page.cookie(), page.field("csrf"), page.field("once"));
    send(app, "/override", &cookie, &format!("{form}&csrf={csrf}&once={once}")).await
}

#[tokio::test(start_paused = true)]
async fn functions_breakers_and_quotas_are_shown_as_they_are() {
    let (app, _alone) = app().await;
    assert!(charge().await.is_err());
    DB.force_open();
    HOSTS.of("a.example").force_open();
    let policies = get(&app, "/api/policies").await.json();
    let charge = policies["sites"].as_array().unwrap();
    let charge = charge.iter().find(|site| site["name"] == "shop.charge").unwrap();
    assert_eq!(charge["gave_up"]["attempts"].as_u64().map(|times| times > 0), Some(true));
    assert!(charge["attempts"].as_u64().unwrap() >= 5);
    let breakers = policies["breakers"].to_string();
    assert!(breakers.contains("\"db\"") && breakers.contains("hosts[a.example]"), "{breakers}");
    assert_eq!(policies["quotas"][0]["available"], policies["quotas"][0]["limit"]);
    assert!(policies["history"].to_string().contains("circuit breaker `db`"), "{policies}");
    DB.reset();
    let page = get(&app, "/policies").await;
    page.says("shop.charge").says("class=\"waits\"").says("data-breaker=\"db\"").says("outbound");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_holds_calls_is_shown_with_the_rest_of_the_hold() {
    static API: CircuitBreaker =
        CircuitBreaker::new("api", BreakerConfig::new().hold(Duration::from_mins(2)));
    let _alone = ALONE.lock().await;
    let app = Board::new().breaker(&API).policies();
    API.hold(Duration::from_secs(89));
    let policies = get(&app, "/api/policies").await.json();
    let breakers = policies["breakers"].as_array().unwrap();
    let api = breakers.iter().find(|breaker| breaker["name"] == "api").unwrap();
    assert_eq!((&api["state"], &api["held_for"]), (&"closed".into(), &90.into()));
    let history = policies["history"].to_string();
    assert!(history.contains("circuit breaker `api`: holds all calls for 89s"), "{history}");
    get(&app, "/policies").await.says("held for 1m 30s");
}

#[tokio::test(start_paused = true)]
async fn a_change_is_seen_in_sites_and_obeyed_by_the_next_failure() {
    let (app, _alone) = app().await;
    let done = change(&app, "name=shop.charge&key=attempts&value=2").await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    let site = sites().into_iter().find(|site| site.name() == "shop.charge").unwrap();
    assert_eq!(site.policy().unwrap().get_attempts(), Attempts::Limited(2));
    assert!(charge().await.is_err());
    assert_eq!(*CALLS.lock().unwrap(), 2);
    let page = get(&app, "/policies").await;
    page.says("data-state=\"overridden\"").says("in the source: 5 attempts").says("Remove");
    let (cookie, csrf) = (page.cookie(), page.field("csrf"));
    let form = format!("name=shop.charge&csrf={csrf}");
    assert_eq!(send(&app, "/override-reset", &cookie, &form).await.status, StatusCode::SEE_OTHER);
    assert!(!site.is_overridden());
}

#[tokio::test(start_paused = true)]
async fn a_change_is_confirmed_by_the_name_of_its_function() {
    let (app, _alone) = app().await;
    let asked = get(&app, "/override?name=shop.charge&key=attempts&value=2").await;
    assert_eq!(asked.status, StatusCode::OK, "{}", asked.text);
    asked.says("Override shop.charge").says("value=\"shop.charge\"").says("csrf");
    let site = sites().into_iter().find(|site| site.name() == "shop.charge").unwrap();
    assert!(!site.is_overridden(), "a look changes nothing");
    let asked = get(&app, "/override?name=*&key=attempts&value=2").await;
    asked.says("all functions");
    let refused = get(&app, "/override?name=shop.charge&key=attempts&value=0").await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    refused.says("override-error");
    assert_eq!(
        get(&app, "/api/override?name=x&key=attempts&value=2").await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test(start_paused = true)]
async fn an_invalid_value_is_reported_at_its_field_and_changes_nothing() {
    let (app, _alone) = app().await;
    let refused = change(&app, "name=shop.charge&key=attempts&value=0").await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let rule = Overrides::from_pairs([("shop.charge", "attempts", "0")]).unwrap_err().to_string();
    let said = refused.between("id=\"override-error\" role=\"alert\">", "</p>").to_owned();
    for line in rule.lines() {
        let escaped = line.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(said.contains(&escaped), "{said}: {rule}");
    }
    refused.says("value=\"0\"").says("aria-invalid=\"true\"");
    for form in ["name=shop.chrage&key=attempts&value=2", "name=shop.charge&key=timeout&value=2s"] {
        assert_eq!(change(&app, form).await.status, StatusCode::UNPROCESSABLE_ENTITY, "{form}");
    }
    let site = sites().into_iter().find(|site| site.name() == "shop.charge").unwrap();
    assert!(!site.is_overridden());
    let json = crate::support::ask(
        &app,
        Method::POST,
        "/api/override",
        &[("content-type", "application/json")],
        r#"{"name":"shop.charge","key":"attempts","value":0}"#,
    );
    assert_eq!(json.await.status, StatusCode::FORBIDDEN, "it has no token");
}

#[tokio::test(start_paused = true)]
async fn overrides_of_the_program_stay_in_effect_below_those_of_the_board() {
    let (app, _alone) = app().await;
    Overrides::from_pairs([("shop.charge", "initial_delay", "2s")]).unwrap().apply();
    assert_eq!(
        change(&app, "name=shop.charge&key=attempts&value=3").await.status,
        StatusCode::SEE_OTHER
    );
    let site = sites().into_iter().find(|site| site.name() == "shop.charge").unwrap();
    let policy = site.policy().unwrap();
    assert_eq!(policy.get_attempts(), Attempts::Limited(3));
    assert_eq!(policy.wait(1), Duration::from_secs(2));
    // The program reads its file again, and the board's change is applied on top.
    Overrides::from_pairs([("shop.charge", "initial_delay", "4s")]).unwrap().apply();
    assert_eq!(
        change(&app, "name=shop.charge&key=max_delay&value=1h").await.status,
        StatusCode::SEE_OTHER
    );
    let policy = site.policy().unwrap();
    assert_eq!(
        (policy.get_attempts(), policy.wait(1)),
        (Attempts::Limited(3), Duration::from_secs(4))
    );
    let page = get(&app, "/policies").await;
    let form = format!("csrf={}", page.field("csrf"));
    send(&app, "/override-reset", &page.cookie(), &form).await;
    let policy = site.policy().unwrap();
    assert_eq!(
        (policy.get_attempts(), policy.wait(1)),
        (Attempts::Limited(5), Duration::from_secs(4))
    );
    Overrides::clear();
}

#[tokio::test]
async fn the_address_of_the_policies_alone_leads_to_their_page() {
    let alone = Board::new().policies();
    let home = get(&alone, "/").await;
    assert_eq!((home.status, home.header("location")), (StatusCode::SEE_OTHER, "policies"));
    let app = Router::new().nest_service("/board", alone);
    for (path, to) in [("/board", "/board/policies"), ("/board/", "policies")] {
        let home = get(&app, path).await;
        assert_eq!((home.status, home.header("location")), (StatusCode::SEE_OTHER, to), "{path}");
    }
    let sent = send(&app, "/board/", "", "").await;
    assert_eq!(sent.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(sent.header("allow"), "GET,HEAD");
}

#[tokio::test]
async fn beside_jobs_the_address_leads_to_the_jobs_in_either_order() {
    let board = Board::new();
    let store = retry_workflow::SqliteStore::in_memory;
    for app in
        [board.jobs(store()).merge(board.policies()), board.policies().merge(board.jobs(store()))]
    {
        assert_eq!(get(&app, "/").await.header("location"), "jobs");
    }
}

#[tokio::test]
async fn a_breaker_of_a_family_is_shown_with_its_numbers_although_the_board_was_not_given_it() {
    static UNKNOWN: Breakers<String> =
        Breakers::new("unknown", BreakerConfig::new().failure_threshold(2), 10);
    let _alone = ALONE.lock().await;
    let app = Board::new().policies();
    let breaker = UNKNOWN.of("b.example");
    for _ in 0..2 {
        breaker.try_acquire().unwrap().failure();
    }
    assert!(breaker.try_acquire().is_err());
    let policies = get(&app, "/api/policies").await.json();
    let breakers = policies["breakers"].as_array().unwrap();
    let lines: Vec<_> = breakers.iter().filter(|one| one["name"] == "unknown[b.example]").collect();
    let [line] = lines[..] else { panic!("{breakers:?}") };
    assert_eq!((&line["failures"], &line["rejected"]), (&2.into(), &1.into()));
    assert!(line["open_for"].as_u64().is_some_and(|seconds| seconds > 0), "{line}");
}

#[tokio::test]
async fn an_override_by_the_program_is_told_apart_from_those_of_the_board() {
    let (app, _alone) = app().await;
    let changed_by_the_program = "were changed by the program itself";
    let page = get(&app, "/policies").await;
    assert!(!page.text.contains(changed_by_the_program));
    Overrides::from_pairs([("shop.charge", "attempts", "2")]).unwrap().apply();
    get(&app, "/policies").await.says(changed_by_the_program);
    Overrides::clear();
}
