//! The client: an HTTP/1.1 GET by hand, so that this example needs no other crate. A real client is
//! called in the same way: an attempt is any function that returns a `Result`.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The parts of a response that quickstart reads.
pub(crate) struct Response {
    pub(crate) code: u16,
    /// The code and its name: `503 Service Unavailable`.
    pub(crate) status: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: String,
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<Response> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    parse(&response).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(response: &str) -> Option<Response> {
    let (head, body) = response.split_once("\r\n\r\n")?;
    let (first, headers) = head.split_once("\r\n")?;
    let status = first.strip_prefix("HTTP/1.1 ")?;
    let seconds = headers.lines().find_map(|line| line.strip_prefix("Retry-After: "));
    Some(Response {
        code: status.get(..3)?.parse().ok()?,
        status: status.to_owned(),
        retry_after: seconds.and_then(|text| text.parse().ok()).map(Duration::from_secs),
        body: body.to_owned(),
    })
}
