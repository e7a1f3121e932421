//! A real memcached.

use super::{Process, folder, free_port, program};

/// Starts one; `None` if it is not installed.
pub async fn start() -> Option<Process> {
    let program = program("memcached")?;
    let (folder, port) = (folder(), free_port());
    let port_text = port.to_string();
    let arguments = ["-l", "127.0.0.1", "-p", &port_text, "-U", "0", "-I", "64k"];
    let process = Process::start(&program, &arguments.map(str::to_owned), folder, port);
    let answers = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
    process.until(answers).await;
    Some(process)
}
