//! A fake for protocols of lines: it says a greeting, and answers each line.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub struct Lines {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Lines {
    /// Starts one; where there is no answer, it hangs up.
    ///
    /// # Panics
    /// There is no port for it.
    pub async fn start(
        greeting: &'static str,
        answer: impl Fn(&str) -> Option<String> + Clone + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = answer.clone();
                tokio::spawn(async move {
                    let (read, mut write) = stream.split();
                    drop(write.write_all(greeting.as_bytes()).await);
                    let mut lines = BufReader::new(read).lines();
                    while let Ok(Some(line)) = lines.next_line().await {
                        let Some(text) = answer(&line) else { return };
                        if write.write_all(text.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, task }
    }

    /// Starts one of any protocol that hangs up at the first bytes.
    ///
    /// # Panics
    /// There is no port for it.
    pub async fn hanging_up() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                drop(stream.read(&mut [0; 1024]).await);
            }
        });
        Self { address, task }
    }
}
