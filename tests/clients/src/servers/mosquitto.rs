//! A real mosquitto.

use retry_tests_support::ports::Port;

use super::{Process, folder, program};

/// Starts one that requires a password; `None` if it is not installed.
///
/// # Panics
/// It cannot be started.
pub async fn start() -> Option<Process> {
    let program = program("mosquitto")?;
    let (folder, port) = (folder(), Port::find());
    let file = folder.path().join("mosquitto.conf");
    let config = format!("listener {} 127.0.0.1\nallow_anonymous false\n", port.number());
    std::fs::write(&file, config).expect("written");
    let arguments = ["-c".to_owned(), file.display().to_string()];
    Some(Process::start(&program, &arguments, folder, port).listening().await)
}
