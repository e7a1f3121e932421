//! The name under which the board is asked for. A stranger's page can give a name of its own to
//! this machine's address (DNS rebinding), but it cannot choose another name for itself.

use axum::http::header::HOST;
use axum::http::request::Parts;

/// The host that a request names, without its port.
pub(crate) fn of(parts: &Parts) -> Option<&str> {
    authority(parts).map(without_port)
}

/// The host that a request names, with its port if it has one.
pub(crate) fn authority(parts: &Parts) -> Option<&str> {
    let by_header = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    by_header.or_else(|| parts.uri.authority().map(axum::http::uri::Authority::as_str))
}

pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        // `[::1]` ends with a bracket.
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Whether a name means this machine, whoever says it.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_several_names_and_no_others() {
        for name in ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.8.8", "[::1]"] {
            assert!(is_loopback(name), "{name}");
        }
        for name in
            ["", "example.org", "localhost.example.org", "127.0.0.1.example.org", "10.0.0.1"]
        {
            assert!(!is_loopback(name), "{name}");
        }
    }

    #[test]
    fn a_port_is_no_part_of_a_name() {
        for (authority, host) in [
            ("localhost:7878", "localhost"),
            ("localhost", "localhost"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(without_port(authority), host);
        }
    }
}
