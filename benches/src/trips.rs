//! A proxy in front of a Postgres server, which counts round trips: each message for whose response
//! a client may wait. Of several that are sent together, each counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The length of a message's type and length fields (Protocol 55.7).
const HEADER: usize = 5;

/// Runs until it is dropped.
pub(crate) struct Trips {
    /// The address of the server through the proxy.
    pub(crate) url: String,
    count: Arc<AtomicU64>,
    /// Dropping this closes the connections.
    _connections: JoinSet<()>,
}

impl Trips {
    /// Starts a proxy to this server.
    pub(crate) async fn to(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let (scheme, rest) = url.split_once("://").expect("an address like `postgres://…`");
        let (authority, database) = rest.split_once('/').expect("the name of a database");
        let (user, server) = authority.rsplit_once('@').expect("the name of a user");
        let mark = if database.contains('?') { '&' } else { '?' };
        // Encrypted messages could not be counted.
        let url = format!("{scheme}://{user}@127.0.0.1:{port}/{database}{mark}sslmode=disable");
        let count = Arc::new(AtomicU64::new(0));
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, server.to_owned(), Arc::clone(&count)));
        Self { url, count, _connections: connections }
    }

    /// The number of round trips so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, server: String, count: Arc<AtomicU64>) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.expect("a connection");
        let server = TcpStream::connect(&server).await.expect("a server");
        for stream in [&client, &server] {
            stream.set_nodelay(true).expect("an option of each");
        }
        let (client, server) = (client.into_split(), server.into_split());
        let count = Arc::clone(&count);
        connections.spawn(async move {
            // Whichever side ends first, the other follows.
            let _ = tokio::join!(answer(server.0, client.1), ask(client.0, server.1, &count));
        });
    }
}

async fn answer(mut server: OwnedReadHalf, mut client: OwnedWriteHalf) -> io::Result<()> {
    io::copy(&mut server, &mut client).await.map(drop)
}

async fn ask(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut unread = Vec::new();
    // The first message has no type.
    let mut is_first = true;
    while client.read_buf(&mut unread).await? > 0 {
        let mut whole = 0;
        loop {
            let skipped = usize::from(!is_first);
            let Some(header) = unread.get(whole..whole + HEADER) else { break };
            let length = header[skipped..].first_chunk().expect("four bytes of five");
            let length = u32::from_be_bytes(*length) as usize + skipped;
            if unread.len() < whole + length {
                break;
            }
            // `Query`, and `Sync`, which ends a sequence of the extended protocol.
            if !is_first && matches!(header[0], b'Q' | b'S') {
                count.fetch_add(1, Ordering::Relaxed);
            }
            is_first = false;
            whole += length;
        }
        server.write_all(&unread[..whole]).await?;
        unread.drain(..whole);
    }
    server.shutdown().await
}
