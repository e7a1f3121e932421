//! The requests that are admitted, by host name and by user, and the answer that a stranger gets.

use axum::http::{Method, StatusCode};
use retry_board::{Board, Token};

use crate::support::{acting, ask, get, read_only, send, store};

#[tokio::test(start_paused = true)]
async fn only_local_and_configured_host_names_are_answered() {
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
async fn a_token_is_required_for_every_page() {
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
async fn a_sign_in_leads_to_the_requested_page_and_can_be_ended() {
    let token = "correct horse battery";
    let app = Board::new().token(Token::new(token).unwrap()).jobs(store().await);
    let asked = get(&app, "/job?id=import-1").await;
    assert_eq!(asked.status, StatusCode::UNAUTHORIZED);
    let to = asked.between("name=\"to\" value=\"", "\"").to_owned();
    assert_eq!(to, "job?id=import-1");
    // Also after the wrong one.
    let wrong = send(&app, "/jobs-sign-in", "", "token=wrong&to=job%3Fid%3Dimport-1").await;
    assert_eq!(wrong.between("name=\"to\" value=\"", "\""), to);
    let form = "token=correct+horse+battery&to=job%3Fid%3Dimport-1";
    let right = send(&app, "/jobs-sign-in", "", form).await;
    assert_eq!((right.status, right.header("location")), (StatusCode::SEE_OTHER, to.as_str()));
    for elsewhere in ["%2F%2Fevil.test", "https%3A%2F%2Fevil.test", "..%2Fother"] {
        let form = format!("token=correct+horse+battery&to={elsewhere}");
        assert_eq!(send(&app, "/jobs-sign-in", "", &form).await.header("location"), "jobs");
    }

    let cookie = right.cookie();
    let page = ask(&app, Method::GET, "/jobs", &[("cookie", &cookie)], "").await;
    page.says("Sign out");
    let csrf = page.between("name=\"csrf\" value=\"", "\"");
    let forged = send(&app, "/jobs-sign-out", &cookie, "csrf=x").await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    let out = send(&app, "/jobs-sign-out", &cookie, &format!("csrf={csrf}")).await;
    assert_eq!((out.status, out.header("location")), (StatusCode::SEE_OTHER, "jobs"));
    assert!(out.header("set-cookie").starts_with("retry-board=;"), "{}", out.header("set-cookie"));
    assert!(out.header("set-cookie").ends_with("; Max-Age=0"));
}

#[tokio::test(start_paused = true)]
async fn the_cookie_of_the_api_is_for_the_folder_of_the_board() {
    let cookie = async |board: Board, folder: &str| {
        let app = axum::Router::new();
        let app = app.nest("/ops", board.any_host().allow_actions().jobs(store().await));
        get(&app, &format!("/ops/{folder}")).await.header("set-cookie").to_owned()
    };
    let public = Board::new().public_url("https://ops.example.com/board/").unwrap();
    assert!(cookie(Board::new(), "api/jobs/session").await.ends_with("; Path=/ops"));
    assert!(cookie(public, "api/jobs/session").await.ends_with("; Path=/board"));
    // A browser takes the folder of the page.
    assert!(!cookie(Board::new(), "jobs").await.contains("Path="));
}

#[tokio::test(start_paused = true)]
async fn behind_https_the_cookie_is_only_sent_encrypted() {
    let board = || Board::new().token(Token::new("correct horse battery").unwrap()).any_host();
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let sign_in = async |board: Board, headers: &[(&str, &str)]| {
        let app = board.jobs(store().await);
        let headers = [&[kind], headers].concat();
        let form = "token=correct+horse+battery";
        ask(&app, Method::POST, "/jobs-sign-in", &headers, form).await
    };
    let is_secure = async |board: Board, headers: &[(&str, &str)]| {
        let answer = sign_in(board, headers).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        answer.header("set-cookie").contains("; Secure")
    };
    let host = ("host", "ops.example.com");
    assert!(!is_secure(board(), &[host]).await);
    assert!(!is_secure(board(), &[host, ("origin", "http://ops.example.com")]).await);
    assert!(is_secure(board(), &[host, ("origin", "https://ops.example.com")]).await);
    let with_port = ("host", "ops.example.com:443");
    assert!(is_secure(board(), &[with_port, ("origin", "https://ops.example.com")]).await);
    assert!(is_secure(board(), &[host, ("x-forwarded-proto", "https")]).await);

    // The proxy has changed the host.
    let (changed, origin) = (("host", "10.0.0.7:7878"), ("origin", "https://ops.example.com"));
    let refused = sign_in(board(), &[changed, origin]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    refused.says("asks for the host 10.0.0.7:7878").says("Board::public_url");
    let public = || board().public_url("https://ops.example.com/board").unwrap();
    assert!(is_secure(public(), &[changed, origin]).await);
    assert!(is_secure(public(), &[changed]).await);
    let other = sign_in(public(), &[changed, ("origin", "https://evil.test")]).await;
    assert_eq!(other.status, StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn a_board_answers_to_the_host_of_its_public_url() {
    let app = Board::new().public_url("https://ops.example.com/board").unwrap();
    let app = app.jobs(store().await);
    for (host, status) in
        [("ops.example.com", StatusCode::OK), ("evil.test", StatusCode::FORBIDDEN)]
    {
        let answer = ask(&app, Method::GET, "/jobs", &[("host", host)], "").await;
        assert_eq!(answer.status, status, "{host}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_foreign_site_cannot_sign_a_user_in() {
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
