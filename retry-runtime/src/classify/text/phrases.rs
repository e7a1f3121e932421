//! The vocabulary: what clients and servers say about their failures, and the words around it that
//! change the meaning.

use crate::classify::Class;

/// The context that a phrase needs to mean a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// Means a failure wherever it occurs.
    Event,
    /// Also the name of a setting: counts only where the text is not about one.
    Noun,
    /// Counts only as one identifier: `server_error`, `SlowDown`.
    Name,
    /// Counts only in capitals.
    Capitals,
}

/// A phrase and its class.
///
/// In `words`, `~` stands for any number of words that add nothing ("was", "by"), `:` allows
/// punctuation between its neighbours, and "couldn't" is two words.
pub(super) struct Phrase {
    pub(super) class: Class,
    pub(super) sense: Sense,
    pub(super) words: &'static str,
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

pub(super) const NETWORK: Class = Class::NETWORK;
pub(super) const TIMEOUT: Class = Class::TIMEOUT;
pub(super) const SERVER: Class = Class::SERVER_ERROR;
pub(super) const RATE: Class = Class::RATE_LIMIT;
pub(super) const CONFLICT: Class = Class::CONFLICT;
pub(super) const UNAVAILABLE: Class = NETWORK.union(SERVER);
pub(super) const GATEWAY_TIMEOUT: Class = SERVER.union(TIMEOUT);

#[rustfmt::skip]
pub(super) const PHRASES: &[Phrase] = &[
    // Operating systems, and how libraries reword their errors.
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
    // curl's 18 and 92
    event(NETWORK, "transfer closed"),
    event(NETWORK, "stream ~ not closed cleanly"),
    event(NETWORK, "connection failure"),
    event(NETWORK, "connect error"),
    event(NETWORK, "connection gone"),
    event(NETWORK, "connection forced"),
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
    event(NETWORK, "host not found"),
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
    event(NETWORK, "peer disconnected"),
    event(NETWORK, "hung up unexpectedly"),
    event(NETWORK, "transfer closed with"),
    event(NETWORK, "not closed cleanly"),
    event(NETWORK, "closed idle connection"),
    event(NETWORK, "connection attempt failed"),
    event(NETWORK, "transport failure"),
    event(NETWORK, "handshake not finished"),
    event(NETWORK, "response error : incomplete response"),
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
    event(NETWORK, "end of file on communication channel"),
    event(NETWORK, "tns : no listener"),
    event(NETWORK, "can t contact"),
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
    event(TIMEOUT, "resource temporarily unavailable"),
    event(TIMEOUT, "failed to respond"),
    event(TIMEOUT, "no heartbeat received"),
    event(TIMEOUT, "no heartbeat received ~ for too long"),
    event(TIMEOUT, "did not properly respond after a period of time"),
    event(TIMEOUT, "os error : 10060"),
    event(TIMEOUT, "query wait timeout"),
    noun(TIMEOUT, "timeout"),

    event(SERVER, "internal server error"),
    event(SERVER, "internal server exception"),
    event(SERVER, "internal service error"),
    event(SERVER, "encountered an internal error"),
    event(SERVER, "http server error"),
    event(SERVER, "status server error"),
    name(SERVER, "server error"),
    name(SERVER, "internal failure"),
    name(SERVER, "internal error"),
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
    // gRPC codes, as its implementations print them.
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
    // Databases that are up, but are not accepting calls.
    event(SERVER, "too many connections"),
    event(SERVER, "too many clients"),
    event(SERVER, "remaining connection slots are reserved"),
    event(SERVER, "database system is starting up"),
    event(SERVER, "database system is shutting down"),
    event(SERVER, "database system is in recovery mode"),
    event(SERVER, "server shutdown in progress"),
    event(SERVER, "is loading the dataset"),
    event(SERVER, "clusterdown"),
    event(SERVER, "cluster down"),
    event(SERVER, "masterdown"),
    event(SERVER, "master down"),
    event(SERVER, "read only replica"),
    event(SERVER, "tryagain"),
    name(SERVER, "try again"),
    event(SERVER, "noreplicas"),
    event(SERVER, "not enough good replicas"),
    event(SERVER, "redis is busy"),
    event(SERVER, "device busy"),
    event(SERVER, "leader not available"),
    event(SERVER, "not primary"),
    event(SERVER, "not accepting clients"),
    event(SERVER, "max number of clients reached"),
    event(SERVER, "no more connections allowed"),
    event(SERVER, "server login has been failing"),
    // SMTP.
    event(SERVER, "transient error"),
    event(SERVER, "transient failure"),
    event(SERVER, "try again later"),

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

    // Transactions that lost against others.
    event(CONFLICT, "could not serialize access"),
    event(CONFLICT, "can t serialize access"),
    event(CONFLICT, "serialization failure"),
    event(CONFLICT, "serialization error"),
    event(CONFLICT, "deadlock found"),
    event(CONFLICT, "deadlock detected"),
    event(CONFLICT, "deadlock victim"),
    event(CONFLICT, "deadlocked on lock"),
    event(CONFLICT, "could not obtain lock"),
    event(CONFLICT, "lock not available"),
    event(CONFLICT, "lock wait timeout exceeded"),
    event(CONFLICT, "due to lock timeout"),
    event(CONFLICT, "lock request time out"),
    event(CONFLICT, "database is locked"),
    event(CONFLICT, "database table is locked"),
    event(CONFLICT, "database schema is locked"),
    event(CONFLICT, "sqlite busy"),
    event(CONFLICT, "sqlite locked"),
    event(CONFLICT, "restart transaction"),
    event(CONFLICT, "try restarting transaction"),
    event(CONFLICT, "restart read required"),
    event(CONFLICT, "write conflict"),
    event(CONFLICT, "transaction conflict"),
    event(CONFLICT, "transaction ~ conflicted"),
    event(CONFLICT, "optimistic lock"),
    event(CONFLICT, "version conflict"),
    event(CONFLICT, "update conflict"),
    event(CONFLICT, "record has changed since"),
    event(CONFLICT, "object has been modified"),
    event(CONFLICT, "code : aborted"),
    event(CONFLICT, "status : aborted"),
    event(CONFLICT, "10 aborted"),
    event(CONFLICT, "code : the operation was aborted"),
];

/// Words of a failure that lasts: they silence what is said beside and around them.
#[rustfmt::skip]
pub(super) const REFUSALS: &[&str] = &[
    // Who asks.
    "permission denied", "permission ~ denied", "access denied", "access is denied", "not authorized", "not authorised",
    "unauthorized", "unauthorised", "unauthenticated", "not authenticated", "forbidden",
    "authentication failed", "authentication failure", "authentication required",
    "authentication error", "auth failed", "auth error", "access refused", "authorization violation", "authorization required", "authorization failed",
    "invalid password", "wrong password", "incorrect password", "bad password",
    "invalid credentials", "bad credentials", "incorrect credentials", "login failed", "login incorrect",
    "logon failed", "invalid token", "token expired", "token has expired", "token is expired",
    "invalid api key", "incorrect api key", "bad user name", "bad username", "identifier rejected", "refused protocol version", "bad client id",
    "insufficient privilege", "insufficient privileges", "insufficient permissions",
    "not permitted", "not allowed", "noauth", "noperm", "wrongpass", "pg hba",
    "no permission", "no permissions", "no perm", "does not have permission",
    "does not have valid authentication", "proxy authorization required", "due to user request",
    // What is asked for.
    "does not exist", "doesn t exist", "do not exist", "not found", "no such", "unknown column",
    "unknown database", "unknown table", "unknown command", "unknown topic", "unknown method",
    "unknown option", "unknown flag", "undefined column", "undefined table", "undefined function",
    "no column found", "no rows returned", "no matching script", "no script", "closed pool",
    "already exists", "moved permanently",
    // How it is asked.
    "invalid input syntax", "syntax error", "parse error", "parsing error", "invalid argument",
    "invalid request", "bad request", "invalid syntax", "invalid url", "invalid uri", "malformed",
    "error decoding", "too many redirects", "invalid connection string", "invalid value",
    "failed to parse", "could not parse", "cannot parse", "unsupported", "not supported",
    "mismatched types", "incompatible type", "invalid port", "invalid http version",
    "error with configuration", "without a base", "precondition failed", "number of rows", "not in a state required", "unrecoverable",
    "wrongtype", "noscript", "too long", "too large", "out of range", "division by zero",
    // Who answers.
    "certificate", "x509", "unknown issuer", "unknownissuer", "wrong version number",
    "invalidcontenttype", "invalid content type", "host key verification failed",
    "no space left", "read only file system",
];

/// Refusals that nothing behind them overrules: what the data must not be, and the server's own
/// word. What follows is data (`DETAIL: Failing row contains …`), or the reason.
#[rustfmt::skip]
pub(super) const FINAL_REFUSALS: &[&str] = &[
    "duplicate key", "duplicate entry", "violates", "constraint failed", "constraint violation",
    "permanent error", "permanent failure", "permanently",
];

/// Words that may occur inside a phrase without changing it.
#[rustfmt::skip]
pub(super) const FILLERS: &[&str] = &[
    "a", "abruptly", "already", "an", "and", "are", "been", "being", "by", "currently", "from",
    "got", "had", "has", "have", "is", "its", "just", "of", "our", "peer", "server", "suddenly",
    "temporarily", "the", "this", "to", "too", "unexpectedly", "was", "were", "with", "your",
];

/// Words before a noun that make it the name of a setting.
#[rustfmt::skip]
pub(super) const SETTING_BEFORE: &[&str] = &[
    "argument", "attribute", "column", "configure", "deserialize", "duplicate", "field", "flag",
    "illegal", "invalid", "key", "missing", "negative", "no", "option", "param", "parameter",
    "parse", "parsing", "property", "setting", "specify", "unknown", "unsupported", "variable",
    "without", "zero",
];

/// Those that do so even across punctuation: "field: timeout".
#[rustfmt::skip]
pub(super) const SETTING_LABEL: &[&str] =
    &["argument", "field", "flag", "option", "param", "parameter", "property", "setting", "variable"];

/// Words shortly after a noun that make it the name of a setting.
#[rustfmt::skip]
pub(super) const SETTING_AFTER: &[&str] = &[
    "argument", "attribute", "can", "cannot", "config", "configuration", "duration", "expected", "field",
    "flag", "greater", "header", "invalid", "larger", "longer", "missing", "must", "needs",
    "negative", "option", "options", "parameter", "policy", "property", "required", "setting",
    "settings", "shorter", "should", "smaller", "unsupported", "value", "values", "variable",
    "zero",
];

/// Words that may end an identifier after the phrase: `SocketTimeoutException`.
#[rustfmt::skip]
pub(super) const ERROR_ENDINGS: &[&str] = &[
    "elapsed", "err", "error", "exceeded", "exception", "expired", "failure", "fault", "occurred",
    "reached",
];

/// Words that say that the number after them is an HTTP status.
#[rustfmt::skip]
pub(super) const STATUS_WORDS: &[&str] = &["http", "responded", "status"];

/// Words that may occur between those and the number.
#[rustfmt::skip]
pub(super) const STATUS_FILLERS: &[&str] = &[
    "a", "an", "client", "code", "error", "is", "of", "response", "returned", "server", "was",
    "with",
];

/// Words that say that the number after them is something else.
#[rustfmt::skip]
pub(super) const OTHER_CODES: &[&str] = &["exit", "exited", "line", "os", "parse", "process", "sql", "syntax"];

/// Units: "error 500 rows" counts rows.
#[rustfmt::skip]
pub(super) const UNITS: &[&str] = &[
    "bytes", "entries", "errors", "events", "files", "hours", "items", "kb", "lines", "mb",
    "messages", "minutes", "ms", "objects", "percent", "records", "requests", "retries", "rows",
    "s", "seconds", "times", "users", "warnings",
];

/// The text after a bare status code that confirms it. Reasons that are sufficient without the code
/// are phrases.
#[rustfmt::skip]
pub(super) const REASONS: &[&str] = &[
    "backend fetch failed", "internal error", "not implemented", "proxy error", "request time out",
    "request timeout", "server error", "slow down",
];
