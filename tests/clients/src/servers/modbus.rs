//! A fake Modbus device behind TCP.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub struct Modbus {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Modbus {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The reaction to a request.
#[derive(Clone, Copy)]
pub enum Answer {
    /// Refuses it by an exception of this code.
    Exception(u8),
    /// Answers another function than it was asked for.
    AnotherFunction,
    HangUp,
}

impl Modbus {
    /// Starts one.
    ///
    /// # Panics
    /// There is no port for it.
    pub async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    // Transaction, protocol, length and unit; function, address and count.
                    let mut request = [0; 12];
                    while stream.read_exact(&mut request).await.is_ok() {
                        let function = request[7];
                        let (function, code) = match answer {
                            Answer::Exception(code) => (function | 0x80, code),
                            Answer::AnotherFunction => ((function + 1) | 0x80, 6),
                            Answer::HangUp => return,
                        };
                        let [high, low, ..] = request;
                        let reply = [high, low, 0, 0, 0, 3, request[6], function, code];
                        drop(stream.write_all(&reply).await);
                    }
                });
            }
        });
        Self { address, task }
    }
}
