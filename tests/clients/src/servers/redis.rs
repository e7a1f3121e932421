//! A real Redis.

use super::{Process, folder, free_port, program};

/// Starts one with these settings; `None` if it is not installed.
pub async fn start(settings: &[&str]) -> Option<Process> {
    let program = program("redis-server")?;
    let (folder, port) = (folder(), free_port());
    let mut arguments = vec!["--port".to_owned(), port.to_string()];
    let usual = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    arguments.extend(usual.iter().chain(settings).map(|&argument| argument.to_owned()));
    let process = Process::start(&program, &arguments, folder, port);
    let answers = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
    process.until(answers).await;
    Some(process)
}
