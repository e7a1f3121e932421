//! tonic, without generated code: a codec that sends and expects nothing.

use std::time::Duration;

use http::uri::PathAndQuery;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Endpoint;
use tonic::{Request, Status};

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{self, Conflict, Permanent, Transient, Undecided};
use crate::servers::grpc::{Answer, Grpc};
use crate::servers::http::{Http, Tls};
use crate::suite::{Suite, error};

judged!(Status);
judged!(tonic::transport::Error);

#[derive(Clone, Copy, Default)]
struct Nothing;

impl Codec for Nothing {
    type Encode = ();
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Nothing {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, (): (), _: &mut EncodeBuf<'_>) -> Result<(), Status> {
        Ok(())
    }
}

impl Decoder for Nothing {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        Ok(Some(()))
    }
}

/// Calls a method, on a connection that is made when it is needed.
async fn call(address: &str, timeout: u64) -> Result<(), Status> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    let channel = endpoint.timeout(Duration::from_millis(timeout)).connect_lazy();
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| Status::from_error(error.into()))?;
    let path = PathAndQuery::from_static("/users.Users/Get");
    client.unary(Request::new(()), path, Nothing).await.map(drop)
}

/// `google.rpc.Status` with a `RetryInfo` of 7 s.
const RETRY_INFO: &str = "CAgaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIBw";

const STATUSES: [(&str, Decision, Answer); 20] = [
    ("Unavailable", Transient, Answer::Status(14, "no healthy upstream", "")),
    ("Unavailable, in German", Transient, Answer::Status(14, "Wartung", "")),
    ("Unauthenticated", Permanent, Answer::Status(16, "token timed out", "")),
    ("PermissionDenied", Permanent, Answer::Status(7, "rate limit group: 503", "")),
    ("NotFound", Permanent, Answer::Status(5, "no user timeout", "")),
    ("InvalidArgument", Permanent, Answer::Status(3, "timeout must be positive", "")),
    ("AlreadyExists", Permanent, Answer::Status(6, "connection reset exists", "")),
    ("FailedPrecondition", Permanent, Answer::Status(9, "the connection is closed", "")),
    ("OutOfRange", Permanent, Answer::Status(11, "500 is too much", "")),
    ("Unimplemented", Permanent, Answer::Status(12, "unknown method Timeout", "")),
    ("DataLoss", Permanent, Answer::Status(15, "connection reset", "")),
    ("Aborted", Conflict, Answer::Status(10, "the transaction was aborted", "")),
    ("ResourceExhausted", Transient, Answer::Status(8, "quota", "")),
    ("ResourceExhausted with RetryInfo", Transient, Answer::Status(8, "quota", RETRY_INFO)),
    ("DeadlineExceeded", Transient, Answer::Status(4, "too late", "")),
    ("Internal", Transient, Answer::Status(13, "database connection lost", "")),
    ("Unknown", Undecided, Answer::Status(2, "?", "")),
    ("Cancelled", Undecided, Answer::Status(1, "by the client", "")),
    ("503 of a proxy", Transient, Answer::Proxy(503, "<html>503 Service Unavailable</html>")),
    ("404 of a proxy", Permanent, Answer::Proxy(404, "<html>404: not the timeout</html>")),
];

/// More of what proxies say.
const PROXIES: [(&str, Decision, Answer); 4] = [
    ("429 of a proxy", Transient, Answer::Proxy(429, "<html>429</html>")),
    ("502 of a proxy", Transient, Answer::Proxy(502, "<html>502</html>")),
    ("400 of a proxy", Permanent, Answer::Proxy(400, "<html>400</html>")),
    ("403 of a proxy", Permanent, Answer::Proxy(403, "<html>403</html>")),
];

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("tonic", "tonic", "0.14");
    for (failure, decision, answer) in STATUSES.into_iter().chain(PROXIES) {
        let fake = Grpc::start(answer).await;
        let address = fake.address.to_string();
        let asks = failure.ends_with("RetryInfo").then_some(Duration::from_secs(7));
        client
            .asking(asks)
            .case(failure, decision, async || error(call(&address, 5000).await))
            .await;
    }
    let never = Grpc::start(Answer::Never).await;
    let address = never.address.to_string();
    client.case("no answer in time", Transient, async || error(call(&address, 20).await)).await;
    client.case("refused port", Transient, async || error(call(REFUSED, 5000).await)).await;
    client
        .case("unknown host", Transient, async || error(call("nowhere.invalid", 5000).await))
        .await;
    // Depending on which of two ends of it is noticed first, it is Internal or Cancelled.
    let http = Http::start(Tls::None).await;
    let address = http.address.to_string();
    client
        .case("HTTP/1 instead of gRPC", Undecided, async || error(call(&address, 5000).await))
        .await;
    client
        .case("refused port, while connecting", Transient, async || {
            let endpoint = Endpoint::from_static("http://127.0.0.1:1");
            error(endpoint.connect().await)
        })
        .await;
    client
        .case("an address that is none", Permanent, async || {
            error(Endpoint::from_shared("connection refused"))
        })
        .await;
}
