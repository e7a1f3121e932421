//! Serves pages to a limited number of connections, none of which can be held for nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// How many connections there are at a time: fewer than the files that a process may have open, of
/// which 1,024 is a common limit. Others wait.
const MAX_CONNECTIONS: usize = 512;

/// How long the head of a request may take. A connection on which none arrives is closed.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait after a connection could not be accepted, because there are too many files.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: TcpListener, app: Router) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Never closed, so there is always one in the end.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service);
            // A client that breaks off, or sends no request, is nobody's business.
            let _broken = served.await;
            drop(place);
        });
    }
}
