//! What an error says that is known only by its text.
//!
//! The text is read as words, never as a string of characters: "1500ms" holds
//! no "500", and `timeout_ms` is one name. A status code counts only where the
//! text says that it is one. Words that also name a setting ("timeout", "rate
//! limit") do not count where the text speaks of the setting.

use super::{Class, status};

/// What kind of failure a text speaks of; for errors that are nothing but text.
///
/// Reads the texts of the usual clients and servers: operating systems, HTTP
/// and gRPC, databases, cloud APIs, the runtimes of other languages. Addresses
/// (`https://…`, `/paths`) are skipped, and so is everything past the first
/// 16 KiB.
///
/// ```
/// use retry_runtime::{Class, classify};
///
/// assert_eq!(classify::text("HTTP/1.1 503 Service Unavailable"), Class::SERVER_ERROR);
/// assert_eq!(classify::text("read 500 rows, then an invalid row"), Class::empty());
/// assert_eq!(classify::text("invalid value for field timeout_ms"), Class::empty());
/// ```
pub fn text(text: &str) -> Class {
    let words = Words::of(text);
    (0..words.list.len()).fold(Class::empty(), |class, at| {
        PHRASES
            .iter()
            .filter(|phrase| !class.contains(phrase.class) && phrase.is_at(&words, at))
            .fold(class | words.status_at(at), |class, phrase| class | phrase.class)
    })
}

/// More than any error message; a page of HTML names its status at the top.
const LONGEST_TEXT: usize = 16 * 1024;

/// What a phrase needs around it to mean a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    /// Means a failure wherever it stands.
    Event,
    /// The name of a setting as well: counts only where nothing speaks of one.
    Noun,
    /// Counts only as one identifier: `server_error`, `SlowDown`.
    Name,
    /// Counts only in capitals.
    Capitals,
}

/// A phrase and what it says.
///
/// In `words`, `~` stands for any number of words that add nothing ("was",
/// "by"), `:` lets punctuation stand between its neighbours, and "couldn't" is
/// two words.
struct Phrase {
    class: Class,
    sense: Sense,
    words: &'static str,
}

const fn event(class: Class, words: &'static str) -> Phrase {
    Phrase { class, sense: Sense::Event, words }
}

const fn noun(class: Class, words: &'static str) -> Phrase {
    Phrase { class, sense: Sense::Noun, words }
}

const fn name(class: Class, words: &'static str) -> Phrase {
    Phrase { class, sense: Sense::Name, words }
}

const fn capitals(class: Class, words: &'static str) -> Phrase {
    Phrase { class, sense: Sense::Capitals, words }
}

const NETWORK: Class = Class::NETWORK;
const TIMEOUT: Class = Class::TIMEOUT;
const SERVER: Class = Class::SERVER_ERROR;
const RATE: Class = Class::RATE_LIMIT;
const UNAVAILABLE: Class = NETWORK.union(SERVER);
const GATEWAY_TIMEOUT: Class = SERVER.union(TIMEOUT);

#[rustfmt::skip]
const PHRASES: &[Phrase] = &[
    // Operating systems, and what libraries make of their errors.
    event(NETWORK, "connection ~ refused"),
    event(NETWORK, "connection ~ reset"),
    event(NETWORK, "connection ~ aborted"),
    event(NETWORK, "connection ~ closed"),
    event(NETWORK, "connection ~ lost"),
    event(NETWORK, "connection ~ dropped"),
    event(NETWORK, "connection ~ terminated"),
    event(NETWORK, "connection ~ interrupted"),
    event(NETWORK, "connection ~ broken"),
    event(NETWORK, "connection ~ shut down"),
    event(NETWORK, "connection ~ forcibly closed"),
    event(NETWORK, "connection error"),
    event(NETWORK, "connection failure"),
    event(NETWORK, "connect error"),
    event(NETWORK, "connection gone"),
    event(NETWORK, "no connection could be made"),
    event(NETWORK, "actively refused"),
    event(NETWORK, "forcibly closed by the remote"),
    event(NETWORK, "software caused connection abort"),
    event(NETWORK, "closed ~ connection"),
    event(NETWORK, "lost ~ connection"),
    event(NETWORK, "terminating ~ connection"),
    event(NETWORK, "reset by peer"),
    event(NETWORK, "closed by peer"),
    event(NETWORK, "closed by remote host"),
    event(NETWORK, "peer closed ~ connection"),
    event(NETWORK, "use of closed network connection"),
    event(NETWORK, "broken pipe"),
    event(NETWORK, "network ~ unreachable"),
    event(NETWORK, "network ~ down"),
    event(NETWORK, "network unavailable"),
    event(NETWORK, "network error"),
    event(NETWORK, "network failure"),
    event(NETWORK, "network request failed"),
    event(NETWORK, "network changed"),
    event(NETWORK, "host ~ unreachable"),
    event(NETWORK, "host ~ down"),
    event(NETWORK, "destination ~ unreachable"),
    event(NETWORK, "unreachable host"),
    event(NETWORK, "no route to host"),
    event(NETWORK, "not connected"),
    event(NETWORK, "cannot assign requested address"),
    event(NETWORK, "os error : 10054"),
    event(NETWORK, "os error : 10061"),
    event(NETWORK, "econnrefused"),
    event(NETWORK, "econnreset"),
    event(NETWORK, "econnaborted"),
    event(NETWORK, "ehostunreach"),
    event(NETWORK, "ehostdown"),
    event(NETWORK, "enetunreach"),
    event(NETWORK, "enetdown"),
    event(NETWORK, "enotconn"),
    capitals(NETWORK, "epipe"),
    // Name resolution.
    event(NETWORK, "dns error"),
    event(NETWORK, "dns failure"),
    event(NETWORK, "dns lookup failed"),
    event(NETWORK, "failed to lookup address"),
    event(NETWORK, "failed to resolve host"),
    event(NETWORK, "could not resolve host"),
    event(NETWORK, "couldn t resolve host"),
    event(NETWORK, "could not resolve proxy"),
    event(NETWORK, "could not translate host name"),
    event(NETWORK, "name ~ not resolved"),
    event(NETWORK, "no such host"),
    event(NETWORK, "unknown host"),
    event(NETWORK, "name or service not known"),
    event(NETWORK, "nodename nor servname provided"),
    event(NETWORK, "temporary failure in name resolution"),
    event(NETWORK, "name resolution failed"),
    event(NETWORK, "getaddrinfo enotfound"),
    event(NETWORK, "eai again"),
    // HTTP clients, browsers and proxies.
    event(NETWORK, "client error : connect"),
    event(NETWORK, "failed to connect to"),
    event(NETWORK, "could not connect to"),
    event(NETWORK, "couldn t connect to"),
    event(NETWORK, "unable to connect to"),
    event(NETWORK, "can t connect to"),
    event(NETWORK, "cannot connect to"),
    event(NETWORK, "failed to fetch"),
    event(NETWORK, "type error : fetch failed"),
    event(NETWORK, "internet disconnected"),
    event(NETWORK, "internet connection appears to be offline"),
    event(NETWORK, "socket hang up"),
    event(NETWORK, "socket ~ closed"),
    event(NETWORK, "other side closed"),
    event(NETWORK, "empty reply from server"),
    event(NETWORK, "empty response from server"),
    event(NETWORK, "remote end closed"),
    event(NETWORK, "error reading a body from connection"),
    event(NETWORK, "recv failure"),
    event(NETWORK, "send failure"),
    event(NETWORK, "unexpected eof during handshake"),
    event(NETWORK, "disconnect : reset before headers"),
    event(NETWORK, "refused stream"),
    event(NETWORK, "goaway"),
    event(NETWORK, "transport is closing"),
    event(NETWORK, "transport error"),
    event(NETWORK, "bytes at eof"),
    // Databases.
    event(NETWORK, "server has gone away"),
    event(NETWORK, "server closed the connection"),
    event(NETWORK, "communications link failure"),
    event(NETWORK, "server selection error"),

    event(TIMEOUT, "timed out"),
    event(TIMEOUT, "timedout"),
    event(TIMEOUT, "time out"),
    event(TIMEOUT, "etimedout"),
    event(TIMEOUT, "esockettimedout"),
    event(TIMEOUT, "wsaetimedout"),
    event(TIMEOUT, "timeout ~ exceeded"),
    event(TIMEOUT, "timeout ~ expired"),
    event(TIMEOUT, "timeout ~ elapsed"),
    event(TIMEOUT, "timeout ~ reached"),
    event(TIMEOUT, "timeout ~ occurred"),
    event(TIMEOUT, "deadline ~ elapsed"),
    event(TIMEOUT, "deadline ~ exceeded"),
    event(TIMEOUT, "deadline ~ expired"),
    event(TIMEOUT, "deadline ~ passed"),
    event(TIMEOUT, "deadlineexceeded"),
    event(TIMEOUT, "did not properly respond after a period of time"),
    event(TIMEOUT, "os error : 10060"),
    noun(TIMEOUT, "timeout"),

    event(SERVER, "internal server error"),
    event(SERVER, "internal server exception"),
    event(SERVER, "internal service error"),
    event(SERVER, "encountered an internal error"),
    event(SERVER, "http server error"),
    event(SERVER, "status server error"),
    name(SERVER, "server error"),
    name(SERVER, "internal failure"),
    event(SERVER, "bad gateway"),
    event(GATEWAY_TIMEOUT, "gateway timeout"),
    event(GATEWAY_TIMEOUT, "gateway time out"),
    event(GATEWAY_TIMEOUT, "gateway timed out"),
    event(SERVER, "service ~ unavailable"),
    event(SERVER, "server ~ unavailable"),
    event(SERVER, "backend ~ unavailable"),
    event(SERVER, "upstream ~ unavailable"),
    event(SERVER, "no healthy upstream"),
    event(SERVER, "no server is available to handle"),
    event(SERVER, "web server is down"),
    event(SERVER, "server ~ overloaded"),
    event(SERVER, "service ~ overloaded"),
    event(SERVER, "model ~ overloaded"),
    event(SERVER, "overloaded error"),
    event(SERVER, "server busy"),
    event(SERVER, "server is busy"),
    event(SERVER, "http 5xx"),
    event(SERVER, "5xx error"),
    event(SERVER, "5xx response"),
    event(SERVER, "status 5xx"),
    // gRPC's codes, as its implementations print them.
    event(UNAVAILABLE, "code : unavailable"),
    event(UNAVAILABLE, "status : unavailable"),
    capitals(UNAVAILABLE, "unavailable"),
    event(SERVER, "code : internal desc"),
    event(SERVER, "status : internal message"),
    event(SERVER, "code internal error"),
    event(RATE, "some resource has been exhausted"),
    event(RATE, "resource ~ exhausted : desc"),
    event(RATE, "code : resource exhausted"),
    event(RATE, "status : resource exhausted"),
    name(RATE, "resource exhausted"),
    // Databases that are up, but take no calls now.
    event(SERVER, "too many connections"),
    event(SERVER, "too many clients"),
    event(SERVER, "remaining connection slots are reserved"),
    event(SERVER, "database system is starting up"),
    event(SERVER, "database system is shutting down"),
    event(SERVER, "database system is in recovery mode"),
    event(SERVER, "server shutdown in progress"),
    event(SERVER, "is loading the dataset"),
    event(SERVER, "clusterdown"),
    event(SERVER, "masterdown"),

    event(RATE, "too many requests"),
    event(RATE, "rate limited"),
    event(RATE, "ratelimited"),
    event(RATE, "rate limiting"),
    event(RATE, "rate limit ~ exceeded"),
    event(RATE, "rate limit ~ reached"),
    event(RATE, "rate limit ~ hit"),
    event(RATE, "exceeded ~ rate limit"),
    event(RATE, "hit ~ rate limit"),
    event(RATE, "reached ~ rate limit"),
    event(RATE, "rate exceeded"),
    event(RATE, "request rate ~ large"),
    event(RATE, "request limit exceeded"),
    event(RATE, "requests limit exceeded"),
    event(RATE, "bandwidth limit exceeded"),
    event(RATE, "provisioned throughput exceeded"),
    event(RATE, "reduce your request rate"),
    event(RATE, "please slow down"),
    event(RATE, "throttled"),
    noun(RATE, "throttling"),
    noun(RATE, "rate limit"),
    noun(RATE, "ratelimit"),
    name(RATE, "slow down"),
    name(RATE, "quota exceeded"),
    event(RATE, "quota exceeded for quota"),
    event(RATE, "api quota exceeded"),
    event(RATE, "request quota exceeded"),
];

/// Words that may stand inside a phrase without changing it.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "a", "abruptly", "already", "an", "and", "are", "been", "being", "by", "currently", "from",
    "got", "had", "has", "have", "is", "its", "just", "of", "our", "peer", "server", "suddenly",
    "temporarily", "the", "this", "to", "too", "unexpectedly", "was", "were", "with", "your",
];

/// Words before a noun that make it the name of a setting.
#[rustfmt::skip]
const SETTING_BEFORE: &[&str] = &[
    "argument", "attribute", "column", "configure", "deserialize", "duplicate", "field", "flag",
    "illegal", "invalid", "key", "missing", "negative", "no", "option", "param", "parameter",
    "parse", "parsing", "property", "setting", "specify", "unknown", "unsupported", "variable",
    "without", "zero",
];

/// Words before a noun that keep doing so across punctuation: "field: timeout".
#[rustfmt::skip]
const SETTING_LABEL: &[&str] =
    &["argument", "field", "flag", "option", "param", "parameter", "property", "setting", "variable"];

/// Words soon after a noun that make it the name of a setting.
#[rustfmt::skip]
const SETTING_AFTER: &[&str] = &[
    "argument", "attribute", "cannot", "config", "configuration", "duration", "expected", "field",
    "flag", "greater", "header", "invalid", "larger", "longer", "missing", "must", "needs",
    "negative", "option", "options", "parameter", "policy", "property", "required", "setting",
    "settings", "shorter", "should", "smaller", "unsupported", "value", "values", "variable",
    "zero",
];

/// What may end an identifier after the phrase: `SocketTimeoutException`.
#[rustfmt::skip]
const ERROR_ENDINGS: &[&str] = &[
    "elapsed", "err", "error", "exceeded", "exception", "expired", "failure", "fault", "occurred",
    "reached",
];

/// Words that say that the number after them is an HTTP status.
#[rustfmt::skip]
const STATUS_WORDS: &[&str] = &["http", "responded", "status"];

/// Words that may stand between those and the number.
#[rustfmt::skip]
const STATUS_FILLERS: &[&str] = &[
    "a", "an", "client", "code", "error", "is", "of", "response", "returned", "server", "was",
    "with",
];

/// Words that say that the number after them is something else.
#[rustfmt::skip]
const OTHER_CODES: &[&str] = &["exit", "exited", "line", "os", "parse", "process", "sql", "syntax"];

/// Units: "error 500 rows" counts rows.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "bytes", "entries", "errors", "events", "files", "hours", "items", "kb", "lines", "mb",
    "messages", "minutes", "ms", "objects", "percent", "records", "requests", "retries", "rows",
    "s", "seconds", "times", "users", "warnings",
];

/// What follows a status code that stands alone. Reasons that say enough
/// without the code are phrases.
#[rustfmt::skip]
const REASONS: &[&str] = &[
    "backend fetch failed", "internal error", "not implemented", "proxy error", "request time out",
    "request timeout", "server error", "slow down",
];

/// A word: a part of an identifier where it stands in one.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

impl Word<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    fn is_in(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// A filler, or an amount: "the deadline of 5s has passed".
    fn adds_nothing(&self) -> bool {
        self.is_in(FILLERS) || self.text.starts_with(|c: char| c.is_ascii_digit())
    }
}

struct Words<'a> {
    text: &'a str,
    list: Vec<Word<'a>>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];

        let mut list = Vec::new();
        let mut at = 0;
        while let Some(skipped) = text[at..].find(is_word_char) {
            let start = at + skipped;
            if let Some(end) = address_end(text, start) {
                at = end;
                continue;
            }
            let run = &text[start..];
            let end = start + run.find(|c| !is_word_char(c)).unwrap_or(run.len());
            split_identifier(text, start, end, &mut list);
            at = end;
        }
        Self { text, list }
    }

    /// What stands between a word and the one before it.
    fn glue(&self, at: usize) -> &'a str {
        let before = if at == 0 { 0 } else { self.list[at - 1].end };
        self.list.get(at).map_or("", |word| &self.text[before..word.start])
    }

    /// The two words before and at `at` follow each other in one sentence.
    fn is_close(&self, at: usize) -> bool {
        self.glue(at)
            .chars()
            .all(|c| c.is_whitespace() || matches!(c, '-' | '_' | '"' | '\'' | '`'))
    }

    /// The two words before and at `at` are parts of one identifier.
    fn is_joined(&self, at: usize) -> bool {
        at > 0 && at < self.list.len() && matches!(self.glue(at), "" | "_")
    }

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
                        if !(fillers && word.adds_nothing()) {
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

    /// The words `from..to` are a whole identifier or the part of one that says
    /// what it is: `ConnectTimeout`, `ERR_CONNECTION_RESET`, not `timeout_ms`.
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

    /// The words `from..to` name a setting and not what happened.
    fn is_setting(&self, from: usize, to: usize) -> bool {
        let (start, end) = (self.list[from].start, self.list[to - 1].end);
        let after = &self.text[end..];
        let unquoted = after.trim_start_matches(['"', '\'', '`']);
        let quoted = unquoted.len() < after.len();
        let is_key = unquoted.starts_with('=') || (quoted && unquoted.starts_with(':'));
        let lower = self.list[from].text.starts_with(|c: char| c.is_lowercase());
        let dotted_before = self.text[..start].ends_with('.');
        let dotted_after = after.starts_with('.') && after[1..].starts_with(is_word_char);
        // Rust libraries quote names, and nothing else, in this way.
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

    /// What the status code at `at` says, if the word there is one.
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

    /// The words before the number say that it is a status.
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

    /// The number is followed by the reason that belongs to it.
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

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where the address that begins at `start` ends; `None` if none begins there.
fn address_end(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start..];
    let scheme = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-')));
    let has_scheme = scheme.is_some_and(|end| rest[end..].starts_with("://"));
    let is_path = text[..start].strip_suffix('/').is_some_and(|before| {
        before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || "\"'`(<".contains(c))
    });
    // A closing tag is no path.
    let is_tag = text[..start].ends_with("</");
    if !has_scheme && (!is_path || is_tag) {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, ')' | '>' | '"' | '\'' | '`' | '<');
    Some(start + rest.find(ends).unwrap_or(rest.len()))
}

/// `ERR_TIMED_OUT` → ERR TIMED OUT, `HTTPServerError` → HTTP Server Error.
fn split_identifier<'a>(text: &'a str, start: usize, end: usize, list: &mut Vec<Word<'a>>) {
    let bytes = text.as_bytes();
    let mut word_start = start;
    let mut push = |from: usize, to: usize| {
        if from < to {
            list.push(Word { text: &text[from..to], start: from, end: to });
        }
    };
    for at in start..end {
        let is_underscore = bytes[at] == b'_';
        let is_hump = at > word_start
            && bytes[at].is_ascii_uppercase()
            && (bytes[at - 1].is_ascii_lowercase()
                || (bytes[at - 1].is_ascii_uppercase()
                    && at + 1 < end
                    && bytes[at + 1].is_ascii_lowercase()));
        if is_underscore {
            push(word_start, at);
            word_start = at + 1;
        } else if is_hump {
            push(word_start, at);
            word_start = at;
        }
    }
    push(word_start, end);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Class = Class::empty();

    /// What libraries, servers and runtimes say, and what it is.
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
        // Status codes, and numbers that are none
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
