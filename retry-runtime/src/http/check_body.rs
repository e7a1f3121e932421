//! [`check_body`]: `check` that also keeps the beginning of the body of a failed response.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use ::http::Response;
use ::http::header::CONTENT_ENCODING;
use bytes::{Buf as _, BufMut as _};
use http_body::Body;

use super::{Head, LONGEST_BODY, StatusError};
use crate::base::sealed::Seal;
use crate::base::timer::{self, Sleep};

/// The longest wait for the rest of a body.
const LONGEST_READ: Duration = Duration::from_secs(1);

/// Returns the response, or, if its status is a failure, an error with what a retry needs and the
/// beginning of the body.
///
/// A response that is not a failure is returned as it is; its body is not read. The body of a
/// failed one is read until its end, an error, 2 KiB, or 1 s, whichever comes first. What has
/// arrived by then is in [`StatusError::body`]. An error while reading is not returned, so that a
/// 429 whose body breaks off keeps its wait. Bytes that are not UTF-8 are replaced, and a body with
/// a `Content-Encoding` other than `identity` is not read.
///
/// It takes an `http::Response` with any [`http_body::Body`], and a `reqwest::Response` (feature
/// `reqwest`). The future is [`Send`] if the response and its body are.
///
/// ```
/// use retry_runtime::http::check_body;
/// use retry_runtime::{Class, Classify};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let response = http::Response::builder().status(429);
/// let response = response.body(r#"{"code": "insufficient_quota"}"#.to_owned()).unwrap();
/// let error = check_body(response).await.unwrap_err();
/// assert_eq!(error.to_string(), "429 Too Many Requests (insufficient_quota)");
/// assert_eq!(error.class(), Class::empty(), "a wait does not renew this quota");
/// # }
/// ```
///
/// # Errors
/// The status is 4xx or 5xx.
pub fn check_body<R: ReadableResponse>(response: R) -> CheckBody<R> {
    let Some(error) = StatusError::of(&response) else {
        return CheckBody { stage: Stage::Checked { result: Some(Ok(response)) } };
    };
    let encodings = response.headers().get_all(CONTENT_ENCODING);
    if !encodings.iter().all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return CheckBody { stage: Stage::Checked { result: Some(Err(error)) } };
    }
    let body = response.into_body(Seal);
    let (read, left) = (Vec::new(), LONGEST_BODY);
    CheckBody { stage: Stage::Reading { error: Some(error), body, read, left, limit: None } }
}

/// A response whose body [`check_body`] can read.
///
/// Sealed: it is implemented for `http::Response<B>` with any [`http_body::Body`], and for
/// `reqwest::Response` (feature `reqwest`).
#[diagnostic::on_unimplemented(
    message = "the body of `{Self}` cannot be read",
    label = "neither an `http::Response` with an `http_body::Body`, nor a `reqwest::Response`",
    note = "for `reqwest::Response`, enable the feature `reqwest` of retry-runtime",
    note = "for another client, read the body and add it: \
            `StatusError::of(&response).map(|error| error.with_body(text))`"
)]
pub trait ReadableResponse: Head {
    /// The body.
    #[doc(hidden)]
    type Body: Body;

    /// Returns the body.
    #[doc(hidden)]
    fn into_body(self, _: Seal) -> Self::Body;
}

impl<B: Body> ReadableResponse for Response<B> {
    type Body = B;

    fn into_body(self, _: Seal) -> B {
        self.into_body()
    }
}

#[cfg(all(feature = "reqwest", not(target_arch = "wasm32")))]
impl ReadableResponse for reqwest::Response {
    type Body = reqwest::Body;

    fn into_body(self, _: Seal) -> reqwest::Body {
        Response::from(self).into_body()
    }
}

#[cfg(all(feature = "reqwest", target_arch = "wasm32"))]
impl ReadableResponse for reqwest::Response {
    type Body = of_browser::PageBody;

    fn into_body(self, _: Seal) -> of_browser::PageBody {
        of_browser::PageBody::of(self)
    }
}

/// A browser passes on a body as a whole.
#[cfg(all(feature = "reqwest", target_arch = "wasm32"))]
mod of_browser {
    use core::fmt;
    use core::future::Future;
    use core::pin::Pin;
    use core::task::{Context, Poll, ready};

    use bytes::Bytes;
    use http_body::{Body, Frame};

    /// The body of a response in a browser, as one frame.
    pub struct PageBody(Option<Pin<Box<dyn Future<Output = reqwest::Result<Bytes>>>>>);

    impl PageBody {
        pub(super) fn of(response: reqwest::Response) -> Self {
            Self(Some(Box::pin(response.bytes())))
        }
    }

    impl Body for PageBody {
        type Data = Bytes;
        type Error = reqwest::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<reqwest::Result<Frame<Bytes>>>> {
            let Some(bytes) = &mut self.0 else { return Poll::Ready(None) };
            let whole = ready!(bytes.as_mut().poll(cx));
            self.0 = None;
            Poll::Ready(Some(whole.map(Frame::data)))
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of [`check_body`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct CheckBody<R: ReadableResponse> {
        #[pin]
        stage: Stage<R, R::Body>,
    }
}

pin_project_lite::pin_project! {
    #[project = Projected]
    enum Stage<R, B> {
        /// The body is not read.
        Checked { result: Option<Result<R, StatusError>> },
        Reading {
            error: Option<StatusError>,
            #[pin]
            body: B,
            read: Vec<u8>,
            // The number of bytes that are still read. An empty frame takes one too, so that a body
            // without end does not keep the task.
            left: usize,
            // Started when the body is waited for.
            #[pin]
            limit: Option<Sleep>,
        },
    }
}

impl<R: ReadableResponse> Future for CheckBody<R> {
    type Output = Result<R, StatusError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (error, mut body, read, left, mut limit) = match self.project().stage.project() {
            Projected::Checked { result } => {
                return Poll::Ready(result.take().expect("polled again after it was ready"));
            }
            Projected::Reading { error, body, read, left, limit } => {
                (error, body, read, left, limit)
            }
        };
        while *left > 0 {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let before = read.len();
                    if let Ok(data) = frame.into_data() {
                        read.put(data.take(*left));
                    }
                    *left -= (read.len() - before).max(1);
                }
                Poll::Ready(Some(Err(_)) | None) => break,
                Poll::Pending => {
                    if limit.is_none() {
                        // Without a timer, only what has arrived already is read.
                        let Ok(sleep) = timer::sleep(LONGEST_READ) else { break };
                        limit.set(Some(sleep));
                    }
                    let limit = limit.as_mut().as_pin_mut();
                    if limit.is_some_and(|limit| limit.poll(cx).is_pending()) {
                        return Poll::Pending;
                    }
                    break;
                }
            }
        }
        let error = error.take().expect("polled again after it was ready");
        let text = String::from_utf8_lossy(read);
        // The last character may be cut in two.
        let text =
            if *left == 0 { text.trim_end_matches(char::REPLACEMENT_CHARACTER) } else { &text };
        Poll::Ready(Err(error.with_body(text)))
    }
}

retry_rules::partial_debug!([R: ReadableResponse] CheckBody<R>);
