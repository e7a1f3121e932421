//! The service that quickstart calls: HTTP/1.1 by hand, with scripted trouble.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

/// The fate of a request.
enum Fate {
    Answer,
    Status(&'static str),
    Stall,
}

/// The script: what happens to the nth request for a path.
fn fate(path: &str, nth: u32) -> Fate {
    match (path, nth) {
        ("/busy", 2) => Fate::Status("429 Too Many Requests\r\nRetry-After: 1"),
        ("/gone", _) => Fate::Status("404 Not Found"),
        ("/forecast", 1) => Fate::Stall,
        ("/busy", 1) | ("/order", 1..=3) | ("/down", _) => Fate::Status("503 Service Unavailable"),
        _ => Fate::Answer,
    }
}

/// An address on loopback that refuses connections until the service starts.
pub(crate) struct Service {
    socket: TcpSocket,
    address: SocketAddr,
}

impl Service {
    /// Binds the address, but does not listen yet.
    pub(crate) fn reserve() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens once this time has passed.
    pub(crate) fn start_after(self, time: Duration) {
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            serve(self.socket).await
        });
    }
}

async fn serve(socket: TcpSocket) -> io::Result<()> {
    let listener = socket.listen(16)?;
    let counts = Arc::new(Mutex::new(HashMap::new()));
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer(stream, Arc::clone(&counts)));
    }
}

/// Reads one request, answers it according to the script, and closes the connection.
async fn answer(stream: TcpStream, counts: Arc<Mutex<HashMap<String, u32>>>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    // The head ends with an empty line: "\r\n" and nothing else.
    while stream.read_line(&mut request).await? > 2 {}
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();

    let nth = {
        let mut counts = counts.lock().expect("nobody panics while counting");
        let count = counts.entry(path.clone()).or_insert(0);
        *count += 1;
        *count
    };
    let (status, body) = match fate(&path, nth) {
        Fate::Answer => ("200 OK", format!("answer to request {nth} for {path}")),
        Fate::Status(status) => (status, String::new()),
        Fate::Stall => std::future::pending().await,
    };
    let length = body.len();
    let response =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(response.as_bytes()).await
}
