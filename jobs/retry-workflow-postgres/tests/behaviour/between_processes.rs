//! A fleet in ten real processes, with its hub in a Postgres server: a breaker that opens and
//! closes in all of them, one probe at a time, a bad node, a server outage, members that are
//! killed.
//!
//! The members are this very program: the test [`member`] acts as one if the environment names a
//! server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use retry_fleet::{Fleet, FleetEvent};
use retry_runtime::{BreakerConfig, CircuitBreaker};
use retry_workflow_postgres::PostgresHub;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;
use tokio_postgres::{Client, NoTls};

use crate::fixture::OwnServer;

const URL: &str = "RETRY_TEST_MEMBER_OF";
const NUMBER: &str = "RETRY_TEST_MEMBER";
const BACKEND: &str = "RETRY_TEST_BACKEND";
const MEMBERS: usize = 10;
const MILLI: Duration = Duration::from_millis(1);
const SEC: Duration = Duration::from_secs(1);
/// The time limit of an operation on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new().timeout(SEC));

/// A member that calls the backend, until it is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn member() {
    let Ok(url) = std::env::var(URL) else { return };
    let (number, backend) = (std::env::var(NUMBER).unwrap(), std::env::var(BACKEND).unwrap());
    let number: u8 = number.parse().unwrap();
    let say = |line: &str| {
        let mut out = std::io::stdout().lock();
        let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    DB.on_transition(move |transition| say(transition.to.as_str()));
    let hub = PostgresHub::connect(&url).await.unwrap();
    let fleet = Fleet::join(hub, "billing").await.unwrap();
    fleet.on_event(move |event: &FleetEvent<'_>| match event {
        FleetEvent::HubLost { .. } => say("lost"),
        FleetEvent::HubBack { .. } => say("back"),
        _ => {}
    });
    fleet.share(&DB).opens_at(0.5);
    say("joined");
    loop {
        if let Ok(permit) = DB.try_acquire() {
            if call(&backend, number).await { permit.success() } else { permit.failure() }
        }
        sleep(50 * MILLI).await;
    }
}

async fn call(backend: &str, number: u8) -> bool {
    let Ok(mut stream) = tokio::net::TcpStream::connect(backend).await else { return false };
    let mut answer = [0];
    stream.write_all(&[number]).await.is_ok()
        && stream.read_exact(&mut answer).await.is_ok()
        && answer[0] == 1
}

/// The backend that members call; it can be down for each of them separately.
#[derive(Default)]
struct Backend {
    down: [AtomicBool; MEMBERS],
    calls: AtomicU64,
    now: AtomicU32,
    most: AtomicU32,
}

impl Backend {
    fn start() -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let backend = Arc::new(Self::default());
        let serving = Arc::clone(&backend);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let backend = Arc::clone(&serving);
                std::thread::spawn(move || backend.serve(stream));
            }
        });
        (backend, address)
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut number = [0];
        if stream.read_exact(&mut number).is_err() {
            return;
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(5 * MILLI);
        self.now.fetch_sub(1, Ordering::SeqCst);
        let is_down = self.down[usize::from(number[0])].load(Ordering::SeqCst);
        let _gone = stream.write_all(&[u8::from(!is_down)]);
    }

    fn set_down(&self, members: std::ops::Range<usize>, down: bool) {
        for member in &self.down[members] {
            member.store(down, Ordering::SeqCst);
        }
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

/// A process, and its output.
struct Process {
    child: Child,
    said: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Process {
    fn start(url: &str, backend: &str, number: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "between_processes::member", "--nocapture"])
            .env(URL, url)
            .env(NUMBER, number.to_string())
            .env(BACKEND, backend)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let (log, out) = (Arc::clone(&said), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                log.lock().unwrap().push((Instant::now(), line));
            }
        });
        Self { child, said }
    }

    fn has_said(&self, word: &str) -> bool {
        self.said.lock().unwrap().iter().any(|(_, line)| line == word)
    }

    /// The breaker state that it last reported, and when.
    fn state(&self) -> (Option<Instant>, String) {
        let said = self.said.lock().unwrap();
        let states = said.iter().rev();
        let mut states =
            states.filter(|(_, line)| ["open", "closed", "half_open"].contains(&&**line));
        states.next().map_or((None, "closed".to_owned()), |(at, line)| (Some(*at), line.clone()))
    }

    fn is(&self, state: &str) -> bool {
        self.state().1 == state
    }

    fn is_closed(&self) -> bool {
        self.is("closed")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

async fn until(what: &str, most: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < most, "{what}: not after {most:?}");
        sleep(10 * MILLI).await;
    }
    begin.elapsed()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The members that the hub has heard of in the last ten seconds.
const LIVING: &str = "retry_fleet.members \
                      WHERE seen > extract(epoch FROM clock_timestamp()) * 1000000 - 10000000";

/// The members that have reported to the hub that they call.
const CALLING: &str = "retry_fleet.reports WHERE called IS NOT NULL";

/// Waits until the hub has all members in these rows, and no others.
async fn until_all_are(rows: &str, url: &str, what: &str) {
    let sql = &format!("SELECT count(*) FROM {rows}");
    let (client, begin) = (connect(url).await, Instant::now());
    while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) != 10 {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        sleep(50 * MILLI).await;
    }
}

/// Ten members on a server of their own; `None` without Postgres.
async fn ten() -> Option<(String, OwnServer, Arc<Backend>, String, Vec<Process>)> {
    crate::fixture::server()?;
    let (url, server) = OwnServer::start(&["fsync=off"])?;
    let (backend, address) = Backend::start();
    let processes: Vec<_> =
        (0..MEMBERS).map(|number| Process::start(&url, &address, number)).collect();
    until("joined", PATIENCE, || processes.iter().all(|one| one.has_said("joined"))).await;
    Some((url, server, backend, address, processes))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_processes_share_a_breaker() {
    let Some((url, _server, backend, _, processes)) = ten().await else { return };
    until_all_are(CALLING, &url, "all have reported").await;

    // A bad node opens its own breaker.
    backend.set_down(0..1, true);
    until("the bad node", PATIENCE, || processes[0].is("open")).await;
    sleep(3 * SEC).await;
    assert!(processes[1..].iter().all(Process::is_closed), "one bad node poisons nobody");
    backend.set_down(0..1, false);
    until("the good node", PATIENCE, || processes[0].is_closed()).await;

    // Half of them are enough.
    backend.set_down(0..5, true);
    until("open", PATIENCE, || processes.iter().all(|one| one.is("open"))).await;
    let mut opened: Vec<_> = processes.iter().map(|one| one.state().0.unwrap()).collect();
    opened.sort_unstable();
    // The fifth makes the quorum, unless members that only followed were earlier; then the time is
    // even shorter.
    let to_open = opened[9] - opened[4];
    backend.set_down(0..MEMBERS, true);
    sleep(100 * MILLI).await;
    backend.most.store(0, Ordering::SeqCst);
    let before = backend.calls();
    sleep(3500 * MILLI).await;
    let probes = backend.calls() - before;
    assert!((1..=4).contains(&probes), "{probes} probes in 3.5 s, each 1 s");
    assert_eq!(backend.most.load(Ordering::SeqCst), 1, "one at a time");
    assert!(!processes.iter().any(Process::is_closed));

    backend.set_down(0..MEMBERS, false);
    until("the verdict", PATIENCE, || processes.iter().any(Process::is_closed)).await;
    assert_eq!(backend.most.load(Ordering::SeqCst), 1, "one at a time, to the end");
    let to_close = until("closed", PATIENCE, || processes.iter().all(Process::is_closed)).await;
    println!(
        "ten processes: open everywhere {to_open:.0?} after the fifth, {probes} probes in 3.5 s \
         of outage, closed everywhere {to_close:.0?} after the verdict"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_processes_go_on_through_an_outage_and_kills() {
    let Some((url, server, backend, address, mut processes)) = ten().await else { return };
    // Whom the hub has never answered cannot lose it.
    until_all_are(LIVING, &url, "all have been heard of").await;

    // The server is gone, but calls continue. The loss and the return are reported.
    server.crash();
    until("lost", PATIENCE, || processes.iter().all(|one| one.has_said("lost"))).await;
    let before = backend.calls();
    until("more calls", PATIENCE, || backend.calls() - before > 100).await;
    server.resume();
    until("back", PATIENCE, || processes.iter().all(|one| one.has_said("back"))).await;

    // Members are killed, and others start.
    for number in [0, 3, 6, 8, 2, 0] {
        processes[number] = Process::start(&url, &address, number);
        until("joined", PATIENCE, || processes[number].has_said("joined")).await;
    }
    until_all_are(LIVING, &url, "the dead do not count any more").await;
}
