//! Who may ask, under which host name, and what a stranger gets.

use axum::http::{Method, StatusCode};
use retry_board::{Board, Token};

use crate::support::{acting, ask, get, read_only, send, store};

#[tokio::test(start_paused = true)]
async fn only_names_of_this_machine_and_those_that_were_given_are_answered() {
    let app = Board::new().host("jobs.example.org").jobs(store().await);
    for (host, is_known) in [
        ("localhost", true),
        ("127.0.0.1:80", true),
        ("[::1]:7878", true),
        ("jobs.example.org", true),
        ("JOBS.example.org:443", true),
        ("example.org", false),
        ("evil.test:7878", false),
        ("localhost.evil.test", false),
        ("", false),
    ] {
        let answer = ask(&app, Method::GET, "/jobs", &[("host", host)], "").await;
        let expected = if is_known { StatusCode::OK } else { StatusCode::FORBIDDEN };
        assert_eq!(answer.status, expected, "{host}");
        if !is_known {
            answer.says("--host NAME");
            assert!(!answer.text.contains("import-1"), "{host}");
        }
    }
    let any = Board::new().any_host().jobs(store().await);
    let answer = ask(&any, Method::GET, "/jobs", &[("host", "evil.test")], "").await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn with_a_token_nobody_reads_without_it() {
    let token = "correct horse battery";
    let board = Board::new().token(Token::new(token).unwrap()).allow_actions();
    let app = board.jobs(store().await).merge(board.policies());
    for page in
        ["/jobs", "/api/jobs", "/live?topic=jobs", "/export", "/policies", "/api/openapi.json"]
    {
        let answer = get(&app, page).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{page}");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{page}");
        assert!(!answer.text.contains("import-1"), "{page}");
    }
    for (given, status) in [
        (token, StatusCode::OK),
        ("correct horse batterz", StatusCode::UNAUTHORIZED),
        ("", StatusCode::UNAUTHORIZED),
    ] {
        let header = format!("Bearer {given}");
        let headers = [("authorization", header.as_str())];
        assert_eq!(ask(&app, Method::GET, "/api/jobs", &headers, "").await.status, status);
    }
    // The assets of the sign-in page are public.
    let page = get(&app, "/jobs").await;
    let style = page.between("stylesheet\" href=\"", "\"");
    assert_eq!(get(&app, &format!("/{style}")).await.status, StatusCode::OK);

    let wrong = send(&app, "/jobs-sign-in", "", "token=wrong").await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(wrong.header("set-cookie").is_empty());
    let form = format!("token={}", token.replace(' ', "+"));
    let right = send(&app, "/jobs-sign-in", "", &form).await;
    assert_eq!((right.status, right.header("location")), (StatusCode::SEE_OTHER, "jobs"));
    assert!(right.header("set-cookie").contains("HttpOnly; SameSite=Lax"));
    assert!(!right.header("set-cookie").contains(token));
    let cookie = right.cookie();
    let signed_in = ask(&app, Method::GET, "/jobs", &[("cookie", &cookie)], "").await;
    assert_eq!(signed_in.status, StatusCode::OK);
    // A restarted process recognises who has signed in, but rejects a forged cookie.
    let again = Board::new().token(Token::new(token).unwrap()).jobs(store().await);
    assert_eq!(
        ask(&again, Method::GET, "/jobs", &[("cookie", &cookie)], "").await.status,
        StatusCode::OK
    );
    let other =
        Board::new().token(Token::new("another secret of ours").unwrap()).jobs(store().await);
    for (app, cookie) in [(&other, cookie.as_str()), (&app, "retry-board=1234.abcd")] {
        let answer = ask(app, Method::GET, "/jobs", &[("cookie", cookie)], "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stranger_cannot_sign_somebody_in() {
    let token = "correct horse battery";
    let app = Board::new().token(Token::new(token).unwrap()).jobs(store().await);
    let headers =
        [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://evil.test")];
    let form = "token=correct+horse+battery";
    let answer = ask(&app, Method::POST, "/jobs-sign-in", &headers, form).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn a_read_only_board_keeps_no_cookie_and_shows_no_form() {
    let app = read_only().await;
    for page in ["/jobs", "/job?id=import-1", "/item?job=import-1&id=3", "/policies"] {
        let answer = get(&app, page).await;
        assert!(answer.header("set-cookie").is_empty(), "{page}");
        assert!(!answer.text.contains("method=\"post\""), "{page}");
        answer.says("Read-only");
    }
    let (app, _) = acting().await;
    assert!(get(&app, "/jobs").await.header("set-cookie").starts_with("retry-board="));
    assert_eq!(get(&app, "/jobs").await.header("referrer-policy"), "same-origin");
}

#[tokio::test(start_paused = true)]
async fn a_large_body_is_refused() {
    let (app, _) = acting().await;
    let page = get(&app, "/jobs").await;
    let body = format!("job={}", "x".repeat(100_000));
    let answer = send(&app, "/pause", &page.cookie(), &body).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}
