//! `check_body`: what is kept of a failed response, and what a retry makes of it. On virtual time.
#![allow(missing_docs, reason = "tests")]

use std::cell::Cell;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Response;
use hyper::body::{Body, Bytes, Frame};
use retry_runtime::http::{CheckBody, Head, StatusError, check, check_body};
use retry_runtime::matchers::{pattern, rate_limit};
use retry_runtime::{Class, Classify as _, Policy, Reason, Retrier, RetryError, classify, retry};
use tokio::time::Instant;

const QUOTA: &str = r#"{"error": {"message": "You exceeded your current quota, please check your plan", "type": "insufficient_quota", "code": "insufficient_quota"}}"#;
const GITHUB: &str = r#"{"message": "You have exceeded a secondary rate limit. Please wait."}"#;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The next step of a body.
#[derive(Clone, Debug)]
enum Step {
    Data(Bytes),
    Trailers,
    Wait(Duration),
    Break,
    Hang,
}

/// A body by script, which ends with it.
#[derive(Debug, Default)]
struct Scripted {
    steps: VecDeque<Step>,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    /// The number of times it was polled.
    polls: Rc<Cell<usize>>,
}

/// An error of a body need not be an [`Error`].
#[derive(Debug)]
struct Broken;

impl Scripted {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.polls.set(self.polls.get() + 1);
        loop {
            if let Some(sleep) = &mut self.sleep {
                std::task::ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            return Poll::Ready(match self.steps.pop_front() {
                Some(Step::Data(data)) => Some(Ok(Frame::data(data))),
                Some(Step::Trailers) => Some(Ok(Frame::trailers(http::HeaderMap::new()))),
                Some(Step::Wait(time)) => {
                    self.sleep = Some(Box::pin(tokio::time::sleep(time)));
                    continue;
                }
                Some(Step::Break) => Some(Err(Broken)),
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
                None => None,
            });
        }
    }
}

fn data(text: impl Into<Bytes>) -> Step {
    Step::Data(text.into())
}

fn busy(steps: impl IntoIterator<Item = Step>) -> Response<Scripted> {
    let response = Response::builder().status(429).header("retry-after", "7");
    response.body(Scripted::new(steps)).unwrap()
}

/// The error, and how long it took.
async fn failed(response: Response<Scripted>) -> (StatusError, Duration) {
    let start = Instant::now();
    (check_body(response).await.unwrap_err(), start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn success_is_returned_unread() {
    let body = Scripted::new([data("tea")]);
    let polls = Rc::clone(&body.polls);
    let response = check_body(Response::new(body)).await.unwrap();
    assert_eq!((polls.get(), response.into_body().steps.len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn body_of_a_failure_is_kept_to_its_end() {
    let steps =
        [data("no such"), Step::Wait(Duration::from_millis(10)), data(" shop"), Step::Trailers];
    let (error, took) = failed(busy(steps)).await;
    assert_eq!((error.body(), took), (Some("no such shop"), Duration::from_millis(10)));
    assert_eq!(error.retry_after(), Some(secs(7)));
    let (error, _) = failed(busy([data("\r\n "), data("")])).await;
    assert_eq!(error.body(), None, "it is blank");
}

#[tokio::test(start_paused = true)]
async fn body_that_hangs_costs_one_second_and_not_the_wait() {
    for hangs in [Step::Hang, Step::Wait(secs(3_600))] {
        let (error, took) = failed(busy([data("slow"), hangs.clone(), data(" down")])).await;
        assert_eq!((error.body(), took), (Some("slow"), secs(1)), "{hangs:?}");
        assert_eq!(error.retry_after(), Some(secs(7)));
        assert_eq!(error.class(), Class::RATE_LIMIT);
    }
    // The second is one for the whole body, not for each frame.
    let drops = [data("a"), Step::Wait(Duration::from_millis(400))];
    let (error, took) = failed(busy(drops.into_iter().cycle().take(100))).await;
    assert_eq!((error.body(), took), (Some("aaa"), secs(1)));
}

#[tokio::test(start_paused = true)]
async fn error_of_the_body_is_not_returned() {
    let (error, took) = failed(busy([data("slow"), Step::Break, data(" down")])).await;
    assert_eq!((error.body(), took), (Some("slow"), Duration::ZERO));
    assert_eq!(error.retry_after(), Some(secs(7)));
    let (error, _) = failed(busy([Step::Break])).await;
    assert_eq!(error.body(), None);
}

#[tokio::test(start_paused = true)]
async fn two_kibibytes_are_kept_in_whole_characters() {
    let (error, took) =
        failed(busy([data("x".repeat(2_047)), data("ä".repeat(100)), Step::Hang])).await;
    assert_eq!((error.body(), took), (Some(&*"x".repeat(2_047)), Duration::ZERO));
    let (error, _) = failed(busy([data("x".repeat(1_000_000))])).await;
    assert_eq!(error.body().unwrap().len(), 2_048);
    let (error, _) = failed(busy([data(&b"caf\xe9 \xff"[..])])).await;
    assert_eq!(error.body(), Some("caf\u{fffd} \u{fffd}"), "it is not UTF-8");
    let (error, _) = failed(busy([data(vec![0xff; 3_000])])).await;
    assert_eq!(error.body(), None, "the replaced bytes of one that was cut");
}

#[tokio::test(start_paused = true)]
async fn body_of_empty_frames_without_end_ends() {
    let endless = std::iter::repeat_n(data(""), 1_000_000);
    let (error, took) = failed(busy(endless)).await;
    assert_eq!((error.body(), took), (None, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn compressed_body_is_not_read() {
    for (encoding, is_read) in
        [("gzip", false), ("br", false), ("identity", true), ("Identity", true), ("", false)]
    {
        let mut response = busy([data("slow down")]);
        response.headers_mut().insert("content-encoding", encoding.parse().unwrap());
        let polls = Rc::clone(&response.body().polls);
        let (error, _) = failed(response).await;
        assert_eq!(error.body().is_some(), is_read, "{encoding:?}");
        assert_eq!(polls.get() > 0, is_read, "{encoding:?}");
        assert_eq!(error.retry_after(), Some(secs(7)));
    }
}

#[cfg(not(feature = "any-runtime"))]
#[test]
fn without_a_timer_only_received_data_is_read() {
    use std::task::Waker;

    let mut checked = std::pin::pin!(check_body(busy([data("slow"), Step::Hang])));
    let Poll::Ready(Err(error)) = checked.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("it waits for a timer that does not exist")
    };
    assert_eq!((error.body(), error.retry_after()), (Some("slow"), Some(secs(7))));
}

#[test]
fn future_is_send_if_the_body_is() {
    fn of_any<B: Body + Send>(response: Response<B>) -> impl Send {
        check_body(response)
    }
    fn of_reqwest(response: reqwest::Response) -> impl Send + use<> {
        let checked: CheckBody<reqwest::Response> = check_body(response);
        checked
    }
    drop(of_any(Response::new(String::new())));
    let _ = of_reqwest;
    // One of a body that is not `Send` is a future all the same.
    drop(check_body(busy([])));
}

/// A server that answers each call with the same status, header and body.
struct Api {
    status: u16,
    header: Option<(&'static str, &'static str)>,
    body: &'static str,
    calls: AtomicUsize,
}

impl Api {
    fn new(status: u16, body: &'static str) -> Self {
        Self { status, header: None, body, calls: AtomicUsize::new(0) }
    }

    async fn call(&self) -> Result<Response<String>, StatusError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut response = Response::builder().status(self.status);
        if let Some((name, value)) = self.header {
            response = response.header(name, value);
        }
        check_body(response.body(self.body.to_owned()).unwrap()).await
    }

    fn calls(&self) -> usize {
        self.calls.swap(0, Ordering::Relaxed)
    }
}

#[retry(attempts = 3, retry_on = [transient])]
async fn transient(api: &Api) -> Result<(), RetryError<StatusError>> {
    api.call().await.map(drop)
}

#[retry(attempts = 3, retry_on = [transient])]
async fn behind_anyhow(api: &Api) -> anyhow::Result<()> {
    Ok(api.call().await.map(drop)?)
}

#[retry(attempts = 3)]
async fn bare(api: &Api) -> Result<(), StatusError> {
    api.call().await.map(drop)
}

#[retry(attempts = 3, abort_on = [pattern("insufficient_quota")])]
async fn but_not_quotas(api: &Api) -> anyhow::Result<()> {
    Ok(api.call().await.map(drop)?)
}

#[retry(attempts = 3, retry_on = [matches(error if error.body().is_some_and(|body| body.contains("try again")))])]
async fn by_its_body(api: &Api) -> Result<(), StatusError> {
    api.call().await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn used_up_quota_is_not_a_rate_limit() {
    let api = Api::new(429, QUOTA);
    let error = transient(&api).await.unwrap_err();
    assert_eq!((error.reason(), api.calls()), (Reason::NotRetryable, 1));
    assert_eq!(error.last().unwrap().to_string(), "429 Too Many Requests (insufficient_quota)");
    behind_anyhow(&api).await.unwrap_err();
    assert_eq!(api.calls(), 1);
    bare(&api).await.unwrap_err();
    assert_eq!(api.calls(), 3, "as it does a 404");
    but_not_quotas(&api).await.unwrap_err();
    assert_eq!(api.calls(), 1);
    let retrier = Retrier::new(Policy::new()).abort_on([pattern("insufficient_quota").unwrap()]);
    retrier.run(|| api.call()).await.unwrap_err();
    assert_eq!(api.calls(), 1);
    let retrier = Retrier::new(Policy::new()).retry_on([rate_limit]);
    retrier.run(|| api.call()).await.unwrap_err();
    assert_eq!(api.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn sentence_about_a_quota_decides_nothing() {
    let api = Api::new(429, "You exceeded your current quota, please check your plan and billing");
    transient(&api).await.unwrap_err();
    assert_eq!(api.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn secondary_rate_limit_of_github_is_one() {
    let api = Api::new(403, GITHUB);
    transient(&api).await.unwrap_err();
    assert_eq!(api.calls(), 3);
    let header = Some(("x-reason", "Secondary rate limit"));
    let api = Api { header, ..Api::new(403, "") };
    transient(&api).await.unwrap_err();
    assert_eq!(api.calls(), 3);
    let api = Api::new(403, "Resource not accessible by integration");
    transient(&api).await.unwrap_err();
    assert_eq!(api.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn used_up_limit_of_github_is_a_rate_limit_even_after_its_reset() {
    let limited = |pairs: &[(&'static str, &str)]| {
        let mut response =
            Response::builder().status(403).header("date", "Thu, 09 Sep 2010 00:00:00 GMT");
        for (name, value) in pairs {
            response = response.header(*name, *value);
        }
        check(response.body(()).unwrap()).unwrap_err()
    };
    // The reset is compared with the response's date, 1,283,990,400.
    let github = |remaining, reset| {
        limited(&[
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset),
            ("x-ratelimit-resource", "core"),
            ("x-ratelimit-used", "5000"),
        ])
    };
    for (error, class, wait) in [
        (github("0", "1283990490"), Class::RATE_LIMIT, Some(secs(90))),
        (github("0", "1283990400"), Class::RATE_LIMIT, None),
        (github("0", "1283990100"), Class::RATE_LIMIT, None),
        (limited(&[("retry-after", "0")]), Class::RATE_LIMIT, None),
        (limited(&[("retry-after", "Wed, 08 Sep 2010 23:59:59 GMT")]), Class::RATE_LIMIT, None),
        (limited(&[("retry-after", "later")]), Class::empty(), None),
        (github("4999", "1283990490"), Class::empty(), None),
        (github("4999", "1283990100"), Class::empty(), None),
        (limited(&[]), Class::empty(), None),
    ] {
        assert_eq!((error.class(), error.retry_after()), (class, wait), "{error:?}");
        assert_eq!(classify::error(&error), class);
    }

    // The curve applies.
    let (calls, start) = (Cell::new(0), Instant::now());
    let attempt = || {
        calls.set(calls.get() + 1);
        std::future::ready(Err::<(), _>(github("0", "1283990100")))
    };
    Retrier::new(Policy::new()).retry_on([rate_limit]).run(attempt).await.unwrap_err();
    assert_eq!((calls.get(), start.elapsed()), (3, secs(3)));
}

#[tokio::test(start_paused = true)]
async fn body_is_seen_by_predicates() {
    let api = Api::new(409, "busy, try again");
    by_its_body(&api).await.unwrap_err();
    assert_eq!(api.calls(), 3);
    let api = Api::new(409, "the shop is closed");
    by_its_body(&api).await.unwrap_err();
    assert_eq!(api.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn text_of_a_body_does_not_classify() {
    /// Passes on all that it holds, but neither its type nor its class.
    #[derive(Debug)]
    struct Opaque(StatusError);

    impl fmt::Display for Opaque {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Display::fmt(&self.0, f)
        }
    }

    impl Error for Opaque {}

    let api = Api::new(503, "<html>The page was not found: permission denied</html>");
    transient(&api).await.unwrap_err();
    assert_eq!(api.calls(), 3);
    let error = Opaque(api.call().await.unwrap_err());
    assert!(format!("{error:#}").contains("permission denied"));
    assert_eq!(classify::error(&error), Class::SERVER_ERROR);
    let gone = Api::new(404, "connection reset by peer").call().await.unwrap_err();
    assert_eq!(classify::error(&gone), Class::empty());
    assert_eq!(classify::error(&Opaque(gone)), Class::empty());
}

/// Answers one request on loopback, over a connection that stays open.
fn serve(answer: &'static str) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4_096];
        let _ = stream.read(&mut request).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        // Until the client closes it.
        let _ = stream.read(&mut request);
    });
    address
}

#[tokio::test]
async fn response_of_reqwest_names_its_path_and_no_secret() {
    const ANSWER: &str = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 7\r\n\r\nno disk";

    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let get = async || {
        let address = serve(ANSWER);
        let url = format!("http://ada:secret@{address}/orders/17?token=secret#secret");
        (client.get(url).send().await.unwrap(), address)
    };
    let (response, address) = get().await;
    assert_eq!(response.url().path(), "/orders/17");
    assert_eq!(Head::url(&response).unwrap(), format!("http://{address}/orders/17"));
    let error = check_body(response).await.unwrap_err();
    assert_eq!(error.url().unwrap(), format!("http://{address}/orders/17"));
    assert_eq!(error.to_string(), "500 Internal Server Error at /orders/17");
    assert_eq!(format!("{error:#}"), "500 Internal Server Error at /orders/17: no disk");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    assert_eq!(classify::text(&error.to_string()), Class::SERVER_ERROR);

    let (response, _) = get().await;
    assert_eq!(response.headers().len(), 1);
    let error = check(response).unwrap_err();
    assert_eq!(error.to_string(), "500 Internal Server Error at /orders/17");
    assert_eq!(error.body(), None);
}
