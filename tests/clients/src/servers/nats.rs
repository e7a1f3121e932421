//! A real NATS.

use super::{Process, folder, free_port, program};

/// Starts one where only the user "timeout" with a password is let in; `None` if it is not
/// installed.
pub async fn start(locked: bool) -> Option<Process> {
    let program = program("nats-server")?;
    let (folder, port) = (folder(), free_port());
    let mut arguments = vec!["-a".to_owned(), "127.0.0.1".to_owned()];
    arguments.extend(["-p".to_owned(), port.to_string()]);
    if locked {
        arguments.extend(["--user", "timeout", "--pass", "secret"].map(str::to_owned));
    }
    let process = Process::start(&program, &arguments, folder, port);
    let answers = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
    process.until(answers).await;
    Some(process)
}
