//! The vocabulary: what clients and servers say about their failures, and the words around it that
//! change the meaning.

use std::sync::LazyLock;

use crate::classify::Class;

/// The context that a phrase needs to mean a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// Means a failure wherever it occurs.
    Event,
    /// Counts wherever it occurs, also as a part of an identifier.
    Anywhere,
    /// Also the name of a setting: counts only where the text is not about one.
    Noun,
    /// Counts only as one identifier: `server_error`, `SlowDown`.
    Name,
    /// Counts only in capitals.
    Capitals,
    /// Also the end of a text that is parsed: counts only where no place in it is named.
    Eof,
}

/// The meaning of a phrase.
#[derive(Clone, Copy)]
pub(super) enum Says {
    /// A failure that passes.
    Failure(Class),
    /// A failure that lasts.
    Refusal,
    /// A failure that lasts, which nothing overrules.
    FinalRefusal,
    /// A failure of the caller, which only a rate limit overrules.
    CallerRefusal,
}

/// A phrase and its meaning.
///
/// In `words`:
///
/// - `~` stands for a few words that add nothing ("was", "by"), and `*` for a few words of any kind
///   in the same part.
/// - `:` allows punctuation between its neighbours; at the end it requires a colon.
/// - `^` is the beginning of a clause, and `$` its end.
/// - `#` is a number, `@peer` one of [`PEERS`], `@allowance` one of [`ALLOWANCES`], and `@cannot`
///   one of [`CANNOT`]. "Couldn't" is two words.
#[derive(Clone, Copy)]
pub(super) struct Phrase {
    pub(super) says: Says,
    pub(super) sense: Sense,
    pub(super) words: &'static str,
}

const fn event(class: Class, words: &'static str) -> Phrase {
    Phrase { says: Says::Failure(class), sense: Sense::Event, words }
}

const fn noun(class: Class, words: &'static str) -> Phrase {
    Phrase { says: Says::Failure(class), sense: Sense::Noun, words }
}

const fn name(class: Class, words: &'static str) -> Phrase {
    Phrase { says: Says::Failure(class), sense: Sense::Name, words }
}

const fn capitals(class: Class, words: &'static str) -> Phrase {
    Phrase { says: Says::Failure(class), sense: Sense::Capitals, words }
}

const fn eof(words: &'static str) -> Phrase {
    Phrase { says: Says::Failure(NETWORK), sense: Sense::Eof, words }
}

/// Returns the phrases that begin with a letter, or with a kind of word.
pub(super) fn beginning_with(initial: u8) -> &'static [Phrase] {
    INDEX.get(usize::from(initial)).map_or(&[], |phrases| phrases)
}

static INDEX: LazyLock<[Vec<Phrase>; 128]> = LazyLock::new(|| {
    let listed = |list: &'static [&'static str], says, sense| {
        list.iter().map(move |&words| Phrase { says, sense, words })
    };
    let all = (PHRASES.iter().copied())
        .chain(listed(REFUSALS, Says::Refusal, Sense::Anywhere))
        .chain(listed(FAULTS, Says::Refusal, Sense::Name))
        .chain(listed(CALLER_REFUSALS, Says::CallerRefusal, Sense::Anywhere))
        .chain(listed(FINAL_REFUSALS, Says::FinalRefusal, Sense::Anywhere));
    let mut index = [const { Vec::new() }; 128];
    for phrase in all {
        index[usize::from(initial(phrase.words))].push(phrase);
    }
    index
});

/// Returns the first letter of a phrase, which is in lower case, or a capital for each kind of
/// word.
pub(super) const fn initial(phrase: &str) -> u8 {
    let bytes = phrase.as_bytes();
    let at = if bytes[0] == b'^' { 2 } else { 0 };
    if bytes[at] == b'@' { bytes[at + 1].to_ascii_uppercase() } else { bytes[at] }
}

/// The words of a phrase that stand for one of several.
pub(super) const KINDS: [&str; 3] = ["@peer", "@allowance", "@cannot"];

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
    event(NETWORK, "actively refused"),
    event(NETWORK, "forcibly closed by the remote"),
    event(NETWORK, "software caused connection abort"),
    event(NETWORK, "closed ~ connection"),
    event(NETWORK, "lost ~ connection"),
    event(NETWORK, "terminating ~ connection"),
    event(NETWORK, "reset by peer"),
    event(NETWORK, "closed by peer"),
    event(NETWORK, "closed by remote host"),
    // Connections that ended in the middle, of TLS, HTTP and others.
    eof("unexpected eof"),
    eof("unexpected end of file"),
    noun(NETWORK, "unexpected end of stream"),
    noun(NETWORK, "handshake eof"),
    eof("early eof"),
    noun(NETWORK, "eof detected"),
    eof("premature eof"),
    noun(NETWORK, "premature end of content"),
    noun(NETWORK, "premature end of chunk"),
    noun(NETWORK, "premature end of stream"),
    noun(NETWORK, "premature close"),
    noun(NETWORK, "ended prematurely"),
    noun(NETWORK, "closed prematurely"),
    noun(NETWORK, "incomplete read"),
    noun(NETWORK, "incomplete message"),
    noun(NETWORK, "incomplete chunked"),
    capitals(NETWORK, "^ eof $"),
    event(NETWORK, "eof occurred in violation"),
    event(NETWORK, "ssl error syscall"),
    event(NETWORK, "ssl error zero return"),
    event(NETWORK, "ssl syscall error"),
    event(NETWORK, "error in the pull function"),
    event(NETWORK, "error in the push function"),
    event(NETWORK, "tls connection was non properly terminated"),
    event(NETWORK, "terminated the handshake"),
    event(NETWORK, "packet with unexpected length"),
    event(NETWORK, "bytes missing"),
    event(NETWORK, "bad record mac"),
    event(NETWORK, "payload ~ not completed"),
    event(NETWORK, "driver : bad connection"),
    event(NETWORK, "body ~ still expected"),
    event(NETWORK, "peer shut down incorrectly"),
    event(NETWORK, "failed to receive handshake"),
    event(NETWORK, "before message length reached"),
    event(NETWORK, "transferred a partial file"),
    event(NETWORK, "server returned nothing"),
    event(NETWORK, "receiving data from the peer"),
    event(NETWORK, "sending data to the peer"),
    event(NETWORK, "peer closed ~ connection"),
    event(NETWORK, "use of closed network connection"),
    event(NETWORK, "broken pipe"),
    event(NETWORK, "network ~ unreachable"),
    event(NETWORK, "@peer ~ unreachable"),
    event(NETWORK, "network ~ down"),
    event(NETWORK, "network unavailable"),
    event(NETWORK, "network error"),
    event(NETWORK, "network failure"),
    event(NETWORK, "network request failed"),
    event(NETWORK, "network changed"),
    event(NETWORK, "host ~ down"),
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
    event(NETWORK, "@cannot resolve ~ host"),
    event(NETWORK, "@cannot resolve ~ hostname"),
    event(NETWORK, "@cannot resolve ~ address"),
    event(NETWORK, "@cannot resolve ~ domain"),
    event(NETWORK, "@cannot resolve ~ proxy"),
    event(NETWORK, "could not translate host name"),
    event(NETWORK, "name ~ not resolved"),
    event(NETWORK, "no such host"),
    event(NETWORK, "unknown host"),
    event(NETWORK, "host not found"),
    event(NETWORK, "name or service not known"),
    event(NETWORK, "nodename nor servname provided"),
    event(NETWORK, "temporary failure in name resolution"),
    event(NETWORK, "temporary failure resolving"),
    event(NETWORK, "name does not resolve"),
    event(NETWORK, "getaddrinfo failed"),
    event(NETWORK, "no address associated with hostname"),
    event(NETWORK, "server misbehaving"),
    name(NETWORK, "serv fail"),
    event(NETWORK, "servfail"),
    name(NETWORK, "name resolution error"),
    event(NETWORK, "name resolution failed"),
    event(NETWORK, "getaddrinfo enotfound"),
    event(NETWORK, "eai again"),
    // HTTP clients, browsers and proxies.
    event(NETWORK, "client error : connect"),
    event(NETWORK, "@cannot connect to"),
    event(NETWORK, "@cannot connect $"),
    event(NETWORK, "@cannot contact"),
    event(NETWORK, "@cannot reach ~ @peer"),
    event(NETWORK, "@cannot establish * connection"),
    event(NETWORK, "@cannot complete * connection"),
    event(NETWORK, "@cannot open ~ connection"),
    event(NETWORK, "@cannot open data connection"),
    event(NETWORK, "no connection could be made"),
    event(NETWORK, "connection to * was refused"),
    event(NETWORK, "connection ~ closing"),
    event(NETWORK, "error while dialing"),
    event(NETWORK, "connection * could not be established"),
    name(NETWORK, "disconnect exception"),
    name(NETWORK, "no http response"),
    event(NETWORK, "@peer dropped ~ connection"),
    event(NETWORK, "@peer reset ~ connection"),
    event(NETWORK, "@peer terminated ~ connection"),
    event(NETWORK, "@peer closed abruptly"),
    name(NETWORK, "network exception"),
    event(NETWORK, "connection ~ failed"),
    noun(NETWORK, "send request failed"),
    event(NETWORK, "failed to fetch"),
    event(NETWORK, "type error : fetch failed"),
    event(NETWORK, "internet disconnected"),
    event(NETWORK, "internet connection appears to be offline"),
    event(NETWORK, "socket hang up"),
    event(NETWORK, "socket ~ closed"),
    event(NETWORK, "other side closed"),
    event(NETWORK, "@peer ~ disconnected"),
    event(NETWORK, "disconnected ~ from @peer"),
    event(NETWORK, "stream ~ disconnected"),
    event(NETWORK, "socket ~ disconnected"),
    event(NETWORK, "unexpected disconnect"),
    event(NETWORK, "unexpectedly disconnected"),
    event(NETWORK, "^ disconnected $"),
    event(NETWORK, "driver unexpectedly terminated"),
    event(NETWORK, "stale connection"),
    event(NETWORK, "connections are down"),
    event(NETWORK, "pool * cleared"),
    event(NETWORK, "und err socket"),
    event(NETWORK, "type error : terminated"),
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
    event(NETWORK, "stream ~ reset"),
    event(NETWORK, "stream error received"),
    event(NETWORK, "stream error : stream id"),
    event(NETWORK, "stream error in the http"),
    event(NETWORK, "http2 stream error"),
    event(NETWORK, "stream ~ closed with error"),
    event(NETWORK, "stream ~ closed before"),
    event(NETWORK, "stream ~ terminated"),
    event(NETWORK, "stream ~ interrupted"),
    event(NETWORK, "stream ended unexpectedly"),
    event(NETWORK, "rst stream"),
    event(NETWORK, "http2 framing"),
    event(NETWORK, "http2 stream cancel"),
    event(NETWORK, "http2 session error"),
    event(NETWORK, "http2 goaway session"),
    event(NETWORK, "http2 ping failed"),
    event(NETWORK, "nghttp2 cancel"),
    event(NETWORK, "nghttp2 internal error"),
    event(NETWORK, "quic protocol error"),
    event(NETWORK, "http3 error"),
    noun(NETWORK, "http2 error"),
    noun(NETWORK, "h2 protocol error"),
    noun(NETWORK, "http2 protocol error"),
    event(NETWORK, "goaway"),
    event(NETWORK, "transport is closing"),
    event(NETWORK, "transport error"),
    event(NETWORK, "bytes at eof"),
    // Databases.
    event(NETWORK, "server has gone away"),
    event(NETWORK, "end of file on communication channel"),
    event(NETWORK, "tns : no listener"),
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
    event(TIMEOUT, "in the time allotted"),
    event(TIMEOUT, "operation too slow"),
    event(TIMEOUT, "not respond in time"),
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
    event(SERVER, "@peer ~ unavailable"),
    event(SERVER, "@peer ~ not ~ available"),
    event(SERVER, "@peer ~ overloaded"),
    event(SERVER, "@peer ~ busy"),
    event(SERVER, "@peer ~ starting up"),
    event(SERVER, "@peer ~ shutting down"),
    event(SERVER, "@peer ~ restarting"),
    event(SERVER, "@peer ~ bootstrapping"),
    event(SERVER, "@peer ~ initializing"),
    event(SERVER, "@peer ~ loading"),
    event(SERVER, "@peer ~ recovering"),
    event(SERVER, "@peer ~ not ~ ready"),
    event(SERVER, "@peer ~ not ~ accepting"),
    event(SERVER, "is ~ overloaded"),
    event(SERVER, "^ overloaded $"),
    event(SERVER, "overloaded error"),
    event(SERVER, "overloaded errors"),
    event(SERVER, "is temporarily unavailable"),
    event(SERVER, "are temporarily unavailable"),
    event(SERVER, "^ internal error $"),
    event(SERVER, "no servers available"),
    event(SERVER, "no available servers"),
    event(SERVER, "no suitable servers"),
    event(SERVER, "currently unable to"),
    event(SERVER, "is currently loading"),
    event(SERVER, "at capacity"),
    event(SERVER, "experiencing high"),
    event(SERVER, "high demand"),
    event(SERVER, "out of capacity"),
    event(SERVER, "insufficient capacity"),
    event(SERVER, "no endpoints available"),
    event(SERVER, "no responders"),
    event(SERVER, "too busy"),
    event(SERVER, "maximum connections exceeded"),
    event(SERVER, "at shutdown"),
    event(SERVER, "had an error while processing"),
    event(SERVER, "internal error ~ occurred"),
    event(SERVER, "internal error encountered"),
    event(SERVER, "temporary system"),
    event(SERVER, "temporary error"),
    event(SERVER, "under maintenance"),
    event(SERVER, "retry * later"),
    event(SERVER, "no healthy upstream"),
    event(SERVER, "no server is available to handle"),
    event(SERVER, "web server is down"),
    event(SERVER, "http 5xx"),
    event(SERVER, "5xx error"),
    event(SERVER, "5xx response"),
    event(SERVER, "status 5xx"),
    event(SERVER, "returned 5xx"),
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
    event(SERVER, "leader changed"),
    event(SERVER, "no known leader"),
    event(SERVER, "not discovered"),
    event(SERVER, "no shard available"),
    event(SERVER, "proposal dropped"),
    event(SERVER, "load in progress"),
    event(SERVER, "brokers down"),
    name(SERVER, "not leader"),
    name(SERVER, "not coordinator"),
    name(SERVER, "leader epoch"),
    name(SERVER, "lease holder"),
    name(SERVER, "not master"),
    name(SERVER, "repl state change"),
    event(SERVER, "leader election"),
    event(SERVER, "leadership lost"),
    event(SERVER, "lost ~ leadership"),
    event(SERVER, "leadership transfer"),
    event(SERVER, "stepped down"),
    event(SERVER, "stepping down"),
    event(SERVER, "^ no leader $"),
    event(SERVER, "no cluster leader"),
    event(SERVER, "no master $"),
    event(SERVER, "not ~ leader for"),
    event(SERVER, "not leader or follower"),
    event(SERVER, "not leader for partition"),
    event(SERVER, "@peer ~ not ~ leader"),
    event(SERVER, "^ not ~ leader $"),
    event(SERVER, "partition leaders are not available"),
    event(SERVER, "not writable primary"),
    event(SERVER, "node ~ not master"),
    event(SERVER, "not ~ coordinator for"),
    event(SERVER, "rebalance in progress"),
    event(SERVER, "in sync replicas"),
    event(SERVER, "not enough replicas"),
    event(SERVER, "achieve consistency level"),
    event(SERVER, "no primary $"),
    event(SERVER, "retryable write error"),
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
    event(RATE, "toomanyrequests"),
    event(RATE, "@allowance limit ~ exceeded"),
    event(RATE, "@allowance limit ~ reached"),
    event(RATE, "@allowance limit ~ hit"),
    event(RATE, "exceeded * @allowance limit"),
    event(RATE, "hit * @allowance limit"),
    event(RATE, "reached * @allowance limit"),
    event(RATE, "limit * resets"),
    event(RATE, "limit will reset"),
    event(RATE, "quota will reset"),
    event(RATE, "too many concurrent"),
    event(RATE, "too many simultaneous"),
    event(RATE, "too many in flight"),
    event(RATE, "too many pings"),
    event(RATE, "excessive load"),
    event(RATE, "enhance your calm"),
    event(RATE, "exceeded * per second"),
    event(RATE, "exceeded * per minute"),
    event(RATE, "exceeded * per hour"),
    event(RATE, "doing that too much"),
    event(RATE, "flood control"),
    event(RATE, "try again in #"),
    event(RATE, "try again in a few"),
    event(RATE, "retry in #"),
    event(RATE, "wait of # seconds"),
    event(RATE, "usage * resets"),
    event(RATE, "limit * reset at"),
    event(RATE, "exhausted your capacity"),
    event(RATE, "error code : 1015"),
    name(RATE, "flood wait"),
    name(RATE, "rejected execution"),
    event(RATE, "rate exceeded"),
    event(RATE, "request rate ~ large"),
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

    // Transactions that lost against others, and locks that others hold.
    event(CONFLICT, "could not serialize access"),
    event(CONFLICT, "can t serialize access"),
    event(CONFLICT, "serialization failure"),
    event(CONFLICT, "serialization error"),
    event(CONFLICT, "deadlock found"),
    event(CONFLICT, "deadlock detected"),
    event(CONFLICT, "deadlock victim"),
    event(CONFLICT, "deadlocked on lock"),
    event(CONFLICT, "could not obtain lock"),
    event(CONFLICT, "@cannot get * lock"),
    event(CONFLICT, "@cannot acquire * lock"),
    event(CONFLICT, "@cannot obtain * lock"),
    event(CONFLICT, "@cannot lock"),
    event(CONFLICT, "acquiring * lock"),
    event(CONFLICT, "lock info : id"),
    event(CONFLICT, "held by process"),
    event(CONFLICT, "in use by another process"),
    event(CONFLICT, "in use by another * instance"),
    event(CONFLICT, "used by another process"),
    event(CONFLICT, "used by another program"),
    event(CONFLICT, "locked by"),
    event(CONFLICT, "lock * held by"),
    event(CONFLICT, "already locked"),
    event(CONFLICT, "currently locked"),
    event(CONFLICT, "workspace ~ locked"),
    event(CONFLICT, "state ~ locked"),
    event(CONFLICT, "stack ~ locked"),
    event(CONFLICT, "lock acquisition"),
    event(CONFLICT, "holding the * lock"),
    event(CONFLICT, "while lock file"),
    event(CONFLICT, "change in progress"),
    name(CONFLICT, "concurrent transactions"),
    event(CONFLICT, "held by pid"),
    event(CONFLICT, "lock ~ already held"),
    event(CONFLICT, "another process"),
    event(CONFLICT, "another git process"),
    event(CONFLICT, "another * in progress"),
    event(CONFLICT, "deployment ~ in progress"),
    event(CONFLICT, "upgrade ~ in progress"),
    event(CONFLICT, "operation ~ in progress"),
    event(CONFLICT, "update ~ in progress"),
    event(CONFLICT, "conflicting * in progress"),
    event(CONFLICT, "currently accessing it"),
    event(CONFLICT, "waiting to lock"),
    event(CONFLICT, "resource busy"),
    event(CONFLICT, "due to concurrent"),
    event(CONFLICT, "concurrent modification"),
    event(CONFLICT, "transaction contention"),
    event(CONFLICT, "too much contention"),
    event(CONFLICT, "transaction ~ aborted"),
    event(CONFLICT, "^ deadlock $"),
    event(CONFLICT, "deadlock loser"),
    event(CONFLICT, "transient transaction error"),
    event(CONFLICT, "due to conflict with recovery"),
    event(CONFLICT, "exceptions : aborted"),
    event(CONFLICT, "status code : aborted"),
    noun(CONFLICT, "lock timeout"),
    name(CONFLICT, "operation aborted"),
    name(CONFLICT, "resource conflict"),
    name(CONFLICT, "conditional request conflict"),
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
    // Refused callers.
    "permission denied", "permission ~ denied", "access denied", "access is denied", "not authorized", "not authorised",
    "not authenticated", "are you root",
    "failed login", "login attempts", "failed attempts", "no credentials", "loading credentials",
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
    // Missing objects.
    "does not exist", "doesn t exist", "do not exist", "not found", "no such", "unknown column",
    "unknown database", "unknown table", "unknown command", "unknown topic", "unknown method",
    "unknown option", "unknown flag", "undefined column", "undefined table", "undefined function",
    "no column found", "no rows returned", "no matching script", "no script", "closed pool",
    "already exists", "moved permanently", "already existing", "exists : cannot create", "locked out", "unable to locate",
    "wrong number of", "unknown service", "unknown mailbox", "unconfigured table", "invalid column", "invalid input value",
    "unimplemented", "not implemented", "failed precondition", "data loss", "commands ignored until end",
    "in your country", "in your region", "account ~ locked", "account ~ disabled", "@cannot lock * memory",
    "address * in use", "port * in use", "eaddrinuse",
    // Payment.
    "billing error",
    "credit balance", "insufficient credits", "insufficient funds", "insufficient balance",
    "payment required", "spending limit", "returned more than",
    // Faults of the program itself, its source text, its tests.
    "assertion failed", "assertion * failed", "^ not ok #", "test failed", "tests failed", "test failures",
    "is not defined", "not a function", "cannot find value", "cannot find symbol", "cannot find name",
    "cannot find function", "cannot find type", "undefined reference", "no attribute",
    "unexpected keyword argument", "eof while parsing", "eof while looking", "eof while scanning", "eof in archive", "end of file while parsing",
    "util : concurrent modification",
    // Malformed requests.
    "invalid input syntax", "syntax error", "parse error", "parsing error", "invalid argument",
    "invalid syntax", "invalid url", "invalid uri", "malformed",
    "error decoding", "too many redirects", "invalid connection string", "invalid value",
    "failed to parse", "could not parse", "cannot parse", "could not find", "unsupported", "not supported",
    "mismatched types", "incompatible type", "invalid port", "invalid http version",
    "error with configuration", "without a base", "precondition failed", "number of rows", "not in a state required", "unrecoverable",
    "wrongtype", "noscript", "too long", "too large", "out of range", "division by zero",
    // Untrusted servers.
    "certificate", "x509", "unknown issuer", "unknownissuer", "wrong version number",
    "invalidcontenttype", "invalid content type", "host key verification failed",
    "no space left", "read only file system",
];

/// Refusals that nothing behind them overrules: what the data must not be, and the server's own
/// word. What follows is data (`DETAIL: Failing row contains …`), or the reason.
#[rustfmt::skip]
pub(super) const FINAL_REFUSALS: &[&str] = &[
    "duplicate key", "duplicate entry", "violates", "constraint failed", "constraint violation",
    "permanent error", "permanent failure", "permanently", "execution reverted",
    "^ undefined :",
];

/// Refusals that a rate limit overrules, as it overrules a status of 4xx: "403 Forbidden: rate
/// limit".
#[rustfmt::skip]
pub(super) const CALLER_REFUSALS: &[&str] = &[
    "bad request", "endpoint requires http", "forbidden", "inadequate security", "invalid request",
    "unauthenticated", "unauthorised", "unauthorized",
];

/// Names of errors of the program itself.
#[rustfmt::skip]
pub(super) const FAULTS: &[&str] = &[
    "assertion error", "attribute error", "illegal argument exception", "import error",
    "index error", "key error", "module not found error", "name error", "not implemented error",
    "null pointer exception", "number format exception", "reference error", "syntax error",
    "unbound local error", "value error", "zero division error",
];

/// The other side of a connection.
#[rustfmt::skip]
pub(super) const PEERS: &[&str] = &[
    "backend", "broker", "cluster", "coordinator", "database", "destination", "endpoint",
    "gateway", "host", "instance", "leader", "master", "node", "peer", "primary", "proxy",
    "remote", "replica", "server", "service", "system", "upstream",
];

/// Things that a server limits.
#[rustfmt::skip]
pub(super) const ALLOWANCES: &[&str] = &[
    "api", "call", "calls", "concurrency", "hour", "hourly", "message", "messages", "minute",
    "pull", "queries", "query", "rate", "request", "requests", "session", "throughput", "usage",
    "weekly",
];

/// Words of a failed try; the second one may be missing.
#[rustfmt::skip]
pub(super) const CANNOT: &[(&str, &str)] = &[
    ("can", "not"), ("can", "t"), ("cannot", ""), ("could", "not"), ("couldn", "t"),
    ("failed", "to"), ("failure", "to"), ("unable", "to"),
];

/// Words for a place in a file or a table.
#[rustfmt::skip]
pub(super) const PLACES: &[&str] = &["char", "column", "line", "offset", "position", "row"];

/// Words that make a thing of the event before them: "connection reset token".
#[rustfmt::skip]
pub(super) const THING_AFTER: &[&str] = &[
    "callback", "column", "counter", "flag", "form", "handler", "handling", "link", "option",
    "page", "policy", "table", "test", "tests", "token", "tokens",
];

/// Words that may occur inside a phrase without changing it.
#[rustfmt::skip]
pub(super) const FILLERS: &[&str] = &[
    "a", "abruptly", "already", "an", "and", "are", "been", "being", "by", "currently", "from",
    "got", "had", "has", "have", "is", "its", "just", "of", "our", "peer", "server", "still",
    "suddenly",
    "temporarily", "the", "this", "to", "too", "unexpectedly", "was", "were", "with", "yet", "your",
];

/// Words before a noun that make it the name of a setting.
#[rustfmt::skip]
pub(super) const SETTING_BEFORE: &[&str] = &[
    "argument", "attribute", "column", "configure", "contain", "contains", "deserialize", "duplicate", "field", "flag",
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
    "within", "zero",
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
    "backend fetch failed", "error responses", "internal error", "not implemented", "overloaded", "proxy error", "request time out",
    "request timeout", "server error", "slow down",
];
