//! [`Server`]: a router on a local port, which can be stopped and restarted.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves until dropped, which closes all connections, including those that wait.
pub(crate) struct Server {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    pub(crate) fn start(app: Router) -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), app)
    }

    fn start_at(address: SocketAddr, app: Router) -> Self {
        let runtime = Runtime::new().expect("threads");
        let listener = runtime.block_on(async {
            // The port of the previous server may take a moment to become free.
            for _ in 0..100 {
                if let Ok(listener) = TcpListener::bind(address).await {
                    return listener;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            panic!("{address} stays taken");
        });
        let address = listener.local_addr().expect("an address");
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { address, runtime: Some(runtime) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Stops it as if its process had been killed.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Restarts it at the same address.
    pub(crate) fn start_again(&mut self, app: Router) {
        self.stop();
        *self = Self::start_at(self.address, app);
    }

    /// Runs a future on the server's runtime.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.as_ref().expect("it runs").block_on(future)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
