//! A real memcached.

use retry_tests_support::ports::Port;

use super::{Process, folder, program};

/// Starts one; `None` if it is not installed.
pub async fn start() -> Option<Process> {
    let program = program("memcached")?;
    let (folder, port) = (folder(), Port::find());
    let arguments = ["-l", "127.0.0.1", "-U", "0", "-m", "16", "-p", &port.number().to_string()];
    Some(Process::start(&program, &arguments.map(str::to_owned), folder, port).listening().await)
}
