//! The wait that a server asks for, as a command writes it to a file: seconds, an HTTP date, or
//! whole response headers, as `curl -D` writes them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use retry_rules::suggest::shortened;
use retry_runtime::http::retry_after::{from_headers, parse};

/// The variable with the path of the file.
pub(crate) const RETRY_AFTER: &str = "RETRY_WORKFLOW_RETRY_AFTER";
/// The number of bytes that are read of the file: headers are much shorter.
const MOST_BYTES: u64 = 64 * 1024;

/// Reads the wait that is in the file, if a command has written one. If the file contains something
/// else, returns what is wrong with it.
pub(crate) fn written(file: &Path) -> Result<Option<Duration>, Unreadable> {
    let mut text = Vec::new();
    match opened(file).map(|file| file.take(MOST_BYTES).read_to_end(&mut text)) {
        Some(Ok(_)) => wait(&String::from_utf8_lossy(&text)),
        _ => Ok(None),
    }
}

/// A value of the file that is not a wait: its place, and what is wrong.
pub(crate) type Unreadable = (&'static str, String);

fn unreadable(place: &'static str, value: &str) -> Result<Option<Duration>, Unreadable> {
    let value = shortened(value);
    let cure = "write seconds, a time such as `1m30s`, a date, or the headers of a response";
    Err((place, format!("{place} in ${RETRY_AFTER} is not a wait, {value:?}: {cure}")))
}

/// Opens the file if it still is one. The command may have replaced it with a pipe, which would
/// block until a process writes to it.
#[cfg(unix)]
fn opened(file: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};

    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(file, flags, Mode::empty()).ok()?);
    file.metadata().is_ok_and(|found| found.is_file()).then_some(file)
}

#[cfg(not(unix))]
fn opened(file: &Path) -> Option<File> {
    File::open(file).ok()
}

fn wait(text: &str) -> Result<Option<Duration>, Unreadable> {
    let read = |value: &str| parse(value.trim(), SystemTime::now());
    // A wait of zero does not count.
    if let Some(wait) = read(text) {
        return Ok(Some(wait).filter(|wait| !wait.is_zero()));
    }
    // There are several blocks of headers after a redirect, or if curl itself has retried.
    let mut blocks = vec![HeaderMap::new()];
    for line in text.lines() {
        if line.starts_with("HTTP/") {
            blocks.push(HeaderMap::new());
        } else if let Some((name, value)) = line.split_once(':')
            && let Ok(name) = name.trim().parse::<HeaderName>()
            && let Ok(value) = value.trim().parse::<HeaderValue>()
            && let Some(block) = blocks.last_mut()
        {
            // The last one of several counts.
            block.insert(name, value);
        }
    }
    let wait = blocks.iter().rev().find_map(from_headers);
    let asked = blocks.iter().rev().find_map(|block| block.get("retry-after")?.to_str().ok());
    match asked.filter(|asked| read(asked).is_none()) {
        Some(asked) if wait.is_none() => unreadable("`Retry-After`", asked),
        None if blocks == [HeaderMap::new()] && !text.trim().is_empty() => {
            unreadable("the value", text.trim())
        }
        _ => Ok(wait),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_dates_and_headers_are_read_and_the_last_wait_counts() {
        let seconds = |text: &str| wait(text).unwrap().map(|wait| wait.as_secs());
        assert_eq!(seconds("7\n"), Some(7));
        let redirected = "HTTP/1.1 302 Found\r\nRetry-After: 1\r\nLocation: /x\r\n\r\n\
                          HTTP/2 429 \r\ndate: Fri, 31 Dec 1999 23:59:00 GMT\r\n\
                          retry-after: Fri, 31 Dec 1999 23:59:42 GMT\r\n\r\n";
        assert_eq!(seconds(redirected), Some(42));
        let retried = "HTTP/1.1 503 X\nRetry-After: 5\n\nHTTP/1.1 500 X\nServer: x\n\n";
        assert_eq!(seconds(retried), Some(5));
        assert_eq!(seconds("Retry-After: 3\nRetry-After: 9\n"), Some(9));
        assert_eq!(seconds("x-ratelimit-reset-after: 1.5\n"), Some(1));
        let hasty = "HTTP/1.1 503 X\nRetry-After: 5\n\nHTTP/1.1 503 X\nRetry-After: 0\n\n";
        assert_eq!(seconds(hasty), Some(5));
        for nothing in ["", "\n", "HTTP/1.1 500 X\n\n", "Server: x\n\n"] {
            assert_eq!(seconds(nothing), None, "{nothing:?}");
        }
        for zero in
            ["0\n", "0.0", "Fri, 31 Dec 1999 23:59:59 GMT", "1735689600", "Retry-After: 0\n"]
        {
            assert_eq!(wait(zero), Ok(None), "{zero:?}");
        }
        assert_eq!(wait("500ms"), Ok(Some(Duration::from_millis(500))));
        assert_eq!(seconds("1m30s\n"), Some(90));
    }

    #[test]
    fn a_value_that_is_not_a_wait_is_named() {
        for (text, place, value) in [
            ("soon\n", "the value", "soon"),
            ("-1", "the value", "-1"),
            ("1 2", "the value", "1 2"),
            (": :\n:", "the value", ": :\n:"),
            ("HTTP/1.1 503 X\nretry-after: later\n", "`Retry-After`", "later"),
        ] {
            let (of, message) = wait(text).unwrap_err();
            assert_eq!(of, place, "{text:?}");
            assert!(message.contains(&format!("is not a wait, {value:?}: write")), "{message}");
        }
        let (_, long) = wait(&"x".repeat(100_000)).unwrap_err();
        assert!(long.chars().count() < 400, "{long}");
    }
}
