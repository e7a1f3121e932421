//! tonic 0.14: the code of a status, the pushback in its metadata, and the wait in its details.

mod retry_info;

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;

use ::tonic::{Code, ConnectError, Status, TimeoutExpired};

use crate::base::text::wait_in_text::wait_in_text;
use crate::classify::{Class, Hint, KnownError, by_texts, is_known, text};
use crate::outcome::interrupted::Interrupted;

impl KnownError for Status {
    fn known_class(&self) -> Option<Class> {
        Some(match self.code() {
            // The one code for "could not connect", "the connection broke" and "the server is
            // overloaded"; a caller cannot tell them apart.
            Code::Unavailable => Class::NETWORK | Class::SERVER_ERROR,
            Code::DeadlineExceeded => Class::TIMEOUT,
            Code::ResourceExhausted => Class::RATE_LIMIT,
            // Defined as "typically due to a concurrency issue such as a transaction abort".
            Code::Aborted => Class::CONFLICT,
            Code::Internal | Code::Cancelled | Code::Unknown => {
                return match self.source() {
                    Some(source) => of_source(self, source),
                    None => Some(own(self)),
                };
            }
            // `DataLoss` maps to HTTP 500, but is defined as unrecoverable.
            _ => Class::empty(),
        })
    }

    fn hint(&self, class: Class) -> Option<Hint> {
        let is_hint = |hint: &Hint| *hint != Hint::NOTHING;
        let in_details = || retry_info::in_details(self.details()).map(Hint::Wait);
        let hint = pushback(self).filter(is_hint).or_else(in_details).filter(is_hint);
        let may_ask = hint.is_none() && class.intersects(Class::ASKING);
        if may_ask { wait_in_text(self.message()).map(Hint::InText) } else { hint }
    }
}

/// The class of a status that the client itself made of an error, with one of the codes that it
/// uses for errors without a code of their own. `None` if a known type in the source decides.
fn of_source(status: &Status, source: &(dyn Error + 'static)) -> Option<Class> {
    if is_known(source) {
        return None;
    }
    by_texts(None, Some(source)).or_else(|| (status.code() != Code::Unknown).then(|| own(status)))
}

/// The class of a status with one of these codes, by itself.
fn own(status: &Status) -> Class {
    match status.code() {
        // The status into which tonic turns its own `TimeoutExpired`.
        Code::Cancelled if status.message() == "Timeout expired" => Class::TIMEOUT,
        Code::Cancelled => Class::empty(),
        // If a proxy answered instead of the service, tonic puts its HTTP status here.
        _ => text::status_code(status.message()).unwrap_or(Class::SERVER_ERROR),
    }
}

/// The server's pushback ([gRFC A6]): milliseconds as a signed number of 32 bits. A negative or
/// unreadable value asks callers not to try again.
///
/// [gRFC A6]: https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback
fn pushback(status: &Status) -> Option<Hint> {
    let value = status.metadata().get("grpc-retry-pushback-ms")?;
    let millis = value.to_str().ok().and_then(|value| value.trim().parse::<i32>().ok());
    let wait = millis.and_then(|millis| u64::try_from(millis).ok());
    Some(wait.map_or(Hint::Never, |millis| Hint::Wait(Duration::from_millis(millis))))
}

/// The interruption is the source of the status, and its text the message.
impl From<Interrupted> for Status {
    fn from(interrupted: Interrupted) -> Self {
        let code = match interrupted {
            Interrupted::Timeout { .. } | Interrupted::Deadline { .. } => Code::DeadlineExceeded,
            Interrupted::CircuitOpen { .. } => Code::Unavailable,
            Interrupted::Held { .. } => Code::ResourceExhausted,
            Interrupted::Cancelled => Code::Cancelled,
            Interrupted::Value => Code::Unknown,
        };
        let mut status = Self::new(code, interrupted.to_string());
        status.set_source(Arc::new(interrupted));
        status
    }
}

impl KnownError for TimeoutExpired {
    fn known_class(&self) -> Option<Class> {
        Some(Class::TIMEOUT)
    }
}

impl KnownError for ConnectError {
    fn known_class(&self) -> Option<Class> {
        Some(Class::NETWORK | Class::CONNECT)
    }
}

#[cfg(test)]
mod tests {
    use core::fmt;

    use ::tonic::metadata::MetadataValue;

    use super::*;
    use crate::classify;

    fn class(error: impl core::error::Error + 'static) -> Class {
        classify::error(&error)
    }

    #[test]
    fn an_interruption_survives_in_a_status() {
        crate::classify::clients::tests::keeps_interruptions::<Status>();
    }

    #[test]
    fn grpc_codes_are_known() {
        for (code, expected) in [
            (Code::Unavailable, Class::NETWORK | Class::SERVER_ERROR),
            (Code::DeadlineExceeded, Class::TIMEOUT),
            (Code::ResourceExhausted, Class::RATE_LIMIT),
            (Code::Aborted, Class::CONFLICT),
            (Code::Internal, Class::SERVER_ERROR),
            (Code::Unknown, Class::SERVER_ERROR),
            (Code::DataLoss, Class::empty()),
            (Code::NotFound, Class::empty()),
            (Code::Unauthenticated, Class::empty()),
            (Code::Cancelled, Class::empty()),
        ] {
            assert_eq!(class(Status::new(code, "the token timed out")), expected, "{code:?}");
        }
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let unknown = Status::from_error(refused.into());
        assert_eq!(unknown.code(), Code::Unknown);
        assert_eq!(class(unknown), Class::NETWORK | Class::CONNECT);
        let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let connect = Status::from_error(Box::new(ConnectError(reset.into())));
        assert!(class(connect).contains(Class::NETWORK | Class::CONNECT));
        let timeout = TimeoutExpired(());
        assert_eq!(class(Status::from_error(Box::new(timeout))), Class::TIMEOUT);
    }

    #[test]
    fn the_status_of_a_proxy_overrides_internal() {
        for (message, expected) in [
            ("grpc-status header missing, mapped from HTTP status code 400", Class::empty()),
            (
                "protocol error: received message with invalid compression flag: 60 (valid flags \
                 are 0 and 1) while receiving response with status: 504 Gateway Timeout",
                Class::SERVER_ERROR | Class::TIMEOUT,
            ),
            ("connection refused", Class::SERVER_ERROR),
        ] {
            assert_eq!(class(Status::new(Code::Internal, message)), expected, "{message}");
        }
    }

    /// A chain of errors that no feature knows by type.
    #[derive(Debug)]
    struct Link(&'static str, Option<Box<Self>>);

    impl Link {
        /// The outermost text first.
        fn chain(texts: &[&'static str]) -> Self {
            Self(texts[0], (texts.len() > 1).then(|| Box::new(Self::chain(&texts[1..]))))
        }
    }

    impl fmt::Display for Link {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Link {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|inner| inner as _)
        }
    }

    fn wrapping(code: Code, source: impl Error + Send + Sync + 'static) -> Status {
        let mut status = Status::new(code, "h2 protocol error: http2 error");
        status.set_source(Arc::new(source));
        status
    }

    #[test]
    fn texts_in_the_source_of_internal_and_cancelled_decide() {
        for (code, texts, expected) in [
            // A server that shuts down.
            (
                Code::Internal,
                &[
                    "transport error",
                    "http2 error",
                    "connection error received: not a result of an error",
                ],
                Class::NETWORK,
            ),
            // A stream that the other side resets before and after the head of the response.
            (
                Code::Cancelled,
                &[
                    "transport error",
                    "http2 error",
                    "stream error received: stream no longer needed",
                ],
                Class::NETWORK,
            ),
            (
                Code::Cancelled,
                &[
                    "error reading a body from connection",
                    "stream error received: stream no longer needed",
                ],
                Class::NETWORK,
            ),
            (
                Code::Internal,
                &[
                    "error reading a body from connection",
                    "stream error received: not a result of an error",
                ],
                Class::NETWORK,
            ),
            // The connection closes while the request waits for it.
            (Code::Cancelled, &["operation was canceled", "connection closed"], Class::NETWORK),
            (Code::Internal, &["the codec failed", "operation timed out"], Class::TIMEOUT),
            (
                Code::Internal,
                &["transport error", "invalid peer certificate: UnknownIssuer"],
                Class::empty(),
            ),
            (Code::Internal, &["the codec failed"], Class::SERVER_ERROR),
            (Code::Cancelled, &["the stream was dropped"], Class::empty()),
            // The caller itself did it.
            (
                Code::Cancelled,
                &["stream error sent by user: stream no longer needed"],
                Class::empty(),
            ),
        ] as [(_, &'static [_], _); 10]
        {
            assert_eq!(class(wrapping(code, Link::chain(texts))), expected, "{code:?}: {texts:?}");
        }
    }

    #[test]
    fn known_types_in_the_source_of_internal_and_cancelled_decide() {
        for code in [Code::Internal, Code::Cancelled, Code::Unknown] {
            let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
            assert_eq!(class(wrapping(code, reset)), Class::NETWORK, "{code:?}");
            let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
            assert_eq!(class(wrapping(code, denied)), Class::empty(), "{code:?}");
            assert_eq!(class(wrapping(code, TimeoutExpired(()))), Class::TIMEOUT, "{code:?}");
            // The status of the service inside the status of the client.
            let inner = Status::new(Code::NotFound, "the connection timed out");
            assert_eq!(class(wrapping(code, inner)), Class::empty(), "{code:?}");
        }
    }

    fn asking(pushback: Option<&'static str>, retry_info: bool) -> Status {
        // A `google.rpc.Status` with a `RetryInfo` of 7 s.
        const DETAILS: &[u8] =
            b"\x08\x08\x1a\x30\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x04\x0a\x02\x08\x07";
        let details = if retry_info { DETAILS } else { &[] };
        let mut status = Status::with_details(Code::Unavailable, "busy", details.into());
        if let Some(value) = pushback {
            status.metadata_mut().insert("grpc-retry-pushback-ms", value.parse().unwrap());
        }
        status
    }

    #[test]
    fn the_pushback_comes_before_the_details() {
        let millis = |millis| Some(Hint::Wait(Duration::from_millis(millis)));
        for (pushback, retry_info, expected) in [
            (None, false, None),
            (None, true, millis(7_000)),
            (Some("1500"), false, millis(1_500)),
            (Some("1500"), true, millis(1_500)),
            (Some("2147483647"), true, millis(2_147_483_647)),
            // Zero asks for no wait.
            (Some("0"), true, millis(7_000)),
            (Some("0"), false, None),
            (Some("-1"), true, Some(Hint::Never)),
            (Some("-2147483648"), true, Some(Hint::Never)),
            (Some("2147483648"), true, Some(Hint::Never)),
            (Some("1.5"), true, Some(Hint::Never)),
            (Some("soon"), true, Some(Hint::Never)),
            (Some(""), true, Some(Hint::Never)),
        ] {
            let status = asking(pushback, retry_info);
            assert_eq!(
                classify::hint(&status, Class::empty()),
                expected,
                "{pushback:?} {retry_info}"
            );
            let wait = expected.and_then(Hint::wait);
            assert_eq!(classify::Classify::retry_after(&status), wait, "{pushback:?} {retry_info}");
        }
    }

    #[test]
    fn the_message_states_a_wait_if_nothing_else_does_and_the_class_is_read() {
        let exhausted = |details: &'static [u8]| {
            let message = "quota exceeded, please try again in 8s";
            Status::with_details(Code::ResourceExhausted, message, details.into())
        };
        let in_text = Some(Hint::InText(Duration::from_secs(8)));
        let status = exhausted(b"");
        assert_eq!(classify::hint(&status, class(exhausted(b""))), in_text);
        assert_eq!(classify::hint(&status, Class::empty()), None);
        assert_eq!(classify::hint(&status, Class::NETWORK), None);
        assert_eq!(classify::Classify::retry_after(&status), None);
        // A wait of zero in the details is none.
        let nothing =
            b"\x08\x08\x1a\x2e\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x02\x0a\x00";
        assert_eq!(classify::hint(&exhausted(nothing), Class::RATE_LIMIT), in_text);
        let mut status = exhausted(b"");
        status.metadata_mut().insert("grpc-retry-pushback-ms", "-1".parse().unwrap());
        assert_eq!(classify::hint(&status, Class::RATE_LIMIT), Some(Hint::Never));
    }

    #[test]
    fn a_pushback_that_is_not_text_forbids_retries() {
        let mut status = asking(None, true);
        let value = MetadataValue::try_from(&b"\xff15"[..]).unwrap();
        status.metadata_mut().insert("grpc-retry-pushback-ms", value);
        assert_eq!(classify::hint(&status, Class::empty()), Some(Hint::Never));
    }

    #[test]
    fn an_untrusted_certificate_is_not_unavailable() {
        let untrusted = std::io::Error::new(std::io::ErrorKind::InvalidData, "UnknownIssuer");
        let mut status = Status::new(Code::Unavailable, "transport error");
        status.set_source(std::sync::Arc::new(untrusted));
        assert_eq!(class(status), Class::empty());
    }
}
