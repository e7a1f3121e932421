//! The response times of the pages of a large store: 10,000 jobs and 1,000,000 dead letters, on
//! SQLite and, if `RETRY_BENCH_POSTGRES` names a server, on Postgres.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::jobs::{Folder, Thousands, build, server};
use crate::child;
use crate::report::{Report, Section};
use crate::scratch::target_folder;
use crate::table::Table;

/// The number of requests of a page.
const ASKED: usize = 200;
/// The number of requests of a stream: a visitor has at most 64 at a time, and the end of one is
/// noticed a moment later.
const STREAMS: usize = 32;
/// The time limit for the requests of a page.
const AT_MOST: Duration = Duration::from_secs(10);

/// The limits that every page should stay below.
const LONGEST: Duration = Duration::from_millis(100);
const LARGEST: usize = 1024 * 1024;

/// The number of pages that listen for changes.
const LISTENERS: u32 = 60;

/// In the order of the table. A cursor is the number of an item, in order of arrival.
const PAGES: [(&str, &str); 21] = [
    ("jobs", "/jobs"),
    ("jobs, from the middle", "/jobs?after=5000"),
    ("the large job", "/job?id=night-1"),
    ("a small job", "/job?id=import5000-1"),
    ("dead letters", "/dead-letters"),
    ("dead letters, from the middle", "/dead-letters?after=500000"),
    ("dead letters, the last ones", "/dead-letters?after=999900"),
    ("… of the large job", "/dead-letters?job=night-1"),
    ("… of a small job", "/dead-letters?job=import9000-1"),
    ("… of a class", "/dead-letters?class=timeout"),
    ("… of a class that none has", "/dead-letters?class=panic"),
    ("… of a signature", SIGNATURE),
    ("… of the last two hours", "/dead-letters?since=2h+ago"),
    ("… that say a rare word", "/dead-letters?text=order+949999"),
    ("an item", "/item?job=night-1&id=4711"),
    ("policies", "/policies"),
    ("jobs, as JSON", "/api/jobs"),
    ("the large job, as JSON", "/api/job?id=night-1"),
    ("dead letters, as JSON", "/api/dead-letters"),
    ("… from the middle, as JSON", "/api/dead-letters?after=500000"),
    ("the first event of a stream", EVENTS),
];
pub(super) const SIGNATURE: &str =
    "/dead-letters?signature=order+%3Cn%3E:+the+warehouse+has+no+column+hi,+it+says";
const EVENTS: &str = "/live?topic=jobs";

/// A process that serves the board of a store.
pub(super) struct Board {
    process: Child,
    address: String,
    connection: BufReader<TcpStream>,
}

impl Board {
    pub(super) fn start(store: &Path) -> Self {
        let mut process =
            program("serve", store).stdout(Stdio::piped()).spawn().expect("it was built just now");
        let mut address = String::new();
        let output = process.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut address).expect("it tells its address");
        let address = address.trim().to_owned();
        let connection = connect(&address);
        Self { process, address, connection }
    }

    /// The time of a response, and its size in bytes on the wire.
    fn ask(&mut self, page: &str) -> (Duration, usize) {
        if page == EVENTS {
            // This response never ends, so each gets its own connection.
            self.connection = connect(&self.address);
        }
        let start = Instant::now();
        let bytes = answer(&mut self.connection, page);
        let took = start.elapsed();
        if page == EVENTS {
            self.connection = connect(&self.address);
        }
        (took, bytes)
    }

    /// Requests a page this many times, unless that exceeds the time limit.
    pub(super) fn ask_often(&mut self, page: &str, asked: usize) -> Asked {
        // The first request warms the caches.
        self.ask(page);
        let (start, mut times, mut bytes) = (Instant::now(), Vec::with_capacity(asked), 0);
        while times.len() < asked && start.elapsed() < AT_MOST {
            let (took, length) = self.ask(page);
            times.push(took);
            bytes = length;
        }
        times.sort_unstable();
        let last = times.len() * 99 / 100;
        Asked { median: times[times.len() / 2], last: times[last.min(times.len() - 1)], bytes }
    }

    /// A memory figure in KiB, by its name in `/proc`.
    fn memory(&self, name: &str) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }

    /// The memory of one more listening page, in KiB.
    fn of_a_listener(&self) -> Option<f64> {
        let before = self.memory("VmRSS")?;
        let listen = |_| {
            let mut listener = connect(&self.address);
            answer(&mut listener, EVENTS);
            listener
        };
        let listeners: Vec<_> = (0..LISTENERS).map(listen).collect();
        let after = self.memory("VmRSS")?;
        drop(listeners);
        Some((after - before) / f64::from(LISTENERS))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) median: Duration,
    /// The 99th percentile.
    last: Duration,
    bytes: usize,
}

fn program(what: &str, on: &Path) -> Command {
    let mut program = Command::new(board_program());
    program.arg(what).arg(on).stderr(Stdio::inherit());
    program
}

fn board_program() -> PathBuf {
    target_folder().join("release").join("board")
}

fn connect(address: &str) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    BufReader::new(stream)
}

/// Sends a request as a browser would, and returns the length of the response: the whole of it, or
/// the first chunk of a chunked one.
fn answer(connection: &mut BufReader<TcpStream>, page: &str) -> usize {
    let request = format!(
        "GET {page} HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\naccept-encoding: gzip, br\r\n\r\n"
    );
    connection.get_mut().write_all(request.as_bytes()).expect("it listens");
    let (mut head, mut length) = (String::new(), None);
    loop {
        let begin = head.len();
        assert!(connection.read_line(&mut head).expect("it answers") > 0, "{page}: no answer");
        let line = head[begin..].trim_end().to_ascii_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length: ") {
            length = bytes.parse().ok();
        }
        if line.is_empty() {
            break;
        }
    }
    assert!(head.starts_with("HTTP/1.1 200 "), "{page}: {head}");
    let Some(length) = length else {
        return head.len() + connection.read_until(b'\n', &mut Vec::new()).expect("it answers");
    };
    connection.read_exact(&mut vec![0; length]).expect("it answers");
    head.len() + length
}

/// The measurements of one store.
struct Served {
    pages: Vec<Asked>,
    /// A sentence for the report.
    note: String,
}

fn serve(name: &str, store: &Path) -> Served {
    let start = Instant::now();
    let filled = program("fill", store).status().expect("it was built just now");
    assert!(filled.success(), "{name} could not be filled");
    let filling = start.elapsed();
    let mut board = Board::start(store);
    let before = board.memory("VmRSS");
    let asked = |path: &str| if path.starts_with("/live") { STREAMS } else { ASKED };
    let pages = PAGES.iter().map(|(_, path)| board.ask_often(path, asked(path))).collect();
    // Memory that will be freed has been freed by then.
    thread::sleep(Duration::from_secs(2));
    let mut note =
        format!("The board's process on {name}, which was filled in {} s", filling.as_secs());
    for (what, kibibytes) in [
        ("at the start", before),
        ("at its peak", board.memory("VmHWM")),
        ("after all pages", board.memory("VmRSS")),
    ] {
        if let Some(kibibytes) = kibibytes {
            let _infallible = write!(note, "; {what} {:.0} MiB", kibibytes / 1024.0);
        }
    }
    if let Some(kibibytes) = board.of_a_listener() {
        let listeners = Thousands(f64::from(LISTENERS));
        let _infallible = write!(note, "; {kibibytes:.0} KiB for each of {listeners} streams");
    }
    note.push('.');
    Served { pages, note }
}

/// Drops the schema on a server.
pub(super) fn forget(server: &Path) {
    let forgotten = program("forget", server).status().expect("it was built just now");
    assert!(forgotten.success(), "the schema is left");
}

/// Adds the section to the report.
pub fn run(report: &mut Report) {
    build(&["--features", "board", "--bin", "board"], Path::new("Cargo.toml"));
    let folder = Folder::new("board");
    let mut served = vec![("SQLite", serve("SQLite", &folder.0.join("jobs.db")))];
    if let Some(server) = server() {
        // An earlier run that was killed may have left a schema behind.
        forget(&server);
        served.push(("Postgres", serve("Postgres", &server)));
        forget(&server);
    }
    let mut section = Section::new("How long does a page of the board take?");
    let mut header = vec!["page".to_owned()];
    for (name, _) in &served {
        header.extend([format!("{name}: median"), "99 of 100 within".to_owned()]);
    }
    header.push("size".to_owned());
    let mut table = Table::new(1, header);
    for (at, (what, _)) in PAGES.into_iter().enumerate() {
        let mut row = vec![what.to_owned()];
        let mut largest = 0;
        for (_, Served { pages, .. }) in &served {
            let Asked { median, last, bytes } = pages[at];
            row.extend([marked(millis(median), median > LONGEST), millis(last)]);
            largest = largest.max(bytes);
        }
        row.push(marked(format!("{} KiB", largest.div_ceil(1024)), largest > LARGEST));
        table.row(row);
    }
    section.table(table);
    section.note(format!(
        "10,000 jobs and 1,000,000 dead letters in 200 signatures, most of them of one bad night; \
         each page requested {ASKED} times in a row by one connection, a stream {STREAMS} times. \
         The limit is 100 ms and 1 MiB: **bold** marks figures above it. Nothing is compressed."
    ));
    for (_, Served { note, .. }) in served {
        section.note(note);
    }
    let of = |what| child::instructions_of(&board_program(), &[what]);
    section.note(match (of("calls"), of("watched-calls")) {
        (Some(without), Some(with)) => format!(
            "A successful call takes {without:.0} instructions without a board in its process, \
             and {with:.0} with a mounted one."
        ),
        _ => "Instructions of calls beside a board were not counted: that takes valgrind.".into(),
    });
    report.add(section);
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn marked(text: String, is_above: bool) -> String {
    if is_above { format!("**{text}**") } else { text }
}
