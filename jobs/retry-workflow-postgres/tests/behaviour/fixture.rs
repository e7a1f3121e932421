//! A server for these tests: the one that `RETRY_TEST_POSTGRES` names, or one that the tests start
//! in a temporary folder. Without either, tests report that they are skipped; with
//! `RETRY_TEST_REQUIRE_POSTGRES` set, that is a failure.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use retry_tests_support::ports::Port;
use retry_workflow_postgres::{PostgresOptions, PostgresStore};
use tokio_postgres::NoTls;

/// A server, with the address of a superuser.
pub(crate) struct Server {
    pub(crate) url: String,
    _own: Option<OwnServer>,
}

/// A server that these tests have started.
pub(crate) struct OwnServer {
    binaries: PathBuf,
    folder: PathBuf,
    options: String,
    /// Stops the server and removes its folder when this process ends in any way.
    keeper: Child,
    port: Port,
}

/// The server of these tests; `None`, with a message, if there is none.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| match std::env::var("RETRY_TEST_POSTGRES") {
        Ok(url) => Some(Server { url, _own: None }),
        Err(_) => {
            OwnServer::start(&["fsync=off"]).map(|(url, own)| Server { url, _own: Some(own) })
        }
    });
    if server.is_none() {
        let why = "there is no Postgres: install it, or name one by RETRY_TEST_POSTGRES";
        skip("RETRY_TEST_REQUIRE_POSTGRES", why);
    }
    server.as_ref()
}

/// Reports that a test is skipped, bypassing the harness, which captures the output of successful
/// tests. If the variable `require` is set, fails instead.
pub(crate) fn skip(require: &str, why: &str) {
    assert!(std::env::var_os(require).is_none(), "{why}");
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// The folder of `initdb`: on the path, or where Debian installs it.
fn binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<_> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .collect();
    debian.sort();
    std::env::split_paths(&path)
        .chain(debian.into_iter().rev())
        // Follow links, because the other programs are beside the real file.
        .find_map(|folder| Some(folder.join("initdb").canonicalize().ok()?.parent()?.to_owned()))
}

/// A command that runs as an unprivileged user, because a server refuses to run as root.
pub(crate) fn unprivileged(program: &Path) -> Command {
    let Some(user) = user() else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    let group = if user == "nobody" { "nogroup" } else { user };
    command.args(["--reuid", user, "--regid", group, "--clear-groups"]).arg(program);
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The user that the server runs as; `None` for the current one.
fn user() -> Option<&'static str> {
    let is_there = |name: &str| {
        Command::new("id").arg(name).output().is_ok_and(|output| output.status.success())
    };
    let name = if is_there("postgres") { "postgres" } else { "nobody" };
    is_root().then_some(name)
}

/// Makes private files readable to the server's user.
pub(crate) fn give_to_server(folder: &Path, files: &[&str]) {
    let open = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder, open(0o755)).expect("opened");
    for file in files {
        let file = folder.join(file);
        std::fs::set_permissions(&file, open(0o600)).expect("closed");
        if let Some(user) = user() {
            let given = Command::new("chown").arg(user).arg(&file).status().expect("chown");
            assert!(given.success());
        }
    }
}

impl OwnServer {
    /// Starts a server with these settings, in addition to those of all tests.
    pub(crate) fn start(settings: &[&str]) -> Option<(String, Self)> {
        // The files of a new server are made once, and copied for each.
        static NEW: OnceLock<Option<OwnServer>> = OnceLock::new();
        let new = NEW.get_or_init(|| {
            let (_, new) = Self::prepare(&[])?;
            new.run("initdb", &["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]);
            Some(new)
        });
        let (url, own) = Self::prepare(settings)?;
        let copied =
            Command::new("cp").arg("-a").arg(new.as_ref()?.data()).arg(&own.folder).status();
        assert!(copied.is_ok_and(|status| status.success()), "no copy of a new server's files");
        own.resume();
        Some((url, own))
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts a standby of the server at this address.
    pub(crate) fn start_standby(primary: &str) -> Option<(String, Self)> {
        let (url, own) = Self::prepare(&["fsync=off"])?;
        own.run("pg_basebackup", &["-d", primary, "-R", "-X", "stream", "-c", "fast", "-N"]);
        own.resume();
        Some((url, own))
    }

    /// Promotes a standby to primary.
    pub(crate) fn promote(&self) {
        self.run("pg_ctl", &["-w", "promote"]);
    }

    /// Prepares what a server needs before it has data: a folder, a port, and a keeper.
    fn prepare(settings: &[&str]) -> Option<(String, Self)> {
        let binaries = binaries()?;
        let folder = tempfile::tempdir().expect("a folder").keep();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("opened");
        if let Some(user) = user() {
            let given = Command::new("chown").arg(user).arg(&folder).status().expect("chown");
            assert!(given.success());
        }
        let port = Port::find();
        let mut options = format!("-p {} -k {}", port.number(), folder.display());
        for setting in [
            "listen_addresses=127.0.0.1",
            "max_connections=200",
            "full_page_writes=off",
            "shared_buffers=64MB",
        ]
        .iter()
        .chain(settings)
        {
            write!(options, " -c {setting}").expect("a text");
        }
        let keep = "cat >/dev/null; \"$@\" -m immediate stop; rm -rf \"$FOLDER\"";
        let stop = unprivileged(&binaries.join("pg_ctl"));
        let keeper = Command::new("sh")
            .args(["-c", keep, "sh"])
            .arg(stop.get_program())
            .args(stop.get_args())
            .args([OsStr::new("-D"), folder.join("data").as_os_str()])
            .env("FOLDER", &folder)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let own = Self { binaries, folder, options, keeper, port };
        let number = own.port.number();
        let url = format!("postgres://postgres@127.0.0.1:{number}/postgres?sslmode=disable");
        Some((url, own))
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let log = || std::fs::File::create(self.folder.join(program)).expect("a log");
        let done = unprivileged(&self.binaries.join(program))
            .arg("-D")
            .arg(self.data())
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .status()
            .expect("it runs");
        let log = std::fs::read_to_string(self.folder.join(program)).unwrap_or_default();
        assert!(done.success(), "{program}: {log}");
    }

    /// The server's log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Stops it as a crash would.
    pub(crate) fn crash(&self) {
        self.run("pg_ctl", &["-m", "immediate", "-w", "stop"]);
    }

    /// Starts it again, and waits until it answers.
    pub(crate) fn resume(&self) {
        let log = self.folder.join("log");
        let log = log.to_string_lossy();
        self.run("pg_ctl", &["-w", "-t", "60", "-l", &log, "-o", &self.options, "start"]);
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

/// An empty schema for a store.
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) schema: String,
}

impl Place {
    /// Chooses a new schema; `None` if there is no server.
    pub(crate) fn new() -> Option<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let schema = format!("test_{}_{number}", std::process::id());
        Some(Self { url: server()?.url.clone(), schema })
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresStore::options().schema(&self.schema).pool_size(4)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        self.options().connect(&self.url).await.expect("a store")
    }
}

/// Runs statements as superuser.
pub(crate) async fn execute(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    let reading = tokio::spawn(connection);
    client.batch_execute(sql).await.expect("done");
    drop(client);
    drop(reading.await);
}

/// A store and its schema; `None` if there is no server.
pub(crate) async fn store() -> Option<(PostgresStore, Place)> {
    let place = Place::new()?;
    let store = place.open().await;
    Some((store, place))
}
