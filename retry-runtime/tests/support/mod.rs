//! A real server of HTTP on loopback that answers by script.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::time::Instant;

/// The status, and what `Retry-After` says.
pub(crate) type Answer = (u16, Option<&'static str>);

/// The requests of the server, and their times.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Vec<(Instant, String)>>);

impl Log {
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    pub(crate) fn gaps(&self) -> Vec<Duration> {
        self.0.lock().unwrap().windows(2).map(|two| two[1].0 - two[0].0).collect()
    }
}

/// Answers as `script` says, and then with 200; each body says which answer it is.
pub(crate) async fn serve(script: impl IntoIterator<Item = Answer>) -> (SocketAddr, Arc<Log>) {
    let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
    let log = Arc::new(Log::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::clone(&log);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (script, log) = (Arc::clone(&script), Arc::clone(&heard));
            let answer = service_fn(move |request: Request<Incoming>| {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                async move {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let number = {
                        let mut log = log.0.lock().unwrap();
                        log.push((Instant::now(), String::from_utf8(body.to_vec()).unwrap()));
                        log.len()
                    };
                    let (status, retry_after) =
                        script.lock().unwrap().pop_front().unwrap_or((200, None));
                    let mut response = Response::builder().status(status);
                    if let Some(value) = retry_after {
                        response = response.header("Retry-After", value);
                    }
                    let body = Full::new(Bytes::from(format!("answer {number}")));
                    Ok::<_, Infallible>(response.body(body).unwrap())
                }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer);
            tokio::spawn(connection);
        }
    });
    (address, log)
}

/// An address without a listener; a port that was free a moment ago may be taken by now.
pub(crate) const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
