//! The vocabulary: what clients and servers say about their failures, and the words around it that
//! change the meaning.
//!
//! A list is one text: the words are separated by spaces, phrases by `|`. In an array of `&str`, each
//! word would have an address, which the program file lists once more.

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
pub(super) enum PhraseMeaning {
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
    pub(super) says: PhraseMeaning,
    pub(super) sense: Sense,
    pub(super) words: &'static str,
}

/// Returns the phrases that begin with a letter, or with a kind of word.
pub(super) fn beginning_with(initial: u8) -> &'static [Phrase] {
    INDEX.get(usize::from(initial)).map_or(&[], |phrases| phrases)
}

pub(super) static INDEX: LazyLock<Vec<Vec<Phrase>>> = LazyLock::new(|| {
    let mut index = vec![Vec::new(); 128];
    let mut add = |says, sense, phrases: &'static str| {
        for words in phrases.split('|') {
            index[usize::from(initial(words))].push(Phrase { says, sense, words });
        }
    };
    for &(class, sense, phrases) in FAILURES {
        add(PhraseMeaning::Failure(class), sense, phrases);
    }
    for phrases in REFUSALS {
        add(PhraseMeaning::Refusal, Sense::Anywhere, phrases);
    }
    add(PhraseMeaning::Refusal, Sense::Name, FAULTS);
    add(PhraseMeaning::CallerRefusal, Sense::Anywhere, CALLER_REFUSALS);
    add(PhraseMeaning::FinalRefusal, Sense::Anywhere, FINAL_REFUSALS);
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
pub(super) const KINDS: &str = "@peer @allowance @cannot";

pub(super) const NETWORK: Class = Class::NETWORK;
pub(super) const TIMEOUT: Class = Class::TIMEOUT;
pub(super) const SERVER: Class = Class::SERVER_ERROR;
pub(super) const RATE: Class = Class::RATE_LIMIT;
pub(super) const CONFLICT: Class = Class::CONFLICT;
pub(super) const UNAVAILABLE: Class = NETWORK.union(SERVER);
pub(super) const GATEWAY_TIMEOUT: Class = SERVER.union(TIMEOUT);

#[rustfmt::skip]
pub(super) const FAILURES: &[(Class, Sense, &str)] = &[
    // Operating systems, and how libraries reword their errors.
    (NETWORK, Sense::Event,
        "connection ~ refused|connection ~ reset|connection ~ aborted|connection ~ closed|\
        connection ~ lost|connection ~ dropped|connection ~ terminated|connection ~ interrupted|\
        connection ~ broken|connection ~ shut down|connection ~ forcibly closed|connection error"),
    // curl's 18 and 92
    (NETWORK, Sense::Event,
        "transfer closed|stream ~ not closed cleanly|connection failure|connect error|\
        connection gone|connection forced|actively refused|forcibly closed by the remote|\
        software caused connection abort|closed ~ connection|lost ~ connection|\
        terminating ~ connection|reset by peer|closed by peer|closed by remote host"),
    // Connections that ended in the middle, of TLS, HTTP and others.
    (NETWORK, Sense::Event,
        "eof occurred in violation|ssl error syscall|ssl error zero return|ssl syscall error|\
        error in the pull function|error in the push function|\
        tls connection was non properly terminated|terminated the handshake|\
        packet with unexpected length|bytes missing|bad record mac|payload ~ not completed|\
        driver : bad connection|body ~ still expected|peer shut down incorrectly|\
        failed to receive handshake|before message length reached|transferred a partial file|\
        server returned nothing|receiving data from the peer|sending data to the peer|\
        peer closed ~ connection|use of closed network connection|broken pipe|\
        network ~ unreachable|@peer ~ unreachable|network ~ down|network unavailable|\
        network error|network failure|network request failed|network changed|host ~ down|\
        unreachable host|no route to host|not connected|cannot assign requested address|\
        os error : 10054|os error : 10061|econnrefused|econnreset|econnaborted|ehostunreach|\
        ehostdown|enetunreach|enetdown|enotconn"),
    // Name resolution.
    (NETWORK, Sense::Event,
        "dns error|dns failure|dns lookup failed|failed to lookup address|@cannot resolve ~ host|\
        @cannot resolve ~ hostname|@cannot resolve ~ address|@cannot resolve ~ domain|\
        @cannot resolve ~ proxy|could not translate host name|name ~ not resolved|no such host|\
        unknown host|host not found|name or service not known|nodename nor servname provided|\
        temporary failure in name resolution|temporary failure resolving|name does not resolve|\
        getaddrinfo failed|no address associated with hostname|server misbehaving|servfail|\
        name resolution failed|getaddrinfo enotfound|eai again"),
    // HTTP clients, browsers and proxies.
    (NETWORK, Sense::Event,
        "client error : connect|@cannot connect to|@cannot connect $|@cannot contact|\
        @cannot reach ~ @peer|@cannot establish * connection|@cannot complete * connection|\
        @cannot open ~ connection|@cannot open data connection|no connection could be made|\
        connection to * was refused|connection ~ closing|error while dialing|\
        connection * could not be established|@peer dropped ~ connection|@peer reset ~ connection|\
        @peer terminated ~ connection|@peer closed abruptly|connection ~ failed|failed to fetch|\
        type error : fetch failed|internet disconnected|internet connection appears to be offline|\
        socket hang up|socket ~ closed|other side closed|@peer ~ disconnected|\
        disconnected ~ from @peer|stream ~ disconnected|socket ~ disconnected|\
        unexpected disconnect|unexpectedly disconnected|^ disconnected $|\
        driver unexpectedly terminated|stale connection|connections are down|pool * cleared|\
        und err socket|type error : terminated|hung up unexpectedly|transfer closed with|\
        not closed cleanly|closed idle connection|connection attempt failed|transport failure|\
        handshake not finished|response error : incomplete response|empty reply from server|\
        empty response from server|remote end closed|error reading a body from connection|\
        recv failure|send failure|unexpected eof during handshake|\
        disconnect : reset before headers|refused stream|stream ~ reset|stream error received|\
        stream error : stream id|stream error in the http|http2 stream error|\
        stream ~ closed with error|stream ~ closed before|stream ~ terminated|\
        stream ~ interrupted|stream ended unexpectedly|rst stream|http2 framing|\
        http2 stream cancel|http2 session error|http2 goaway session|http2 ping failed|\
        nghttp2 cancel|nghttp2 internal error|quic protocol error|http3 error|goaway|\
        transport is closing|transport error|bytes at eof"),
    // Databases.
    (NETWORK, Sense::Event,
        "server has gone away|end of file on communication channel|tns : no listener|\
        server closed the connection|communications link failure|server selection error"),
    (NETWORK, Sense::Eof, "unexpected eof|unexpected end of file|early eof|premature eof"),
    // Connections that ended in the middle, of TLS, HTTP and others.
    (NETWORK, Sense::Noun,
        "unexpected end of stream|handshake eof|eof detected|premature end of content|\
        premature end of chunk|premature end of stream|premature close|ended prematurely|\
        closed prematurely|incomplete read|incomplete message|incomplete chunked"),
    // HTTP clients, browsers and proxies.
    (NETWORK, Sense::Noun,
        "send request failed|http2 error|h2 protocol error|http2 protocol error"),
    (NETWORK, Sense::Capitals, "^ eof $|epipe"),
    (NETWORK, Sense::Name,
        "serv fail|name resolution error|disconnect exception|no http response|network exception"),
    (TIMEOUT, Sense::Event,
        "timed out|timedout|time out|etimedout|esockettimedout|wsaetimedout|timeout ~ exceeded|\
        timeout ~ expired|timeout ~ elapsed|timeout ~ reached|timeout ~ occurred|\
        deadline ~ elapsed|deadline ~ exceeded|deadline ~ expired|deadline ~ passed|\
        deadlineexceeded|resource temporarily unavailable|failed to respond|no heartbeat received|\
        in the time allotted|operation too slow|not respond in time|\
        no heartbeat received ~ for too long|did not properly respond after a period of time|\
        os error : 10060|query wait timeout"),
    (TIMEOUT, Sense::Noun, "timeout"),
    (GATEWAY_TIMEOUT, Sense::Event, "gateway timeout|gateway time out|gateway timed out"),
    (SERVER, Sense::Event,
        "internal server error|internal server exception|internal service error|\
        encountered an internal error|http server error|status server error|bad gateway|\
        @peer ~ unavailable|@peer ~ not ~ available|@peer ~ overloaded|@peer ~ busy|\
        @peer ~ starting up|@peer ~ shutting down|@peer ~ restarting|@peer ~ bootstrapping|\
        @peer ~ initializing|@peer ~ loading|@peer ~ recovering|@peer ~ not ~ ready|\
        @peer ~ not ~ accepting|is ~ overloaded|^ overloaded $|overloaded error|overloaded errors|\
        is temporarily unavailable|are temporarily unavailable|^ internal error $|\
        no servers available|no available servers|no suitable servers|currently unable to|\
        is currently loading|at capacity|experiencing high|high demand|out of capacity|\
        insufficient capacity|no endpoints available|no responders|too busy|\
        maximum connections exceeded|at shutdown|had an error while processing|\
        internal error ~ occurred|internal error encountered|temporary system|temporary error|\
        under maintenance|retry * later|no healthy upstream|no server is available to handle|\
        web server is down|http 5xx|5xx error|5xx response|status 5xx|returned 5xx"),
    // gRPC codes, as its implementations print them.
    (SERVER, Sense::Event,
        "code : internal desc|status : internal message|code internal error"),
    // Databases that are up, but are not accepting calls.
    (SERVER, Sense::Event,
        "too many connections|too many clients|remaining connection slots are reserved|\
        database system is starting up|database system is shutting down|\
        database system is in recovery mode|server shutdown in progress|is loading the dataset|\
        clusterdown|cluster down|masterdown|master down|read only replica|tryagain|noreplicas|\
        not enough good replicas|redis is busy|device busy|leader not available|leader changed|\
        no known leader|not discovered|no shard available|proposal dropped|load in progress|\
        brokers down|leader election|leadership lost|lost ~ leadership|leadership transfer|\
        stepped down|stepping down|^ no leader $|no cluster leader|no master $|not ~ leader for|\
        not leader or follower|not leader for partition|@peer ~ not ~ leader|^ not ~ leader $|\
        partition leaders are not available|not writable primary|node ~ not master|\
        not ~ coordinator for|rebalance in progress|in sync replicas|not enough replicas|\
        achieve consistency level|no primary $|retryable write error|not primary|\
        not accepting clients|max number of clients reached|no more connections allowed|\
        server login has been failing|processing * slower than|@cannot keep up"),
    // SMTP.
    (SERVER, Sense::Event,
        "transient error|transient failure|try again later|try later|temporary ~ problem|\
        temporary local problem"),
    (SERVER, Sense::Name,
        "server error|internal failure|internal error|try again|not leader|not coordinator|\
        leader epoch|lease holder|not master|repl state change"),
    (UNAVAILABLE, Sense::Event, "code : unavailable|status : unavailable"),
    (UNAVAILABLE, Sense::Capitals, "unavailable"),
    (RATE, Sense::Event,
        "too many requests|rate limited|ratelimited|rate limiting|toomanyrequests|\
        @allowance limit ~ exceeded|@allowance limit ~ reached|@allowance limit ~ hit|\
        @allowance limit * has been reached|@allowance limit * has been exceeded|\
        exceeded * @allowance limit|hit * @allowance limit|reached * @allowance limit|\
        limit * resets|limit will reset|quota will reset|too many concurrent|\
        too many simultaneous|too many in flight|too many pings|excessive load|enhance your calm|\
        exceeded * per second|exceeded * per minute|exceeded * per hour|doing that too much|\
        flood control|try again in #|try again in a few|retry in #|wait of # seconds|\
        usage * resets|limit * reset at|exhausted your capacity|error code : 1015|rate exceeded|\
        request rate ~ large|bandwidth limit exceeded|provisioned throughput exceeded|\
        reduce your request rate|please slow down|throttled|quota exceeded for quota|\
        api quota exceeded|request quota exceeded"),
    // gRPC codes, as its implementations print them.
    (RATE, Sense::Event,
        "some resource has been exhausted|resource ~ exhausted : desc|code : resource exhausted|\
        status : resource exhausted"),
    (RATE, Sense::Name,
        "flood wait|rejected execution|slow down|quota exceeded|resource exhausted"),
    (RATE, Sense::Noun, "throttling|rate limit|ratelimit"),
    // Transactions that lost against others, and locks that others hold.
    (CONFLICT, Sense::Event,
        "could not serialize access|can t serialize access|serialization failure|\
        serialization error|deadlock found|deadlock detected|deadlock victim|deadlocked on lock|\
        could not obtain lock|@cannot get * lock|@cannot acquire * lock|@cannot obtain * lock|\
        @cannot lock|acquiring * lock|@cannot lock ~ row|@cannot lock ~ table|\
        @cannot obtain exclusive|@cannot get exclusive|exclusive access could not be obtained|\
        lock info : id|held by process|in use by another process|in use by another * instance|\
        used by another process|used by another program|locked by|lock * held by|already locked|\
        currently locked|workspace ~ locked|state ~ locked|stack ~ locked|lock acquisition|\
        holding the * lock|while lock file|change in progress|held by pid|lock ~ already held|\
        another process|another git process|another * in progress|deployment ~ in progress|\
        upgrade ~ in progress|operation ~ in progress|update ~ in progress|\
        conflicting * in progress|currently accessing it|waiting to lock|resource busy|\
        due to concurrent|concurrent modification|transaction contention|too much contention|\
        transaction ~ aborted|^ deadlock $|deadlock loser|transient transaction error|\
        due to conflict with recovery|exceptions : aborted|status code : aborted|\
        lock not available|lock wait timeout exceeded|due to lock timeout|lock request time out|\
        database is locked|database table is locked|database schema is locked|sqlite busy|\
        sqlite locked|restart transaction|try restarting transaction|restart read required|\
        write conflict|transaction conflict|transaction ~ conflicted|optimistic lock|\
        version conflict|update conflict|record has changed since|object has been modified|\
        code : aborted|status : aborted|10 aborted|code : the operation was aborted"),
    (CONFLICT, Sense::Name,
        "concurrent transactions|operation aborted|resource conflict|\
        conditional request conflict"),
    (CONFLICT, Sense::Noun, "lock timeout"),
];

/// Words of a failure that lasts: they silence what is said beside and around them.
#[rustfmt::skip]
pub(super) const REFUSALS: &[&str] = &[
    // Refused callers.
    "permission denied|permission ~ denied|access denied|access is denied|not authorized|\
    not authorised|not authenticated|are you root|failed login|login attempts|failed attempts|\
    no credentials|loading credentials|authentication failed|authentication failure|\
    authentication required|authentication error|auth failed|auth error|access refused|\
    authorization violation|authorization required|authorization failed|invalid password|\
    wrong password|incorrect password|bad password|invalid credentials|bad credentials|\
    incorrect credentials|login failed|login incorrect|logon failed|invalid token|token expired|\
    token has expired|token is expired|invalid api key|incorrect api key|bad user name|\
    bad username|identifier rejected|refused protocol version|bad client id|\
    insufficient privilege|insufficient privileges|insufficient permissions|not permitted|\
    not allowed|noauth|noperm|wrongpass|pg hba|no permission|no permissions|no perm|\
    does not have permission|does not have valid authentication|proxy authorization required|\
    due to user request",
    // Missing objects.
    "does not exist|doesn t exist|do not exist|not found|no such|unknown column|unknown database|\
    unknown table|unknown command|unknown topic|unknown method|unknown option|unknown flag|\
    undefined column|undefined table|undefined function|no column found|no rows returned|\
    no matching script|no script|closed pool|already exists|moved permanently|already existing|\
    exists : cannot create|locked out|unable to locate|wrong number of|unknown service|\
    unknown mailbox|unconfigured table|invalid column|invalid input value|unimplemented|\
    not implemented|failed precondition|data loss|commands ignored until end|in your country|\
    in your region|account ~ locked|account ~ disabled|@cannot lock * memory|address * in use|\
    port * in use|eaddrinuse",
    // Payment.
    "billing error|credit balance|insufficient credits|insufficient funds|insufficient balance|\
    payment required|spending limit|returned more than",
    // Faults of the program itself, its source text, its tests.
    "assertion failed|assertion * failed|^ not ok #|test failed|tests failed|test failures|\
    is not defined|not a function|cannot find value|cannot find symbol|cannot find name|\
    cannot find function|cannot find type|undefined reference|no attribute|\
    unexpected keyword argument|eof while parsing|eof while looking|eof while scanning|\
    eof in archive|end of file while parsing|util : concurrent modification",
    // Malformed requests.
    "invalid input syntax|syntax error|parse error|parsing error|invalid argument|invalid syntax|\
    invalid url|invalid uri|malformed|error decoding|too many redirects|invalid connection string|\
    invalid value|failed to parse|could not parse|cannot parse|could not find|unsupported|\
    not supported|mismatched types|incompatible type|invalid port|invalid http version|\
    error with configuration|without a base|precondition failed|number of rows|\
    not in a state required|unrecoverable|wrongtype|noscript|too long|too large|out of range|\
    division by zero",
    // Untrusted servers.
    "certificate|x509|unknown issuer|unknownissuer|wrong version number|invalidcontenttype|\
    invalid content type|host key verification failed|no space left|read only file system",
];

/// Refusals that nothing behind them overrules: what the data must not be, and the server's own
/// word. What follows is data (`DETAIL: Failing row contains …`), or the reason.
#[rustfmt::skip]
pub(super) const FINAL_REFUSALS: &str =
    "duplicate key|duplicate entry|violates|constraint failed|constraint violation|\
    permanent error|permanent failure|permanently|execution reverted|^ undefined :";

/// Refusals that a rate limit overrules, as it overrules a status of 4xx: "403 Forbidden: rate
/// limit".
#[rustfmt::skip]
pub(super) const CALLER_REFUSALS: &str =
    "bad request|endpoint requires http|forbidden|inadequate security|invalid request|\
    unauthenticated|unauthorised|unauthorized";

/// Names of errors of the program itself.
#[rustfmt::skip]
pub(super) const FAULTS: &str =
    "assertion error|attribute error|illegal argument exception|import error|index error|\
    key error|module not found error|name error|not implemented error|null pointer exception|\
    number format exception|reference error|syntax error|unbound local error|value error|\
    zero division error";

/// The other side of a connection.
#[rustfmt::skip]
pub(super) const PEERS: &str =
    "backend broker cluster coordinator database destination endpoint engine gateway host instance \
    leader master node peer primary proxy remote replica server service system upstream";

/// Things that a server limits.
#[rustfmt::skip]
pub(super) const ALLOWANCES: &str =
    "api call calls concurrency hour hourly message messages minute pull queries query rate \
    request requests session throughput usage weekly";

/// Words of a failed try; the second one may be missing.
#[rustfmt::skip]
pub(super) const CANNOT: &str =
    "can not|can t|cannot|could not|couldn t|failed to|failure to|unable to";

/// Words for a place in a file or a table.
#[rustfmt::skip]
pub(super) const PLACES: &str = "char column line offset position row";

/// Words that make a thing of the event before them: "connection reset token".
#[rustfmt::skip]
pub(super) const THING_AFTER: &str =
    "callback column counter flag form handler handling link option page policy table test tests \
    token tokens";

/// Words that may occur inside a phrase without changing it.
#[rustfmt::skip]
pub(super) const FILLERS: &str =
    "a abruptly already an and are been being by currently from got had has have is its just of \
    our peer server still suddenly temporarily the this to too unexpectedly was were with yet \
    your";

/// Words before a noun that make it the name of a setting.
#[rustfmt::skip]
pub(super) const SETTING_BEFORE: &str =
    "argument attribute column configure contain contains deserialize duplicate field flag illegal \
    invalid key missing negative no option param parameter parse parsing property setting specify \
    unknown unsupported variable without zero";

/// Those that do so even across punctuation: "field: timeout".
#[rustfmt::skip]
pub(super) const SETTING_LABEL: &str =
    "argument field flag option param parameter property setting variable";

/// Words shortly after a noun that make it the name of a setting.
#[rustfmt::skip]
pub(super) const SETTING_AFTER: &str =
    "argument attribute can cannot config configuration duration expected field flag greater \
    header invalid larger longer missing must needs negative option options parameter policy \
    property required setting settings shorter should smaller unsupported value values variable \
    within zero";

/// Words that may end an identifier after the phrase: `SocketTimeoutException`.
#[rustfmt::skip]
pub(super) const ERROR_ENDINGS: &str =
    "elapsed err error exceeded exception expired failure fault occurred reached";

/// Words that say that the number after them is an HTTP status.
#[rustfmt::skip]
pub(super) const STATUS_WORDS: &str = "http responded status";

/// Words that may occur between those and the number.
#[rustfmt::skip]
pub(super) const STATUS_FILLERS: &str =
    "a an client code error is of response returned server was with";

/// Words that say that the number after them is something else.
#[rustfmt::skip]
pub(super) const OTHER_CODES: &str = "exit exited line os parse process sql syntax";

/// Units: "error 500 rows" counts rows.
#[rustfmt::skip]
pub(super) const UNITS: &str =
    "bytes entries errors events files hours items kb lines mb messages minutes ms objects percent \
    records requests retries rows s seconds times users warnings";

/// The text after a bare status code that confirms it. Reasons that are sufficient without the code
/// are phrases.
#[rustfmt::skip]
pub(super) const REASONS: &str =
    "backend fetch failed|error responses|internal error|not implemented|overloaded|proxy error|\
    request time out|request timeout|server error|slow down";
