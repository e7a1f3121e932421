//! Serves pages to a limited number of connections, none of which can be held for nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

use super::pages::Pages;

/// The largest number of connections at a time: fewer than the files that a process may have open,
/// of which 1,024 is a common limit. Others wait. Streams of events take half of them at most.
const MAX_CONNECTIONS: usize = 512;

/// The time limit of the head of a request. A connection on which no head arrives in this time is
/// closed.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time for which a client may read nothing while data is waiting for it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a connection could not be accepted, because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: TcpListener, pages: Arc<Pages>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Never closed, so there is always one in the end.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let pages = Arc::clone(&pages);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            let pages = Arc::clone(&pages);
            async move { TowerToHyperService::new(pages.current().await).call(request).await }
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        tokio::spawn(async move {
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(Box::pin(stream)), service);
            // A client that disconnects, or sends no request, is not an error.
            let _broken = served.await;
            drop(place);
        });
    }
}
