//! A proxy between a store and its server, which cuts and delays connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The faults that the proxy injects.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The number of next responses that are lost: their connections are cut after the server has
    /// done its work.
    lost_answers: AtomicUsize,
    /// The number of responses before them.
    spared_answers: AtomicUsize,
    /// The number of next requests that are lost: their connections are cut before the server sees
    /// them.
    lost_questions: AtomicUsize,
    /// The delay of responses, in milliseconds.
    delay: AtomicU64,
    /// `true` if new connections are refused.
    is_closed: AtomicBool,
}

pub(crate) struct Proxy {
    /// The address of the server through the proxy.
    pub(crate) url: String,
    faults: Arc<Faults>,
    cut: watch::Sender<u64>,
}

impl Proxy {
    pub(crate) async fn start(url: &str) -> Self {
        let (head, rest) = url.split_once("127.0.0.1:").expect("a server of these tests");
        let (port, tail) = rest.split_once('/').expect("a database");
        let to: u16 = port.parse().expect("a port");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("one").port();
        let faults = Arc::new(Faults::default());
        let cut = watch::Sender::new(0);
        let (shared, cuts) = (Arc::clone(&faults), cut.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.is_closed.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { continue };
                tokio::spawn(carry(client, server, Arc::clone(&shared), cuts.subscribe()));
            }
        });
        Self { url: format!("{head}127.0.0.1:{port}/{tail}"), faults, cut }
    }

    pub(crate) fn lose_answers(&self, answers: usize) {
        self.faults.lost_answers.store(answers, Ordering::Relaxed);
    }

    /// Loses the response after this many others.
    pub(crate) fn lose_answer_after(&self, spared: usize) {
        self.faults.spared_answers.store(spared, Ordering::Relaxed);
        self.lose_answers(1);
    }

    pub(crate) fn lose_questions(&self, questions: usize) {
        self.faults.lost_questions.store(questions, Ordering::Relaxed);
    }

    pub(crate) fn delay(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_millis()).expect("a short one");
        self.faults.delay.store(delay, Ordering::Relaxed);
    }

    /// Cuts all connections, and refuses new ones until it is opened again.
    pub(crate) fn close(&self) {
        self.faults.is_closed.store(true, Ordering::Relaxed);
        self.cut.send_modify(|cuts| *cuts += 1);
    }

    pub(crate) fn open(&self) {
        self.faults.is_closed.store(false, Ordering::Relaxed);
    }

    /// Returns `true` if all requested faults have happened.
    pub(crate) fn is_done(&self) -> bool {
        let left = [&self.faults.lost_answers, &self.faults.lost_questions];
        left.iter().all(|left| left.load(Ordering::Relaxed) == 0)
    }
}

/// Decrements the counter, unless it is zero.
fn take(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

async fn carry(
    client: TcpStream,
    server: TcpStream,
    faults: Arc<Faults>,
    mut cut: watch::Receiver<u64>,
) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pass(from_client, to_server, &faults, false) => {}
        () = pass(from_server, to_client, &faults, true) => {}
        _ = cut.changed() => {}
    }
}

/// Forwards data until either side ends, or until what was read has to be lost.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, faults: &Faults, answers: bool) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let is_lost = if answers {
            tokio::time::sleep(Duration::from_millis(faults.delay.load(Ordering::Relaxed))).await;
            !take(&faults.spared_answers) && take(&faults.lost_answers)
        } else {
            take(&faults.lost_questions)
        };
        if is_lost || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
