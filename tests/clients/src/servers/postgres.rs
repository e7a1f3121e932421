//! A real Postgres.

use std::path::PathBuf;
use std::process::Stdio;

use retry_tests_support::ports::Port;

use super::{Process, folder, program, unprivileged};

/// The address is of a superuser; the user "timeout" has a password, and no rights.
pub struct Postgres {
    process: Process,
}

/// The roles of the tests' users: all others are trusted.
const ACCESS: &str = "host all timeout 127.0.0.1/32 scram-sha-256
host all refused 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
";

/// The programs of the newest Postgres.
fn binaries() -> Option<PathBuf> {
    let mut debian: Vec<_> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").is_file())
        .collect();
    debian.sort();
    debian.pop().or_else(|| {
        // Follow links: the other programs are beside the real file.
        Some(program("initdb")?.canonicalize().ok()?.parent()?.to_owned())
    })
}

impl Postgres {
    /// Starts one; `None` if it is not installed.
    ///
    /// # Panics
    /// It cannot be started.
    pub async fn start() -> Option<Self> {
        let binaries = binaries()?;
        let (folder, port) = (folder(), Port::find());
        let data = folder.path().join("data").display().to_string();
        let done = unprivileged(&binaries.join("initdb"))
            .args(["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(done.expect("initdb").success());
        std::fs::write(folder.path().join("data/pg_hba.conf"), ACCESS).expect("written");
        let mut arguments = vec!["-D".to_owned(), data, "-p".to_owned(), port.number().to_string()];
        arguments.extend(["-k".to_owned(), folder.path().display().to_string()]);
        for setting in [
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "shared_buffers=16MB",
            // Enough for the tests, and soon exhausted.
            "max_connections=12",
            "superuser_reserved_connections=3",
            "deadlock_timeout=20ms",
        ] {
            arguments.extend(["-c".to_owned(), setting.to_owned()]);
        }
        // It ends its children, and what they share, by this one.
        let process = Process::start(&binaries.join("postgres"), &arguments, folder, port);
        let mut postgres = Self { process: process.ended_by("-QUIT") };
        let url = postgres.url("postgres", "postgres");
        postgres
            .process
            .until(async || tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok())
            .await;
        let (client, connection) =
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client.batch_execute(SCHEMA).await.expect("a schema");
        Some(postgres)
    }

    /// The address of a database, as a user.
    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", self.process.port)
    }

    pub fn port(&self) -> u16 {
        self.process.port
    }
}

const SCHEMA: &str = "
create role timeout login password 'secret';
create role unavailable login;
create role busy login connection limit 0;
create table users (id int primary key, name text not null check (name <> 'connection reset'));
insert into users values (1, 'one'), (2, 'two');
create table calls (id int, constraint rate_limit unique (id));
insert into calls values (1);
create table server_error (id int);
revoke all on server_error from public;
create table held (id int);
";
