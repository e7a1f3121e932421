//! The host name of a request. A foreign web page can point its own name at this machine's address
//! (DNS rebinding), but its requests then still carry that name.

use axum::http::header::HOST;
use axum::http::request::Parts;

/// The host name of a request, without the port.
pub(crate) fn of(parts: &Parts) -> Option<&str> {
    authority(parts).map(without_port)
}

/// The host name of a request, with the port if there is one.
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

/// Browsers leave out the port that a scheme has by itself; proxies may add it.
pub(super) fn without_default_port<'a>(scheme: &str, authority: &'a str) -> &'a str {
    let port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return authority,
    };
    authority.strip_suffix(port).unwrap_or(authority)
}

/// Returns whether a name always means this machine.
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
    fn a_port_is_not_part_of_a_host_name() {
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
