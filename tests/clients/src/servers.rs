//! The servers that clients are run against: real ones as processes, and small fakes.
//!
//! Each listens on a port of loopback, keeps its data in a temporary folder, and ends with its
//! value.

pub mod grpc;
pub mod http;
pub mod lines;
pub mod mariadb;
pub mod memcached;
pub mod modbus;
pub mod mosquitto;
pub mod nats;
pub mod postgres;
pub mod rabbitmq;
pub mod redis;

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use retry_tests_support::ports::Port;
use tempfile::TempDir;
use tokio::net::TcpStream;

/// Another project's server, killed when it is dropped.
pub struct Process {
    child: Child,
    signal: &'static str,
    pub folder: TempDir,
    pub port: u16,
    _port: Port,
}

impl Process {
    /// Starts a program in a folder that is its own.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(program: &Path, arguments: &[String], folder: TempDir, port: Port) -> Self {
        let log = File::create(folder.path().join("log")).expect("a log");
        let child = unprivileged(program)
            .args(arguments)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a handle"))
            .stderr(log)
            .spawn()
            .expect("a process");
        Self { child, signal: "-KILL", folder, port: port.number(), _port: port }
    }

    /// Ends it by another signal, for a server that has processes of its own to end.
    #[must_use]
    pub fn ended_by(mut self, signal: &'static str) -> Self {
        self.signal = signal;
        self
    }

    /// Waits until it takes connections.
    ///
    /// # Panics
    /// As [`until`](Self::until).
    pub async fn listening(mut self) -> Self {
        let port = self.port;
        self.until(async || TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
        self
    }

    /// Waits until it answers.
    ///
    /// # Panics
    /// It ends, or does not answer within three minutes; the message shows its log.
    pub async fn until(&mut self, answers: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !answers().await {
            let log = || std::fs::read_to_string(self.folder.path().join("log"));
            let ended = self.child.try_wait().expect("a child");
            assert!(ended.is_none(), "it has ended, {ended:?}: {:?}", log());
            assert!(began.elapsed() < Duration::from_mins(3), "no answer: {:?}", log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let signal =
            Command::new("kill").args([self.signal, &self.child.id().to_string()]).status();
        drop(signal);
        drop(self.child.wait());
    }
}

/// A program, on the path or where Debian installs what only root needs.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/lib/rabbitmq/bin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// A folder that the server's user may write to.
///
/// # Panics
/// There is no room for it.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("opened");
    if is_root() {
        let given = Command::new("chown").arg("nobody").arg(folder.path()).status();
        assert!(given.expect("chown").success());
    }
    folder
}

/// A command of a user without rights, as most of these servers demand. It ends with this process,
/// however that ends.
pub fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if is_root() {
        command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
    }
    command.arg(program);
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
