//! A fake that speaks HTTP/2 and answers with headers alone, as gRPC does where it has nothing
//! else to say.

use std::convert::Infallible;
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub struct Grpc {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Grpc {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The answer.
#[derive(Clone, Copy)]
pub enum Answer {
    /// A status of gRPC, its message, and its details in Base64.
    Status(u8, &'static str, &'static str),
    /// The answer of a proxy.
    Proxy(u16, &'static str),
    /// Nothing, ever.
    Never,
}

impl Grpc {
    /// Starts one.
    ///
    /// # Panics
    /// There is no port for it.
    pub async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                drop(stream.set_nodelay(true));
                let service = service_fn(move |_: Request<_>| answered(answer));
                tokio::spawn(
                    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Self { address, task }
    }
}

async fn answered(answer: Answer) -> Result<Response<Full<Bytes>>, Infallible> {
    let response = match answer {
        Answer::Status(code, message, details) => Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", code.to_string())
            .header("grpc-message", message.replace(' ', "%20"))
            .header("grpc-status-details-bin", details)
            .body(Full::default()),
        Answer::Proxy(status, body) => Response::builder()
            .status(status)
            .header("content-type", "text/html")
            .body(Full::from(body)),
        Answer::Never => std::future::pending().await,
    };
    Ok(response.expect("a response"))
}
