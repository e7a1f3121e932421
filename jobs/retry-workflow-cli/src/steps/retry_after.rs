//! The wait that a server asks for, as a command writes it to a file: seconds, an HTTP date, or
//! whole response headers, as `curl -D` writes them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use retry_runtime::http::retry_after::{from_headers, parse};

/// The variable with the path of the file.
pub(crate) const RETRY_AFTER: &str = "RETRY_WORKFLOW_RETRY_AFTER";
/// The number of bytes that are read of the file: headers are much shorter.
const MOST_BYTES: u64 = 64 * 1024;

/// The wait that is in the file, if a command has written one.
pub(crate) fn written(file: &Path) -> Option<Duration> {
    let mut text = Vec::new();
    opened(file)?.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    wait(&String::from_utf8_lossy(&text))
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

fn wait(text: &str) -> Option<Duration> {
    // A wait of zero does not count.
    let wait = parse(text.trim(), SystemTime::now()).filter(|wait| !wait.is_zero());
    if wait.is_some() {
        return wait;
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
    blocks.iter().rev().find_map(from_headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_dates_and_headers_are_read_and_the_last_wait_counts() {
        let seconds = |text: &str| wait(text).map(|wait| wait.as_secs());
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
        for nothing in ["", "\n", "soon", "HTTP/1.1 500 X\n\n", "retry-after: later", ": :\n:"] {
            assert_eq!(seconds(nothing), None, "{nothing:?}");
        }
        for zero in
            ["0\n", "0.0", "Fri, 31 Dec 1999 23:59:59 GMT", "1735689600", "Retry-After: 0\n"]
        {
            assert_eq!(wait(zero), None, "{zero:?}");
        }
    }
}
