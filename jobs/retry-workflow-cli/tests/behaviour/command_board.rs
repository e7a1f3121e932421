//! `board`: where it listens, whom it serves, and how it ends.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use retry_workflow::store::{NewItem, Selection, Settled, Settlement};
use retry_workflow::{Failure, SqliteStore, Store as _};

use crate::command::{orders, run, told};

/// A running board, and the address of its server.
struct Board {
    process: Child,
    address: String,
}

impl Board {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_retry-workflow"))
            .args(["board", "--listen", "127.0.0.1:0", "--json"])
            .args(arguments)
            .current_dir(folder)
            .env_remove("RETRY_WORKFLOW_STORE")
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("stderr")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        let url = said["address"].as_str().unwrap();
        let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix("/jobs"));
        Self { address: address.unwrap().to_owned(), process }
    }

    /// Sends a request, and returns the whole response with its headers.
    fn ask(&self, request: &str, headers: &str, body: &str) -> String {
        ask(&self.address, request, headers, body).unwrap()
    }
}

fn ask(address: &str, request: &str, headers: &str, body: &str) -> io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        socket,
        "{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    )?;
    socket.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_store_is_shown_and_not_changed() {
    let folder = orders();
    let board = Board::start(folder.path(), &[]);
    let page = board.ask("GET /jobs", "", "");
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("orders-1"), "{page}");
    assert!(board.ask("GET /dead-letters", "", "").contains("no customer &lt;n&gt;"));
    assert!(!page.contains("Policies"), "this process has none: {page}");
    assert!(board.ask("GET /policies", "", "").starts_with("HTTP/1.1 404 "));
    let json = "content-type: application/json\r\n";
    let refused = board.ask("POST /api/re-drive", json, r#"{"job":"orders-1"}"#);
    assert!(
        refused.starts_with("HTTP/1.1 403 ") && refused.contains("--allow-actions"),
        "{refused}"
    );
}

#[test]
fn messages_name_options_of_the_command_and_no_items_of_the_library() {
    let folder = orders();
    std::fs::write(folder.path().join("token"), "correct horse battery staple").unwrap();
    let open = Board::start(folder.path(), &[]);
    let closed = Board::start(folder.path(), &["--token-file", "token", "--allow-actions"]);
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let json = "content-type: application/json\r\n";
    let foreign = format!("{form}origin: https://ops.example.com\r\n");
    for (answer, option) in [
        (ask_as(&open.address, "elsewhere"), "--host NAME"),
        (open.ask("GET /jobs", "", ""), "<code>--allow-actions</code>"),
        (open.ask("POST /api/re-drive", json, r#"{"job":"orders-1"}"#), "--allow-actions"),
        (closed.ask("POST /jobs-sign-in", form, "token=wrong"), "--token-file"),
        (closed.ask("POST /jobs-sign-in", &foreign, "token=x"), "--public-url"),
    ] {
        assert!(answer.contains(option), "{option}: {answer}");
        assert!(!answer.contains("Board::") && !answer.contains("Workflow::"), "{answer}");
    }
}

#[test]
fn the_documented_flow_of_the_api_works_with_a_cookie_jar() {
    if Command::new("curl").arg("--version").output().is_err() {
        let required = std::env::var_os("RETRY_TEST_REQUIRE_CURL");
        assert!(required.is_none(), "there is no curl: install it (Debian: curl)");
        let _ = writeln!(io::stderr(), "skipped: there is no curl");
        return;
    }
    let folder = orders();
    let board = Board::start(folder.path(), &["--allow-actions"]);
    let curl = |path: &str, more: &[&str]| {
        let url = format!("http://{}/{path}", board.address);
        let jar = ["-sS", "--noproxy", "*", "-b", "jar", "-c", "jar"];
        let mut curl = Command::new("curl");
        let answer = curl.args(jar).args(more).arg(url).current_dir(folder.path()).output();
        let answer = answer.unwrap().stdout;
        serde_json::from_slice::<serde_json::Value>(&answer)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&answer)))
    };
    let session = curl("api/jobs/session", &[]);
    let token = format!("x-csrf-token: {}", session["csrf"].as_str().expect("a token"));
    let json = "content-type: application/json";
    let done = curl("api/re-drive", &["-H", &token, "-H", json, "-d", r#"{"job":"orders-1"}"#]);
    assert!(done["retried"].as_u64() > Some(0), "{done}");
}

/// Asks for a page under another name.
fn ask_as(address: &str, name: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "GET /jobs HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// They hold more connections than the board has, each with half the head of a request.
#[test]
fn clients_that_never_finish_their_requests_make_it_deaf_for_seconds_only() {
    let folder = orders();
    let board = Board::start(folder.path(), &[]);
    // Half a head; a head without its body.
    let (request, form) = ("GET /jobs HTTP/1.1\r\nhost: localhost\r\n", "x-www-form-urlencoded");
    let body = format!("content-type: application/{form}\r\ncontent-length: 100\r\n\r\njob=");
    let sent = [request, &format!("{}{body}", request.replace("GET /jobs", "POST /jobs-sign-in"))];
    let sent = |number: usize| {
        let mut socket = TcpStream::connect(&board.address).unwrap();
        socket.write_all(sent[number % 2].as_bytes()).unwrap();
        socket
    };
    let held: Vec<TcpStream> = (0..600).map(sent).collect();
    let page = board.ask("GET /jobs", "", "");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    // The first of each kind were let go by then, or are soon.
    for mut socket in held.iter().take(2) {
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut rest = Vec::new();
        let _reset = socket.read_to_end(&mut rest);
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || rest.contains(" 408 "), "{rest}");
    }
}

/// More than the board has connections; none of them ends by itself.
#[test]
fn streams_of_events_leave_connections_to_pages() {
    let folder = orders();
    let board = Board::start(folder.path(), &[]);
    let mut open: Vec<TcpStream> = (0..600)
        .map(|_| {
            let mut socket = TcpStream::connect(&board.address).unwrap();
            write!(socket, "GET /live?topic=jobs HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            socket
        })
        .collect();
    let page = board.ask("GET /jobs", "", "");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let mut served = 0;
    for socket in &mut open {
        let mut status = [0; 12];
        socket.read_exact(&mut status).unwrap();
        if &status == b"HTTP/1.1 200" {
            served += 1;
            continue;
        }
        assert_eq!(String::from_utf8_lossy(&status), "HTTP/1.1 503");
        // A client that is refused gives its connection back.
        let mut rest = String::new();
        socket.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("retry-after: 10"), "{rest}");
    }
    // All of them come from one address.
    assert_eq!(served, 64);
}

#[test]
fn a_client_that_reads_nothing_is_disconnected() {
    let folder = orders();
    let board = Board::start(folder.path(), &[]);
    let mut socket = TcpStream::connect(&board.address).unwrap();
    socket.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    // Until all that is on the way is full, and longer.
    let asks = "GET /jobs HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(2_000);
    let error = loop {
        if let Err(error) = socket.write_all(asks.as_bytes()) {
            break error;
        }
    };
    assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "it stays connected");
}

#[test]
fn with_a_token_and_leave_a_program_takes_dead_letters_back() {
    let folder = orders();
    std::fs::write(folder.path().join("token"), "correct horse battery\n").unwrap();
    let board = Board::start(folder.path(), &["--allow-actions", "--token-file", "token"]);
    assert!(board.ask("GET /api/jobs", "", "").starts_with("HTTP/1.1 401 "));
    let headers =
        "content-type: application/json\r\nauthorization: Bearer correct horse battery\r\n";
    let done = board.ask("POST /api/re-drive", headers, r#"{"job":"orders-1"}"#);
    assert!(done.contains(r#""retried":1"#), "{done}");
    let left = run(folder.path(), &["dlq", "stats", "orders-1"]);
    assert!(String::from_utf8_lossy(&left.stdout).contains("no dead letters"), "{left:?}");
}

#[cfg(unix)]
#[test]
fn a_board_shows_the_store_that_is_in_the_place_of_its_own() {
    for more in [&[][..], &["--allow-actions"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (store, other) = (path("jobs.db"), path("other.db"));
        dead_letters(&store, 1);
        dead_letters(&other, 3);
        let board = Board::start(folder.path(), &[&["--store", "jobs.db"], more].concat());
        let dead = || {
            let letters = board.ask("GET /api/dead-letters?job=job-1", "", "");
            let (_, body) = letters.split_once("\r\n\r\n").unwrap();
            let letters: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
            letters["count"].as_u64()
        };
        assert_eq!(dead(), Some(1));
        let mut stream = TcpStream::connect(&board.address).unwrap();
        write!(stream, "GET /live?topic=jobs HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();

        // Between the two there is no board, which the page reports.
        std::fs::remove_file(&store).unwrap();
        let page = board.ask("GET /jobs", "", "");
        assert!(page.starts_with("HTTP/1.1 503 "), "{page}");
        assert!(page.contains("was deleted or replaced"), "{page}");
        for file in ["jobs.db-wal", "jobs.db-shm"] {
            let _ = std::fs::remove_file(path(file));
        }
        std::fs::rename(&other, &store).unwrap();
        assert_eq!(dead(), Some(3), "{more:?}");

        // The stream of the old one ends, so that its page connects to the new one.
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap_or_else(|error| panic!("it goes on: {error}"));
    }
}

#[test]
fn comments_around_the_token_are_not_part_of_it() {
    let folder = orders();
    for text in ["# of the night shift\n\ncorrect horse battery\n", "correct horse battery\n# it\n"]
    {
        std::fs::write(folder.path().join("token"), text).unwrap();
        let board = Board::start(folder.path(), &["--token-file", "token"]);
        let bearer = "authorization: Bearer correct horse battery\r\n";
        let page = board.ask("GET /api/jobs", bearer, "");
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    }
}

#[test]
fn a_board_without_a_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["board", "--listen", "127.0.0.1:0"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("no job has run yet") && told.contains("retry-workflow run FILE"),
        "{told}"
    );
}

/// The store is not the usual one, so the command names it.
#[test]
fn a_redrive_without_a_worker_names_the_command_that_resumes_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let file = "name: orders\nmode: mapreduce\nmap:\n  input: items.json\n  json_path: '$[*]'\n  \
                agent_template:\n    - shell: 'exit 1; : ${item}'\n";
    std::fs::write(folder.path().join("job.yml"), file).unwrap();
    std::fs::write(folder.path().join("items.json"), "[1, 2]").unwrap();
    let ran = run(folder.path(), &["run", "job.yml", "--store", "my jobs.db"]);
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let board = Board::start(folder.path(), &["--allow-actions", "--store", "my jobs.db"]);
    let session = board.ask("GET /jobs", "accept: text/html\r\n", "");
    let cookie = session.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    let form = board.ask("GET /re-drive?job=orders-1", &cookie, "");
    let field = |name: &str| {
        let rest = form.split_once(&format!("name=\"{name}\" value=\"")).unwrap().1;
        rest.split('"').next().unwrap().to_owned()
    };
    let sent = format!("job=orders-1&csrf={}&once={}", field("csrf"), field("once"));
    let headers = format!("{cookie}content-type: application/x-www-form-urlencoded\r\n");
    let done = board.ask("POST /re-drive", &headers, &sent);
    let to = done.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or(&done);
    let page = board.ask(&format!("GET /{to}"), &cookie, "");
    let command = "retry-workflow --store 'my jobs.db' resume orders-1";
    let shown = command.replace('\'', "&#39;");
    for place in ["id=\"notice\"", "id=\"no-worker\""] {
        let rest = page.split_once(place).unwrap_or_else(|| panic!("no {place}: {page}")).1;
        let text = rest.split("</p>").next().unwrap();
        assert!(text.contains(command) || text.contains(&shown), "{place}: {text}");
    }
}

#[test]
fn a_board_that_other_machines_reach_requires_a_token() {
    let folder = orders();
    std::fs::write(folder.path().join("short"), "1234\n").unwrap();
    for (arguments, says) in [
        (&["--listen", "0.0.0.0:0"][..], "--token-file FILE"),
        (&["--listen", "[::]:0"], "--token-file FILE"),
        (&["--token-file", "short"], "at least 16"),
        (&["--token-file", "none"], "none cannot be read"),
        (&["--listen", "localhost"], "invalid"),
        (&["--store", "other.db"], "there is no store at other.db"),
    ] {
        let output = run(folder.path(), &[&["board"], arguments].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(says), "{arguments:?}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn the_board_ends_on_a_termination_signal() {
    let folder = orders();
    for signal in ["-INT", "-TERM"] {
        let mut board = Board::start(folder.path(), &[]);
        // A page that listens for events does not delay the end.
        let mut socket = TcpStream::connect(&board.address).unwrap();
        write!(socket, "GET /live?topic=jobs HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        socket.read_exact(&mut [0; 12]).unwrap();
        let process = board.process.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
        assert_eq!(board.process.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn each_member_of_a_team_has_a_token_and_a_name_in_the_events() {
    let folder = orders();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(
        path("team"),
        "# who may what\nada act 0123456789abcdef\nbob read fedcba9876543210\n",
    )
    .unwrap();
    let board = Board::start(folder.path(), &["--token-file", "team", "--allow-actions"]);
    let header = |token: &str| {
        format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n")
    };
    let body = r#"{"job":"orders-1"}"#;
    let refused = board.ask("POST /api/re-drive", &header("fedcba9876543210"), body);
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("read only"), "{refused}");
    let done = board.ask("POST /api/re-drive", &header("0123456789abcdef"), body);
    assert!(done.starts_with("HTTP/1.1 200 "), "{done}");

    let paused = Command::new(env!("CARGO_BIN_EXE_retry-workflow"))
        .args(["pause", "orders-1"])
        .current_dir(folder.path())
        .env_remove("RETRY_WORKFLOW_STORE")
        .env("SUDO_USER", "eve")
        .output()
        .unwrap();
    assert!(paused.status.success(), "{paused:?}");
    assert_eq!(event(&paused.stderr), r#"user="eve" action="pause" object="job orders-1" count=0"#);
    let printed = std::fs::read(path("stderr")).unwrap();
    assert_eq!(event(&printed), r#"user="ada" action="re-drive" object="job orders-1" count=1"#);
    let pending = ["items", "list", "orders-1", "--state", "pending", "--json"];
    let pending: serde_json::Value = serde_json::from_str(&told(folder.path(), &pending)).unwrap();
    let item = pending["id"].as_str().unwrap();
    let shown = told(folder.path(), &["items", "show", "orders-1", item]);
    assert!(shown.contains("run 1\n  re-driven by ada, 20"), "{shown}");
}

/// The fields of the event in the only line on standard error.
fn event(stderr: &[u8]) -> &str {
    let line = std::str::from_utf8(stderr).unwrap();
    let (time, fields) = line.split_once(" retry_workflow::audit: ").expect(line);
    assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
    fields.trim_end()
}

/// A store with so many dead letters of a job, whose ids are their numbers.
fn dead_letters(file: &Path, letters: usize) {
    let written = async {
        let store = SqliteStore::open(file)?;
        let items = (0..letters).map(|number| NewItem::new(number.to_string(), "{}")).collect();
        store.enqueue("job-1", items, store.now()).await?;
        let all = Selection::Items { max: letters, starts: letters };
        let leases = store.claim("job-1", "w", store.now(), all, Duration::from_secs(60)).await?;
        let dead =
            |key| Settlement::new(key, Settled::dead(Failure::new("other", "no")), Vec::new());
        let settlements = leases.iter().map(|lease| dead(lease.key)).collect();
        store.settle(settlements, Vec::new(), store.now()).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(written).unwrap(), vec![true; letters]);
}

#[test]
fn an_invalid_file_of_tokens_is_refused_with_the_line() {
    let folder = orders();
    for (text, says) in [
        ("ada act 0123456789abcdef\nbob reads fedcba9876543210\n", "team:2: write NAME ROLE TOKEN"),
        ("ada act short\n", "team:1: a token of 5 characters can be guessed"),
        ("short", "team: a token of 5 characters can be guessed"),
        ("# a long comment above\nshort", "team: a token of 5 characters can be guessed"),
        ("# nobody yet\n", "team has no token: write one into it"),
        (
            "ada act 0123456789abcdef\nbob read 0123456789abcdef\n",
            "team:2: ada has the same token: give each their own",
        ),
    ] {
        std::fs::write(folder.path().join("team"), text).unwrap();
        let output =
            run(folder.path(), &["board", "--token-file", "team", "--listen", "127.0.0.1:0"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn the_header_of_a_user_is_believed_from_the_proxy_only() {
    let folder = orders();
    let body = r#"{"job":"orders-1"}"#;
    let named = "x-forwarded-user: ada\r\ncontent-type: application/json\r\n";
    for (proxy, expected) in [("127.0.0.1", "no form"), ("10.0.0.1", "You may read only")] {
        let arguments = ["--user-header", "X-Forwarded-User", "--proxy", proxy, "--allow-actions"];
        let board = Board::start(folder.path(), &arguments);
        let session = board.ask("GET /api/jobs/session", "x-forwarded-user: ada\r\n", "");
        assert_eq!(session.contains("\"actions\":true"), proxy == "127.0.0.1", "{session}");
        // Without the form's token no request changes anything; a stranger does not get that far.
        let refused = board.ask("POST /api/re-drive", named, body);
        assert!(refused.starts_with("HTTP/1.1 403 "), "{expected}: {refused}");
        assert_eq!(refused.contains("You may read only"), proxy != "127.0.0.1", "{refused}");
    }
}
