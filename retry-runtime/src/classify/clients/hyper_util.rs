//! hyper-util 0.1: the client on top of hyper, which knows whether it was connecting.

use ::hyper_util::client::legacy::Error;

use crate::classify::{Class, KnownError};

impl KnownError for Error {
    fn known_class(&self) -> Option<Class> {
        // Its source says what else failed.
        self.is_connect().then_some(Class::NETWORK | Class::CONNECT)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use ::hyper_util::client::legacy::Client;
    use ::hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpStream;

    use super::*;
    use crate::classify;

    /// The error of a request over a connection that ends with this one.
    async fn class(connects: bool, kind: io::ErrorKind) -> Class {
        let connect = move || async move {
            if !connects {
                return Err(io::Error::from(kind));
            }
            // A server that hangs up as soon as it is connected.
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            let stream = TcpStream::connect(listener.local_addr()?).await?;
            listener.accept().await?.0.shutdown().await?;
            Ok(TokioIo::new(stream))
        };
        let connect = tower::service_fn(move |_: ::http::Uri| Box::pin(connect()));
        let client: Client<_, http_body_util::Empty<bytes::Bytes>> =
            Client::builder(TokioExecutor::new()).build(connect);
        let error = client.get("http://shop/".parse().unwrap()).await.unwrap_err();
        classify::error(&error)
    }

    #[tokio::test]
    async fn reset_is_a_failure_to_connect_if_the_client_was_connecting() {
        let unsent = Class::NETWORK | Class::CONNECT;
        assert!(class(false, io::ErrorKind::ConnectionReset).await == unsent);
        assert!(class(false, io::ErrorKind::ConnectionRefused).await == unsent);
        let timeout = class(false, io::ErrorKind::TimedOut).await;
        assert!(timeout == unsent | Class::TIMEOUT);
        // An untrusted certificate, and the like.
        assert!(class(false, io::ErrorKind::InvalidData).await.is_empty());
        assert!(class(true, io::ErrorKind::ConnectionReset).await == Class::NETWORK);
    }
}
