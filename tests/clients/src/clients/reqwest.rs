//! reqwest, in both versions that are in use.

use std::time::Duration;

use super::{IMPATIENT, PATIENT, REFUSED};
use crate::judged;
use crate::report::Decision::{self, Permanent, Transient, Undecided};
use crate::servers::http::{Http, Tls};
use crate::suite::{Client, Suite, error};

/// Statuses, and whether to try again.
pub(super) const STATUSES: [(&str, Decision); 17] = [
    ("/429/Retry-After:7", Transient),
    ("/429", Transient),
    ("/500", Transient),
    ("/502", Transient),
    ("/503", Transient),
    ("/503/Retry-After:7", Transient),
    ("/504", Transient),
    ("/408", Transient),
    ("/400", Permanent),
    ("/401", Permanent),
    ("/403", Permanent),
    ("/404", Permanent),
    ("/409", Undecided),
    ("/410", Permanent),
    ("/413", Permanent),
    ("/422", Permanent),
    ("/501", Undecided),
];

/// Failures on the way, and the client's time limits.
pub(super) const TROUBLES: [(&str, &str, Decision, Duration); 6] = [
    ("reset in mid-body", "/reset", Transient, PATIENT),
    ("end in mid-body", "/cut", Transient, PATIENT),
    ("hang-up instead of an answer", "/hangup", Transient, PATIENT),
    ("no answer in time", "/hang", Transient, IMPATIENT),
    ("body not in time", "/stall", Transient, IMPATIENT),
    ("garbage instead of HTTP", "/garbage", Permanent, PATIENT),
];

pub(super) struct Fakes {
    pub(super) plain: Http,
    pub(super) valid: Http,
    pub(super) expired: Http,
    pub(super) wrong: Http,
}

impl Fakes {
    pub(super) async fn start() -> Self {
        Self {
            plain: Http::start(Tls::None).await,
            valid: Http::start(Tls::Valid).await,
            expired: Http::start(Tls::Expired).await,
            wrong: Http::start(Tls::WrongName).await,
        }
    }

    /// The server, and the one whose certificate the client trusts.
    pub(super) fn refused_certificates(&self) -> [(&'static str, &Http, &Http); 3] {
        [
            ("untrusted certificate", &self.valid, &self.expired),
            ("expired certificate", &self.expired, &self.expired),
            ("certificate of another name", &self.wrong, &self.wrong),
        ]
    }
}

macro_rules! version {
    ($reqwest:ident, $trusting:expr) => {
        mod $reqwest {
            use ::$reqwest::{Certificate, ClientBuilder, Error, redirect};

            use super::*;

            judged!(Error);

            fn trusting(fake: &Http) -> ClientBuilder {
                let certificate = Certificate::from_pem(fake.pem.as_bytes()).expect("one");
                let trusting: fn(ClientBuilder, Certificate) -> ClientBuilder = $trusting;
                let builder = ::$reqwest::Client::builder().no_proxy();
                trusting(builder, certificate).timeout(PATIENT)
            }

            async fn text(builder: ClientBuilder, url: &str) -> Result<String, Error> {
                let answer = builder.build()?.get(url).send().await?;
                answer.error_for_status()?.text().await
            }

            pub(super) async fn run(client: &mut Client<'_>, fakes: &Fakes) {
                for (path, decision) in STATUSES {
                    client
                        .case(path, decision, async || {
                            error(text(trusting(&fakes.plain), &fakes.plain.url(path)).await)
                        })
                        .await;
                }
                for (failure, path, decision, timeout) in TROUBLES {
                    client
                        .case(failure, decision, async || {
                            let builder = trusting(&fakes.plain);
                            let builder = builder.timeout(timeout);
                            error(text(builder, &fakes.plain.url(path)).await)
                        })
                        .await;
                }
                for (failure, fake, trusted) in fakes.refused_certificates() {
                    client
                        .case(failure, Permanent, async || {
                            error(text(trusting(trusted), &fake.tls_url("/200")).await)
                        })
                        .await;
                }
                client
                    .case("TLS to a plain port", Permanent, async || {
                        error(text(trusting(&fakes.plain), &fakes.plain.tls_url("/200")).await)
                    })
                    .await;
                client
                    .case("503 by TLS", Transient, async || {
                        error(text(trusting(&fakes.valid), &fakes.valid.tls_url("/503")).await)
                    })
                    .await;
                client
                    .case("refused port", Transient, async || {
                        error(text(trusting(&fakes.plain), &format!("http://{REFUSED}/404")).await)
                    })
                    .await;
                client
                    .case("unknown host", Transient, async || {
                        error(text(trusting(&fakes.plain), "http://nowhere.invalid/").await)
                    })
                    .await;
                client
                    .case("an address that is none", Permanent, async || {
                        error(text(trusting(&fakes.plain), "connection refused").await)
                    })
                    .await;
                client
                    .case("a body that is no JSON", Permanent, async || {
                        let client = trusting(&fakes.plain).build().expect("a client");
                        let answer = client.get(fakes.plain.url("/json")).send().await;
                        error(answer.expect("an answer").json::<serde_json::Value>().await)
                    })
                    .await;
                client
                    .case("redirects without an end", Permanent, async || {
                        let builder = trusting(&fakes.plain);
                        let builder = builder.redirect(redirect::Policy::limited(3));
                        error(text(builder, &fakes.plain.url("/loop")).await)
                    })
                    .await;
            }
        }
    };
}

version!(reqwest, |builder, certificate| builder.tls_certs_only([certificate]));
version!(reqwest_0_12, |builder, certificate| builder.add_root_certificate(certificate));

pub(super) async fn run(suite: &mut Suite) {
    let fakes = Fakes::start().await;
    reqwest::run(&mut suite.client("reqwest 0.13", "reqwest", "0.13"), &fakes).await;
    reqwest_0_12::run(&mut suite.client("reqwest 0.12", "reqwest", "0.12"), &fakes).await;
}
