//! A real mosquitto.

use super::{Process, folder, free_port, program};

/// Starts one that lets nobody in without a password; `None` if it is not installed.
///
/// # Panics
/// It cannot be started.
pub async fn start() -> Option<Process> {
    let program = program("mosquitto")?;
    let (folder, port) = (folder(), free_port());
    let file = folder.path().join("mosquitto.conf");
    let config = format!("listener {port} 127.0.0.1\nallow_anonymous false\n");
    std::fs::write(&file, config).expect("written");
    let arguments = ["-c".to_owned(), file.display().to_string()];
    let process = Process::start(&program, &arguments, folder, port);
    let answers = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
    process.until(answers).await;
    Some(process)
}
