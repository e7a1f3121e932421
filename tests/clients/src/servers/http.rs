//! A fake that speaks just enough HTTP, and what a client must expect of a network; with TLS, by
//! certificates that are not to be trusted.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A fake, ended when it is dropped.
pub struct Http {
    pub address: SocketAddr,
    /// The certificate that it shows, in PEM and in DER.
    pub pem: String,
    pub der: CertificateDer<'static>,
    task: JoinHandle<()>,
}

impl Drop for Http {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The fault of the certificate.
#[derive(Clone, Copy)]
pub enum Tls {
    None,
    /// Nothing, if the client trusts it.
    Valid,
    Expired,
    WrongName,
}

impl Http {
    /// Starts one.
    ///
    /// # Panics
    /// There is no port for it.
    pub async fn start(tls: Tls) -> Self {
        let name = if matches!(tls, Tls::WrongName) { "timeout.invalid" } else { "localhost" };
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        let ends = if matches!(tls, Tls::Expired) { 2021 } else { 2100 };
        parameters.not_after = rcgen::date_time_ymd(ends, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let (pem, der) = (certificate.pem(), certificate.der().clone());
        let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![der.clone()], private)
            .expect("a configuration");
        let acceptor = TlsAcceptor::from(Arc::new(config));

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if matches!(tls, Tls::None) {
                        plain(stream).await;
                    } else if let Ok(mut stream) = acceptor.accept(stream).await {
                        let path = requested(&mut stream).await;
                        drop(stream.write_all(answer(&path).as_bytes()).await);
                        drop(stream.shutdown().await);
                    }
                });
            }
        });
        Self { address, pem, der, task }
    }

    /// An address of it, by a scheme and a name that its certificate may have.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.address.port())
    }

    pub fn tls_url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }
}

async fn plain(mut stream: TcpStream) {
    let path = requested(&mut stream).await;
    // The rest comes from the client itself.
    match path.split('/').nth(1).unwrap_or_default() {
        "hang" => std::future::pending().await,
        "hangup" => {}
        "garbage" => drop(stream.write_all(b"220 mail.example ESMTP timeout\r\n\r\n").await),
        "cut" => drop(stream.write_all(CUT).await),
        "reset" => {
            drop(stream.write_all(CUT).await);
            // Closes by a reset instead of an end.
            drop(stream.set_zero_linger());
        }
        "stall" => {
            drop(stream.write_all(CUT).await);
            std::future::pending::<()>().await;
        }
        _ => {
            drop(stream.write_all(answer(&path).as_bytes()).await);
            drop(stream.shutdown().await);
            // Until the client has read it all: to close with something unread would reset.
            drop(stream.read(&mut [0; 1024]).await);
        }
    }
}

/// The beginning of an answer.
const CUT: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":";

/// The path of a request, once it has come in with its body.
async fn requested(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> String {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    loop {
        // The first byte of TLS: a plain port answers nonsense with nonsense.
        if request.first() == Some(&0x16) {
            return "/400".to_owned();
        }
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return head.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
            }
        }
        match stream.read(&mut part).await {
            Ok(read @ 1..) => request.extend_from_slice(&part[..read]),
            _ => return String::new(),
        }
    }
}

/// The answer for a path: `/503`, or `/429/Retry-After:7`.
fn answer(path: &str) -> String {
    if path == "/loop" {
        // It is closed, so that the client must not use the connection again.
        return "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            .to_owned();
    }
    let mut parts = path.trim_start_matches('/').split('/');
    let status = parts.next().and_then(|status| status.parse().ok()).unwrap_or(200);
    let reason = http::StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason());
    let header = match parts.next() {
        Some(header) if header.contains(':') => format!("{header}\r\n"),
        _ => String::new(),
    };
    let body = match parts.next() {
        Some(code) => format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>"),
        None if path == "/json" => "{\"timeout\": 1".to_owned(),
        None => "{}".to_owned(),
    };
    format!(
        "HTTP/1.1 {status} {}\r\n{header}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        reason.unwrap_or("Odd"),
        body.len(),
    )
}
