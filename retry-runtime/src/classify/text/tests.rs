//! Messages of libraries, servers and runtimes, with their classes.

use super::phrases::{
    CONFLICT, GATEWAY_TIMEOUT, INDEX, NETWORK, RATE, SERVER, TIMEOUT, UNAVAILABLE,
};
use super::*;
use crate::base::text::words::{LONGEST_TEXT, STEPS};

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
    (NETWORK, "error sending request for url (http://h/rate-limit?status=500)"),
    // Over TLS the cause that is left out may be a certificate.
    (NONE, "error sending request for url (https://h/rate-limit?status=500)"),
    (NONE, "error decoding response body: expected value at line 1 column 500"),
    // curl
    (NETWORK, "curl: (6) Could not resolve host: example.invalid"),
    (NETWORK, "curl: (7) Failed to connect to localhost port 81 after 0 ms: Couldn't connect to server"),
    (NETWORK, "curl: (18) transfer closed with 5 bytes remaining to read"),
    (NETWORK, "curl: (18) transfer closed with outstanding read data remaining"),
    (NETWORK, "curl: (92) HTTP/2 stream 0 was not closed cleanly: PROTOCOL_ERROR (err 1)"),
    (NETWORK, "curl: (92) HTTP/2 stream 1 was not closed cleanly before end of the underlying stream"),
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
    (CONFLICT, "Lock wait timeout exceeded; try restarting transaction"),
    (TIMEOUT, "pool timed out while waiting for an open connection"),
    (TIMEOUT, "PoolTimedOut"),
    (NONE, "Server error: `ERROR 42S02 (1146): Table 'a.b' doesn't exist`"),
    (NONE, "password authentication failed for user \"app\""),
    (NONE, "duplicate key value violates unique constraint \"timeout_key\""),
    (CONFLICT, "database is locked"),
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
    (NONE, "501 Not Implemented"),
    // It says that the server has refused, and not why.
    (NONE, "server error"),
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
    (SERVER, "curl: (22) The requested URL returned error: 503"),
    (SERVER, "fatal: unable to access 'https://h/a.git/': The requested URL returned error: 502"),
    (RATE, "curl: (22) The requested URL returned error: 429"),
    (NONE, "curl: (22) The requested URL returned error: 404"),
    // Codes of databases.
    (CONFLICT, "ERROR 1213 (40001): Deadlock found when trying to get lock"),
    (CONFLICT, "1205 (HY000): x"),
    (CONFLICT, "SQLSTATE[40001]: x"),
    (CONFLICT, "failed with SQLSTATE 40P01"),
    (CONFLICT, "ERROR:  40001: x"),
    (SERVER, "SQLState: 53300"),
    (NETWORK, "ERROR 08S01 (1158): x"),
    (NONE, "SQLSTATE 23505: connection slots timeout"),
    (NONE, "ERROR 42S02 (1146): timeout"),
    (NONE, "order 1213 (40001)-b"),
    // Replies of mail servers.
    (SERVER, "451 4.3.0 Error: queue file write error"),
    (NONE, "550 5.1.1 <timeout@example.com>: Recipient address rejected"),
    (NONE, "554 5.7.1 Service unavailable; Client host blocked"),
    (NONE, "No matching distribution found for timeout-503"),
    // Redirections of a Redis cluster.
    (SERVER, "MOVED 3999 127.0.0.1:6381"),
    (SERVER, "Ask: 3999 127.0.0.1:6381"),
    (SERVER, "TryAgain: Multiple keys request during rehashing of slot"),
    (NONE, "moved 3999 rows"),
    (NONE, "301 Moved Permanently"),
    // Nothing behind a broken constraint is more than data.
    (NONE, "violates check constraint \"c\"\nDETAIL: Failing row contains (503, connection reset)."),
    (NONE, "permanent error (535): 5.7.8 Authentication failed: connection timed out"),
    (NONE, "permanent error (550): 5.7.1 blocked, try again later"),
    (CONFLICT, "ERROR: canceling statement due to lock timeout"),
    // gRPC's statuses in tonic's words.
    (NONE, "code: 'The request does not have valid authentication credentials', message: \"token timed out\""),
    (CONFLICT, "code: 'The operation was aborted', message: \"the transaction was aborted\""),
    // Conflicts.
    (CONFLICT, "could not serialize access due to read/write dependencies among transactions"),
    (CONFLICT, "restart transaction: TransactionRetryWithProtoRefreshError: WriteTooOldError"),
    (CONFLICT, "Transaction (Process ID 52) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction."),
    (CONFLICT, "rpc error: code = Aborted desc = x"),
    (NONE, "HTTP 409 Conflict"),
    (NONE, "merge conflict in src/lib.rs"),
    (NONE, "the door is locked"),
    // A refusal silences what stands beside it and before it.
    (NONE, "could not connect to server: permission denied"),
    (NONE, "Connection refused, return code: NotAuthorized"),
    (NONE, "connection error: authentication failed for user app"),
    (NONE, "permanent error (550): 5.1.1 timeout@example.com: No such user"),
    (NONE, "HTTP 401: request timeout is set too low"),
    (NONE, "invalid peer certificate: UnknownIssuer"),
    (SERVER, "transient error (450): 4.2.0 mailbox busy"),
    (SERVER, "transient error (421)"),
    // Behind it, an event overrules it, and a noun does not.
    (NETWORK, "certificate of the backup is missing: connection reset by peer"),
    (NONE, "relation users does not exist: timeout"),
    (NONE, "invalid input syntax for type integer: \"connection refused\""),
    // A longer failure that contains the words of a refusal.
    (NETWORK, "no such host"),
    // Rate limits come with other statuses too.
    (RATE, "HTTP 403: You have exceeded a secondary rate limit"),
    (RATE, "status code: 400, ThrottlingException: Rate exceeded"),
    // Quotas that no wait renews, by their exact code.
    (NONE, "Error code: 429 - {'error': {'type': 'insufficient_quota', 'code': 'insufficient_quota'}}"),
    (NONE, "insufficient_quota: 429 Too Many Requests"),
    (NONE, "HTTP 429: {\"code\":\"billing_hard_limit_reached\"}"),
    (NONE, "429 Too Many Requests: credit_balance_exhausted"),
    (NONE, "rate limit reached (organization_spend_limit_exceeded)"),
    (RATE, "429 Too Many Requests: see https://h/errors#insufficient_quota"),
    (RATE, "HTTP 429 from insufficient_quota_alerts"),
    (RATE, "HTTP 429: You exceeded your current quota, please check your plan"),
    (RATE, "HTTP 429: insufficient quota"),
    // Quoted texts: names, and statements of others.
    (NONE, "password authentication failed for user \"timeout\""),
    (NONE, "database \"timeout\" does not exist"),
    (NONE, "columns \"a\", \"timeout\" are unknown"),
    (NONE, "no tax rate for product 'connection refused'"),
    (NETWORK, "{\"error\": \"connection refused\"}"),
    (NETWORK, "the client said \"connection refused\""),
    (SERVER, "code: 'The service is currently unavailable'"),
    (NETWORK, "the users' server couldn't be reached: connection refused"),
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
        // `connect` has its own tests.
        .filter(|(class, text)| super::text(text).without_connect() != *class)
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
    for phrase in INDEX.iter().flatten() {
        if !matches!(phrase.says, PhraseMeaning::Failure(_)) {
            continue;
        }
        let words =
            phrase.words.split(' ').filter(|word| !["~", "*", ":", "^", "$"].contains(word));
        let plain: Vec<_> = words
            .map(|word| match word {
                "#" => "5",
                "@peer" => "backend",
                "@allowance" => "api",
                "@cannot" => "could not",
                _ => word,
            })
            .collect();
        let text = match phrase.sense {
            Sense::Name => plain.join("_"),
            Sense::Capitals => plain.join(" ").to_uppercase(),
            Sense::Event | Sense::Noun | Sense::Eof | Sense::Anywhere => plain.join(" "),
        };
        let PhraseMeaning::Failure(class) = phrase.says else { panic!("{text} refuses") };
        assert!(super::text(&text).contains(class), "{text}");
    }
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let long = "ü".repeat(LONGEST_TEXT);
    assert_eq!(super::text(&long[..]), NONE);
    assert_eq!(super::text(&format!("x{long} timed out")), NONE);
    assert_eq!(super::text(&format!("timed out {long}")), TIMEOUT);
}

#[test]
fn a_text_of_quotation_marks_has_no_class() {
    for mark in ["«", "\"", "'", "a'", "“ "] {
        let text = mark.repeat(LONGEST_TEXT / mark.len());
        assert_eq!(read(&text), None, "{mark}");
    }
}

#[test]
fn statuses_501_and_505_refuse() {
    for code in [501, 505] {
        assert_eq!(crate::classify::status(code), NONE, "{code}");
        for text in [format!("HTTP {code}"), format!("HTTP status server error ({code} x)")] {
            assert_eq!(read(&text), Some(NONE), "{text}");
        }
    }
}

#[test]
fn gaps_in_phrases_stay_within_a_part() {
    for (class, text) in [
        (CONFLICT, "another operation (install or upgrade) is in progress"),
        (NONE, "another day: work in progress"),
        (NONE, "another one two three four five six seven eight nine ten in progress"),
        (NETWORK, "could not establish a new TLS connection"),
        (NETWORK, "couldn’t connect to db"),
        (NETWORK, "get: EOF"),
        (NONE, "expected a brace, found an EOF"),
        (NONE, "object {\"status\": undefined, \"name\": 1}"),
    ] {
        assert_eq!(super::text(text), class, "{text}");
    }
    assert_eq!(read("x: undefined: y"), Some(NONE));
    assert_eq!(read("{ x: undefined, y: 1 }"), None);
}

#[test]
fn event_in_a_name_is_not_a_failure() {
    for thing in ["connection reset token", "TestConnectionReset", "connection_lost_handler"] {
        assert_eq!(super::text(thing), NONE, "{thing}");
    }
    assert_eq!(super::text("FLOOD_WAIT_42"), RATE);
    assert_eq!(super::text("max TIMEOUT_42"), NONE);
}

#[test]
fn a_refusal_is_distinguished_from_an_unspecific_text() {
    assert_eq!(read("permission denied"), Some(NONE));
    assert_eq!(read("HTTP 404"), Some(NONE));
    assert_eq!(read("no tax rate"), None);
    for code in [408, 409, 421, 423, 425, 429, 451] {
        assert_ne!(read(&format!("HTTP {code}")), Some(NONE), "{code}");
    }
}

#[test]
fn phrases_are_found_by_the_letter_that_they_begin_with() {
    for phrase in INDEX.iter().flatten() {
        let word = phrase.words.strip_prefix("^ ").unwrap_or(phrase.words);
        let is_found =
            word.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '@');
        assert!(is_found, "{word}");
    }
}

#[test]
fn work_grows_linearly_with_a_text() {
    let steps = |text: &str| {
        STEPS.set(0);
        let _ = super::text(text);
        STEPS.get()
    };
    for words in [
        "connection refused, ",
        "permission denied, ",
        "no such host, ",
        "timed out: ",
        "HTTP status 404, ",
        "-32",
        "a-b+",
        "timeout_",
        "error_",
        "TimeoutError",
        "'file': File exists ",
        "moved 1 ",
        "server ",
        "another ",
        "failed to ",
        "limit ",
        "connection to ",
    ] {
        let text = words.repeat(LONGEST_TEXT / words.len());
        let half = words.repeat(LONGEST_TEXT / words.len() / 2);
        let (all, half) = (steps(&text), steps(&half));
        assert!(half > 1_000 && all <= 2 * half + half / 8, "{words}: {half}, then {all}");
    }
}

#[test]
fn refusal_inside_of_a_failure_is_part_of_it() {
    let mut seen = 0;
    for (_, one) in CASES {
        for (_, other) in CASES.iter().step_by(7) {
            let findings = Words::split(&format!("{one}; {other}")).findings();
            let is_part = |refusal: &Finding| {
                let contains = |other: &Finding| {
                    other.is_failure() && other.from <= refusal.from && refusal.to <= other.to
                };
                findings.iter().any(contains)
            };
            let expected = findings.iter().filter(|finding| match finding.meaning {
                Meaning::Failure { .. } => false,
                Meaning::Refusal { .. } => !is_part(finding),
                Meaning::ClientError => true,
            });
            let places = |finding: &Finding| (finding.from, finding.to);
            let found: Vec<_> = refusals(&findings).into_iter().map(places).collect();
            assert_eq!(found, expected.map(places).collect::<Vec<_>>(), "{one}; {other}");
            seen += found.len();
        }
    }
    assert!(seen > 100, "{seen}");
}
