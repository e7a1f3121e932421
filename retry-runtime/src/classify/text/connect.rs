//! Texts of failures to connect: the request was certainly not sent.
//!
//! One rule decides, and it is strict, because a false answer repeats an order. The text is one
//! line, begins with the failure itself, and says nothing else.

use super::{Finding, Meaning, step};
use crate::base::text::words::{Quoted, Words};
use crate::classify::Class;

/// Phrases of a refused connection and of a failed name lookup, in the notation of `FAILURES`.
#[rustfmt::skip]
const CONNECTING: &[&str] = &[
    "connection ~ refused|connection refused error|econnrefused|connect econnrefused|\
    no connection could be made|actively refused|os error : 10061|tcp connect error|\
    client error : connect",
    // Name resolution.
    "dns error|dns failure|dns lookup failed|failed to lookup address|failed to resolve host|\
    could not resolve host|couldn t resolve host|could not resolve proxy|\
    could not translate host name|name ~ not resolved|no such host|unknown host|host not found|\
    name or service not known|nodename nor servname provided|temporary failure in name resolution|\
    name resolution failed|getaddrinfo enotfound|getaddrinfo eai again|eai again",
    // curl, by its exit codes.
    "curl : 5 : could not resolve|curl : 6 : could not resolve|curl : 7 : failed to connect to|\
    couldn t connect to server",
];

/// Words of a failure that another party reports: it has received the request.
const REPORTED: &str = "upstream|rpc error|bad gateway";

/// Returns whether the request was certainly not sent, by this text.
pub(super) fn is_connect(words: &Words<'_>, findings: &[Finding]) -> bool {
    let begin = words.after_exit_status();
    let mut furthest = 0;
    // For each word, the end of the phrases that begin there or before.
    let reaches: Vec<_> = (0..words.list.len())
        .map(|at| {
            if at >= begin {
                let ends = CONNECTING.iter().flat_map(|phrases| phrases.split('|'));
                let ends = ends.filter_map(|phrase| words.phrase_end(phrase, at));
                furthest = ends.fold(furthest, usize::max);
            }
            furthest
        })
        .collect();
    let is_covered = |finding: &Finding| {
        step();
        finding.to <= reaches[finding.from]
    };
    let begins = |&reach: &usize| reach > 0 && words.word(begin).quoted == Quoted::No;
    reaches.get(begin).is_some_and(begins)
        && findings.iter().all(is_covered)
        && !words.text.trim().contains('\n')
        && !denies(words, findings)
}

/// Returns whether a text around the failure contradicts it: the request may have been sent, or
/// another party failed to connect.
pub(in crate::classify) fn denies_connect(text: &str) -> bool {
    let words = Words::split(text);
    denies(&words, &words.findings())
}

fn denies(words: &Words<'_>, findings: &[Finding]) -> bool {
    let is_other = |finding: &Finding| match finding.meaning {
        Meaning::Failure { class, .. } => class != Class::NETWORK,
        Meaning::Refusal { .. } | Meaning::ClientError => true,
    };
    let is_reported = |at: usize| REPORTED.split('|').any(|it| words.phrase_end(it, at).is_some());
    findings.iter().any(is_other)
        || (0..words.list.len()).any(|at| words.status_at(at).is_some() || is_reported(at))
}

impl Words<'_> {
    /// The first word behind "exit status 7", which shells and commands put before a message.
    fn after_exit_status(&self) -> usize {
        let begins = self.word(0).is("exit") && self.word(1).is_in("status code");
        let number = self.word(2).text.parse::<u8>().is_ok();
        if begins && number { 3 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::classify::Class;
    use crate::classify::text::text as class_of;

    #[test]
    fn text_is_a_failure_to_connect_only_without_other_signs() {
        for text in [
            "Connection refused (os error 111)",
            "connection was refused",
            "connect ECONNREFUSED 127.0.0.1:5432",
            "ConnectionRefusedError: [Errno 111] Connection refused",
            "tcp connect error: Connection refused (os error 111)",
            "No connection could be made because the target machine actively refused it. (os error 10061)",
            "client error (Connect)",
            "dns error: failed to lookup address information: Name or service not known",
            "failed to lookup address information: Temporary failure in name resolution",
            "getaddrinfo ENOTFOUND nowhere.invalid",
            "could not translate host name \"db\" to address: Name or service not known",
            "curl: (6) Could not resolve host: example.invalid",
            "curl: (7) Failed to connect to localhost port 81 after 0 ms: Couldn't connect to server",
            "exit status 7: curl: (7) Failed to connect to localhost port 81 after 0 ms: Connection refused",
        ] {
            // `Debug` does not show the difference.
            assert!(class_of(text) == Class::NETWORK | Class::CONNECT, "{text}");
        }
    }

    #[test]
    fn text_is_only_network_in_doubt() {
        for (text, class) in [
            // The text does not begin with the failure.
            ("the shop said: connection refused", Class::NETWORK),
            ("dial tcp 10.0.0.1:80: connect: connection refused", Class::NETWORK),
            ("could not connect to the database", Class::NETWORK),
            ("{\"error\": \"connection refused\"}", Class::NETWORK),
            ("\"connection refused\"", Class::NETWORK),
            // The text contains another failure.
            ("connection refused, then connection reset by peer", Class::NETWORK),
            ("connection refused: the operation timed out", Class::NETWORK | Class::TIMEOUT),
            ("connection refused: HTTP 502", Class::NETWORK | Class::SERVER_ERROR),
            ("connection refused, status 409", Class::NETWORK),
            ("connection refused by upstream", Class::NETWORK),
            ("connection refused: rpc error", Class::NETWORK),
            ("connection refused\norder 17 was sent", Class::NETWORK),
            ("connection refused: permission denied", Class::empty()),
            // Linux returns these on established connections, too.
            ("Connection timed out (os error 110)", Class::TIMEOUT),
            ("No route to host (os error 113)", Class::NETWORK),
            ("Network is unreachable (os error 101)", Class::NETWORK),
            ("Cannot assign requested address (os error 99)", Class::NETWORK),
            ("Connection reset by peer (os error 104)", Class::NETWORK),
        ] {
            assert!(class_of(text) == class, "{text}: {:?}", class_of(text));
        }
    }
}
