//! A real memcached.

use super::{Process, folder, free_port, program};

/// Starts one; `None` if it is not installed.
pub async fn start() -> Option<Process> {
    let program = program("memcached")?;
    let (folder, port) = (folder(), free_port());
    let arguments = ["-l", "127.0.0.1", "-U", "0", "-m", "16", "-p", &port.to_string()];
    let process = Process::start(&program, &arguments.map(str::to_owned), folder, port);
    let answers = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
    process.until(answers).await;
    Some(process)
}
