//! The class of an error that is known only by its text.
//!
//! The text is read as words, not as a sequence of characters: "1500ms" contains no "500", and
//! `timeout_ms` is one name. A status code counts only where the text says that it is one. Words
//! that also name a setting ("timeout", "rate limit") do not count where the text is about the
//! setting.

mod phrases;
mod words;

use self::phrases::{
    ERROR_ENDINGS, FILLERS, OTHER_CODES, PHRASES, Phrase, REASONS, SETTING_AFTER, SETTING_BEFORE,
    SETTING_LABEL, STATUS_FILLERS, STATUS_WORDS, Sense, UNITS,
};
use self::words::{Word, Words, is_word_char};
use super::{Class, status};

/// Returns what kind of failure a text describes; for errors that are only text.
///
/// Recognises the messages of common clients and servers: operating systems, HTTP and gRPC,
/// databases, cloud APIs, the runtimes of other languages. Addresses (`https://…`, `/paths`) are
/// skipped, and so is everything past the first 16 KiB.
///
/// ```
/// use retry_runtime::{Class, classify};
///
/// assert_eq!(classify::text("HTTP/1.1 503 Service Unavailable"), Class::SERVER_ERROR);
/// assert_eq!(classify::text("read 500 rows, then an invalid row"), Class::empty());
/// assert_eq!(classify::text("invalid value for field timeout_ms"), Class::empty());
/// ```
pub fn text(text: &str) -> Class {
    let words = Words::split(text);
    (0..words.list.len()).fold(Class::empty(), |class, at| {
        PHRASES
            .iter()
            .filter(|phrase| !class.contains(phrase.class) && phrase.is_at(&words, at))
            .fold(class | words.status_at(at), |class, phrase| class | phrase.class)
    })
}

/// The rules that read a class off the words of a text.
impl Words<'_> {
    /// Where the words of `phrase`, found at `at`, end; `None` if they are not there.
    fn phrase_end(&self, phrase: &str, at: usize) -> Option<usize> {
        let mut next = at;
        let mut any_glue = false;
        let mut fillers = false;
        for expected in phrase.split(' ') {
            match expected {
                "~" => fillers = true,
                ":" => any_glue = true,
                _ => {
                    loop {
                        let word = self.list.get(next)?;
                        if next > at && !any_glue && !self.is_close(next) {
                            return None;
                        }
                        if word.is(expected) {
                            break;
                        }
                        if !(fillers && adds_nothing(word)) {
                            return None;
                        }
                        next += 1;
                    }
                    next += 1;
                    (any_glue, fillers) = (false, false);
                }
            }
        }
        Some(next)
    }

    /// Whether the words `from..to` are a whole identifier, or the part of one that determines its
    /// meaning: `ConnectTimeout`, `ERR_CONNECTION_RESET`, but not `timeout_ms`.
    fn says_itself(&self, from: usize, to: usize, sense: Sense) -> bool {
        let mut last = to;
        while self.is_joined(last) {
            if !self.list[last].is_in(ERROR_ENDINGS) {
                return false;
            }
            last += 1;
        }
        let mut first = from;
        while self.is_joined(first) {
            first -= 1;
        }
        let named_error = last > to;
        let capitalised = self.list[first].text.starts_with(|c: char| c.is_ascii_uppercase());
        first == from || named_error || capitalised || sense != Sense::Noun
    }

    /// Whether the words `from..to` name a setting rather than an event.
    fn is_setting(&self, from: usize, to: usize) -> bool {
        let (start, end) = (self.list[from].start, self.list[to - 1].end);
        let after = &self.text[end..];
        let unquoted = after.trim_start_matches(['"', '\'', '`']);
        let quoted = unquoted.len() < after.len();
        let is_key = unquoted.starts_with('=') || (quoted && unquoted.starts_with(':'));
        let lower = self.list[from].text.starts_with(|c: char| c.is_lowercase());
        let dotted_before = self.text[..start].ends_with('.');
        let dotted_after = after.starts_with('.') && after[1..].starts_with(is_word_char);
        // Rust libraries quote names in this way, and nothing else.
        let is_name = self.text[..start].ends_with('`') && after.starts_with('`');
        if is_key || is_name || (lower && (dotted_before || dotted_after)) {
            return true;
        }

        for at in (from.saturating_sub(3)..from).rev() {
            let word = self.list[at];
            if !self.is_close(at + 1) {
                if word.is_in(SETTING_LABEL) {
                    return true;
                }
                break;
            }
            if word.is_in(SETTING_BEFORE) {
                return true;
            }
        }
        (to..self.list.len().min(to + 3))
            .take_while(|&at| self.is_close(at) || self.glue(at).trim() == ":")
            .any(|at| self.list[at].is_in(SETTING_AFTER))
    }

    /// The class of the status code at `at`, if the word there is one.
    fn status_at(&self, at: usize) -> Class {
        let word = self.list[at];
        let is_code = word.text.len() == 3 && word.text.bytes().all(|b| b.is_ascii_digit());
        let class = word.text.parse().map_or(Class::empty(), status);
        if !is_code || class.is_empty() || self.is_part_of_number(at) {
            return Class::empty();
        }
        let counts_things =
            self.is_close(at + 1) && self.list.get(at + 1).is_some_and(|next| next.is_in(UNITS));
        if !counts_things && (self.is_called_status(at) || self.has_reason(at)) {
            class
        } else {
            Class::empty()
        }
    }

    fn is_part_of_number(&self, at: usize) -> bool {
        let word = self.list[at];
        let before = &self.text[..word.start];
        let after = &self.text[word.end..];
        let digit_before = before
            .strip_suffix(['.', ','])
            .is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()));
        let digit_after = after
            .strip_prefix(['.', ',', ':'])
            .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
        let sign = before.ends_with(['$', '#', '+', '@'])
            || before.strip_suffix('-').is_some_and(|before| before.ends_with(char::is_whitespace));
        digit_before || digit_after || sign || after.starts_with(['%', '_'])
    }

    /// Whether the words before the number say that it is a status.
    fn is_called_status(&self, at: usize) -> bool {
        let is_plain =
            |glue: &str| !glue.contains([',', ';', '{', '}', ')']) && !glue.contains(". ");
        let before = |back: usize| at.checked_sub(back).map(|at| self.list[at]);
        let other_code = (1..=3).filter_map(before).any(|word| word.is_in(OTHER_CODES));
        if other_code || !is_plain(self.glue(at)) {
            return false;
        }

        // "Error 429", "server error (503)", "error code: 502", `"code":503`
        if let Some(word) = before(1) {
            let second = before(2);
            if word.is("error") && matches!(self.glue(at), " " | " (" | " [" | "(" | "_" | "-") {
                return true;
            }
            let of_response = |word: Word<'_>| word.is_in(&["error", "response"]);
            if word.is("code")
                && (second.is_some_and(of_response) || self.glue(at).starts_with('"'))
            {
                return true;
            }
            let speaks = ["returned", "replied", "answered", "sent"];
            let peers =
                ["server", "api", "upstream", "endpoint", "service", "backend", "gateway", "proxy"];
            if word.is_in(&speaks) && second.is_some_and(|peer| peer.is_in(&peers)) {
                return true;
            }
        }

        // "HTTP/1.1 503", "HTTP response code: 503", "status was 503"
        for back in 1..=6 {
            let Some(word) = before(back) else { break };
            if word.is_in(STATUS_WORDS) {
                return true;
            }
            let version = word.text.len() == 1 && word.text.as_bytes()[0].is_ascii_digit();
            let passes = word.is_in(STATUS_FILLERS) || version;
            if !passes || !is_plain(self.glue(at - back)) {
                break;
            }
        }
        false
    }

    /// Whether the number is followed by a reason phrase that belongs to a status.
    fn has_reason(&self, at: usize) -> bool {
        let separated =
            !self.glue(at + 1).contains([';', ',', '(', '\n']) && !self.glue(at + 1).contains(". ");
        separated && REASONS.iter().any(|reason| self.phrase_end(reason, at + 1).is_some())
    }
}

impl Phrase {
    fn is_at(&self, words: &Words<'_>, at: usize) -> bool {
        let Some(end) = words.phrase_end(self.words, at) else {
            return false;
        };
        if !words.says_itself(at, end, self.sense) {
            return false;
        }
        match self.sense {
            Sense::Event => true,
            Sense::Noun => !words.is_setting(at, end),
            Sense::Name => (at + 1..end).all(|at| words.is_joined(at)),
            Sense::Capitals => words.list[at].text.chars().all(|c| c.is_ascii_uppercase()),
        }
    }
}

/// Whether the word is a filler or an amount: "the deadline of 5s has passed".
fn adds_nothing(word: &Word<'_>) -> bool {
    word.is_in(FILLERS) || word.text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::phrases::{GATEWAY_TIMEOUT, NETWORK, RATE, SERVER, TIMEOUT, UNAVAILABLE};
    use super::words::LONGEST_TEXT;
    use super::*;

    const NONE: Class = Class::empty();

    /// Messages of libraries, servers and runtimes, with their classes.
    #[rustfmt::skip]
    const CASES: &[(Class, &str)] = &[
        // hyper, reqwest, h2
        (NETWORK, "client error (Connect)"),
        (NETWORK, "connection closed before message completed"),
        (NETWORK, "error reading a body from connection"),
        (NETWORK, "tcp connect error: Connection refused (os error 111)"),
        (NETWORK, "http2 error: stream error received: refused stream before processing any application logic"),
        (SERVER, "HTTP status server error (500 Internal Server Error) for url (https://h/)"),
        (GATEWAY_TIMEOUT, "HTTP status server error (504 Gateway Timeout) for url (https://h/)"),
        (RATE, "HTTP status client error (429 Too Many Requests) for url (https://h/)"),
        (TIMEOUT, "HTTP status client error (408 Request Timeout) for url (https://h/)"),
        (NONE, "HTTP status client error (404 Not Found) for url (https://h/timeout/500)"),
        (NONE, "error sending request for url (http://h/rate-limit?status=500)"),
        (NONE, "error decoding response body: expected value at line 1 column 500"),
        // curl
        (NETWORK, "curl: (6) Could not resolve host: example.invalid"),
        (NETWORK, "curl: (7) Failed to connect to localhost port 81 after 0 ms: Couldn't connect to server"),
        (NETWORK, "curl: (52) Empty reply from server"),
        (NETWORK, "curl: (56) Recv failure: Connection reset by peer"),
        (TIMEOUT, "curl: (28) Operation timed out after 5000 milliseconds with 0 bytes received"),
        (TIMEOUT, "Timeout was reached"),
        (SERVER, "curl: (22) The requested URL returned error: 503 Service Unavailable"),
        // PostgreSQL, MySQL, Redis, MongoDB, SQLite
        (NETWORK, "server closed the connection unexpectedly"),
        (NETWORK, "FATAL: terminating connection due to administrator command"),
        (NETWORK, "could not translate host name \"db\" to address: Name or service not known"),
        (NETWORK, "ERROR 2006 (HY000): MySQL server has gone away"),
        (NETWORK, "ERROR 2013 (HY000): Lost connection to MySQL server during query"),
        (NETWORK, "Communications link failure"),
        (SERVER, "FATAL: sorry, too many clients already"),
        (SERVER, "ERROR 1040 (08004): Too many connections"),
        (SERVER, "FATAL: the database system is starting up"),
        (SERVER, "LOADING Redis is loading the dataset in memory"),
        (TIMEOUT, "ERROR: canceling statement due to statement timeout"),
        (TIMEOUT, "Lock wait timeout exceeded; try restarting transaction"),
        (TIMEOUT, "pool timed out while waiting for an open connection"),
        (TIMEOUT, "PoolTimedOut"),
        (NONE, "Server error: `ERROR 42S02 (1146): Table 'a.b' doesn't exist`"),
        (NONE, "password authentication failed for user \"app\""),
        (NONE, "duplicate key value violates unique constraint \"timeout_key\""),
        (NONE, "database is locked"),
        (NONE, "ERROR: column \"rate_limit\" does not exist"),
        (NONE, "Unknown column 'timeout' in 'field list'"),
        // AWS, Google, OpenAI and others
        (RATE, "ThrottlingException: Rate exceeded"),
        (RATE, "An error occurred (Throttling) when calling the DescribeInstances operation"),
        (RATE, "ProvisionedThroughputExceededException"),
        (RATE, "SlowDown: Please reduce your request rate."),
        (RATE, "RequestLimitExceeded"),
        (RATE, "TooManyRequestsException"),
        (RATE, "{\"error\":{\"type\":\"rate_limit_exceeded\"}}"),
        (RATE, "{\"type\":\"rate_limit_error\",\"message\":\"\"}"),
        (RATE, "You are being rate limited."),
        (RATE, "API rate limit exceeded for user ID 1"),
        (RATE, "secondary rate limit"),
        (RATE, "Quota exceeded for quota metric 'Queries'"),
        (RATE, "quotaExceeded"),
        (SERVER, "{\"type\":\"server_error\"}"),
        (SERVER, "{\"status\":503,\"title\":\"\"}"),
        (SERVER, "{\"error\":{\"code\":500,\"message\":\"\"}}"),
        (SERVER, "InternalServerError"),
        (SERVER, "ServiceUnavailable: try later"),
        (SERVER, "overloaded_error: Overloaded"),
        (TIMEOUT, "RequestTimeout: Your socket connection to the server was not read from"),
        (NONE, "disk quota exceeded"),
        (NONE, "request size limit exceeded"),
        // gRPC
        (UNAVAILABLE, "rpc error: code = Unavailable desc = x"),
        (UNAVAILABLE, "14 UNAVAILABLE: No connection established"),
        (UNAVAILABLE, "StatusCode.UNAVAILABLE"),
        (UNAVAILABLE, "status: Unavailable, message: \"\""),
        (TIMEOUT, "rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
        (TIMEOUT, "4 DEADLINE_EXCEEDED: Deadline exceeded"),
        (TIMEOUT, "code: 'Deadline expired before operation could complete'"),
        (RATE, "rpc error: code = ResourceExhausted desc = x"),
        (RATE, "8 RESOURCE_EXHAUSTED: x"),
        (SERVER, "rpc error: code = Internal desc = x"),
        (SERVER, "code: 'The service is currently unavailable'"),
        (NONE, "rpc error: code = NotFound desc = no such row"),
        // Go
        (NETWORK, "dial tcp 127.0.0.1:500: connect: connection refused"),
        (NETWORK, "dial tcp: lookup nowhere.invalid: no such host"),
        (NETWORK, "read tcp 10.0.0.1:4->10.0.0.2:503: use of closed network connection"),
        (NETWORK, "write: broken pipe"),
        (TIMEOUT, "dial tcp 10.0.0.1:443: i/o timeout"),
        (TIMEOUT, "net/http: TLS handshake timeout"),
        (TIMEOUT, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
        // Java, Python, Node, browsers, Windows
        (TIMEOUT, "java.net.SocketTimeoutException: Read timed out"),
        (NETWORK, "java.net.UnknownHostException: nowhere"),
        (NETWORK, "java.net.ConnectException: Connection refused"),
        (SERVER, "Server returned HTTP response code: 503 for URL: http://h/"),
        (SERVER, "503 Server Error: Backend fetch failed for url: http://h/"),
        (TIMEOUT, "requests.exceptions.ReadTimeout"),
        (NETWORK, "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"),
        (NETWORK, "[Errno -3] Temporary failure in name resolution"),
        (NETWORK, "connect ECONNREFUSED 127.0.0.1:5432"),
        (NETWORK, "getaddrinfo ENOTFOUND nowhere.invalid"),
        (NETWORK, "getaddrinfo EAI_AGAIN nowhere.invalid"),
        (NETWORK, "socket hang up"),
        (TIMEOUT, "timeout of 5000ms exceeded"),
        (TIMEOUT, "UND_ERR_HEADERS_TIMEOUT"),
        (NETWORK, "TypeError: Failed to fetch"),
        (NETWORK, "TypeError: fetch failed"),
        (NETWORK, "net::ERR_CONNECTION_RESET"),
        (NETWORK, "net::ERR_NAME_NOT_RESOLVED"),
        (NETWORK, "NetworkError when attempting to fetch resource."),
        (NETWORK, "No connection could be made because the target machine actively refused it. (os error 10061)"),
        (NETWORK, "An existing connection was forcibly closed by the remote host. (os error 10054)"),
        // Proxies
        (SERVER, "<html><title>502 Bad Gateway</title></html>"),
        (SERVER, "no healthy upstream"),
        (NETWORK, "upstream connect error or disconnect/reset before headers"),
        (GATEWAY_TIMEOUT, "504 Gateway Time-out"),
        (TIMEOUT, "upstream request timeout"),
        (GATEWAY_TIMEOUT, "error code: 524"),
        // Status codes, and numbers that are not.
        (SERVER, "HTTP/1.1 503"),
        (SERVER, "HTTP/2 502"),
        (SERVER, "http error 500"),
        (SERVER, "status=500"),
        (SERVER, "unexpected status: 503."),
        (SERVER, "statusCode: 502, body: {}"),
        (SERVER, "StatusCode(500)"),
        (SERVER, "server responded with 503"),
        (SERVER, "upstream returned a 5xx response"),
        (SERVER, "501 Not Implemented"),
        (SERVER, "Server Error (500)"),
        (RATE, "status 429"),
        (NONE, "status 200"),
        (NONE, "HTTP 403 after 500 attempts"),
        (NONE, "process exited with exit status 503"),
        (NONE, "arithmetic result exceeded 32 bits (os error 534)"),
        (NONE, "parse error at line 500"),
        (NONE, "error: 500 rows were rejected"),
        (NONE, "error 500 rows in"),
        (NONE, "the server returned 500 rows"),
        (NONE, "cannot bind to 127.0.0.1:503: permission denied"),
        (NONE, "price is $500"),
        (NONE, "order #429 is closed"),
        (NONE, "version 1.500.0 is not supported"),
        (NONE, "status -500"),
        (NONE, "status 500.25"),
        (NONE, "500 internal links were checked"),
        (NONE, "code 500 is unknown to this catalogue"),
        // Settings, names and places
        (NONE, "invalid timeout"),
        (NONE, "unknown option: timeout"),
        (NONE, "the timeout must be positive"),
        (NONE, "timeout: invalid duration"),
        (NONE, "unknown field `connect_timeout`"),
        (NONE, "{\"timeout\": 30}"),
        (NONE, "timeout=abc is not a number"),
        (NONE, "config.timeout has the wrong type"),
        (NONE, "no such file: timeout.rs"),
        (NONE, "cannot open /etc/timeout/rate-limit"),
        (NONE, "environment variable REQUEST_TIMEOUT is not set"),
        (NONE, "rate limit must be at least 1"),
        (NONE, "missing field `rate_limit`"),
        (NONE, "the connection string is invalid"),
        (NONE, "payment deadline is in the past"),
        (NONE, "reset your password"),
        (NONE, "too many arguments"),
        (NONE, "gave up: the deadline leaves no time for another attempt"),
        (NONE, "gave up: the retry quota is used up"),
        (NONE, "circuit breaker `timeout` is open for another 3.0s"),
        (TIMEOUT, "the attempt timed out after 2s"),
        (TIMEOUT, "the deadline of 30s has passed"),
        (NONE, "unexpected end of input"),
        (NONE, "the gateway rejected the card"),
        (NONE, "service not found"),
        (NONE, "operation not permitted"),
        (NONE, "das Paket für „Zürich“ wurde zurückgewiesen"),
        (NONE, ""),
    ];

    #[test]
    fn texts_of_real_libraries_are_understood() {
        let wrong: Vec<_> = CASES
            .iter()
            .filter(|(class, text)| super::text(text) != *class)
            .map(|(class, text)| format!("{text:?} is {:?}, not {class:?}", super::text(text)))
            .collect();
        assert!(CASES.len() >= 60);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_failure_can_be_two_things() {
        let both = super::text("connection reset by peer, then the operation timed out");
        assert_eq!(both, NETWORK | TIMEOUT);
    }

    #[test]
    fn every_phrase_matches_itself() {
        for phrase in PHRASES {
            let plain: Vec<_> =
                phrase.words.split(' ').filter(|w| *w != "~" && *w != ":").collect();
            let text = match phrase.sense {
                Sense::Name => plain.join("_"),
                Sense::Capitals => plain.join(" ").to_uppercase(),
                Sense::Event | Sense::Noun => plain.join(" "),
            };
            assert!(super::text(&text).contains(phrase.class), "{text}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = "ü".repeat(LONGEST_TEXT);
        assert_eq!(super::text(&long[..]), NONE);
        assert_eq!(super::text(&format!("x{long} timed out")), NONE);
        assert_eq!(super::text(&format!("timed out {long}")), TIMEOUT);
    }
}
