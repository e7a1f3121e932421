//! A real NATS.

use retry_tests_support::ports::Port;

use super::{Process, folder, program};

/// Starts one where only the user "timeout" with a password is let in; `None` if it is not
/// installed.
pub async fn start(locked: bool) -> Option<Process> {
    let program = program("nats-server")?;
    let (folder, port) = (folder(), Port::find());
    let mut arguments = vec!["-a".to_owned(), "127.0.0.1".to_owned()];
    arguments.extend(["-p".to_owned(), port.number().to_string()]);
    if locked {
        arguments.extend(["--user", "timeout", "--pass", "secret"].map(str::to_owned));
    }
    Some(Process::start(&program, &arguments, folder, port).listening().await)
}
