//! A real Redis.

use retry_tests_support::ports::Port;

use super::{Process, folder, program};

/// Starts one with these settings; `None` if it is not installed.
pub async fn start(settings: &[&str]) -> Option<Process> {
    let program = program("redis-server")?;
    let (folder, port) = (folder(), Port::find());
    let mut arguments = vec!["--port".to_owned(), port.number().to_string()];
    let usual = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    arguments.extend(usual.iter().chain(settings).map(|&argument| argument.to_owned()));
    Some(Process::start(&program, &arguments, folder, port).listening().await)
}
