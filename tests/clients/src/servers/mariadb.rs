//! A real MariaDB.

use std::process::Stdio;

use retry_tests_support::ports::Port;

use super::{Process, folder, program, unprivileged};

/// Starts one; `None` if it is not installed.
///
/// # Panics
/// It cannot be started.
pub async fn start() -> Option<Process> {
    let (server, install) = (program("mariadbd")?, program("mariadb-install-db")?);
    let (folder, port) = (folder(), Port::find());
    let path = folder.path().display().to_string();
    let data = format!("--datadir={path}/data");
    let done = unprivileged(&install)
        .args(["--no-defaults", &data, "--auth-root-authentication-method=normal"])
        .args(["--skip-test-db", "--skip-name-resolve"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(done.expect("mariadb-install-db").success());
    let arguments = [
        "--no-defaults".to_owned(),
        data,
        format!("--port={}", port.number()),
        format!("--socket={path}/socket"),
        format!("--pid-file={path}/pid"),
        "--bind-address=127.0.0.1".to_owned(),
        "--skip-name-resolve".to_owned(),
        "--innodb-flush-log-at-trx-commit=0".to_owned(),
        "--innodb-lock-wait-timeout=1".to_owned(),
    ];
    Some(Process::start(&server, &arguments, folder, port).listening().await)
}
