//! ureq, which blocks, and which the library does not know by type.

use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error};

use super::reqwest::{Fakes, STATUSES, TROUBLES};
use super::{PATIENT, REFUSED};
use crate::judged;
use crate::report::Decision::{Permanent, Transient};
use crate::servers::http::Http;
use crate::suite::{Suite, error};

judged!(Error);

fn get(trusted: &Http, timeout: Duration, url: &str) -> Result<String, Error> {
    let root = Certificate::from_pem(trusted.pem.as_bytes()).expect("a certificate");
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[root])).build();
    let config = Agent::config_builder().tls_config(tls).timeout_global(Some(timeout)).proxy(None);
    Agent::new_with_config(config.build()).get(url).call()?.body_mut().read_to_string()
}

/// A blocking call, on a thread that it may block.
fn error_of(trusted: &Http, timeout: Duration, url: &str) -> Error {
    tokio::task::block_in_place(|| error(get(trusted, timeout, url)))
}

pub(super) async fn run(suite: &mut Suite) {
    let fakes = Fakes::start().await;
    let plain = &fakes.plain;
    let mut client = suite.client("ureq", "ureq", "3");
    for (path, decision) in STATUSES {
        let url = plain.url(path);
        client.case(path, decision, async || error_of(plain, PATIENT, &url)).await;
    }
    for (failure, path, decision, timeout) in TROUBLES {
        let url = plain.url(path);
        client.case(failure, decision, async || error_of(plain, timeout, &url)).await;
    }
    for (failure, fake, trusted) in fakes.refused_certificates() {
        let url = fake.tls_url("/200");
        client.case(failure, Permanent, async || error_of(trusted, PATIENT, &url)).await;
    }
    for (failure, url, decision) in [
        ("TLS to a plain port", plain.tls_url("/200"), Permanent),
        ("refused port", format!("http://{REFUSED}/404"), Transient),
        ("unknown host", "http://nowhere.invalid/".to_owned(), Transient),
        ("an address that is none", "connection refused".to_owned(), Permanent),
        ("redirects without an end", plain.url("/loop"), Permanent),
    ] {
        client.case(failure, decision, async || error_of(plain, PATIENT, &url)).await;
    }
}
