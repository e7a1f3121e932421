//! The function for reqwest-middleware 0.4 in `docs/MIGRATING.md`, against a server.
#![cfg(feature = "typed")]

use std::time::Duration;

use retry_runtime::testing;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

mod of_the_page {
    use reqwest_0_12 as reqwest;
    use reqwest_middleware_0_4 as reqwest_middleware;
    // The page begins here.
    use reqwest_middleware::ClientWithMiddleware;
    use retry_runtime::http::check;
    use retry_runtime::retry;

    #[retry(attempts = 4, jitter = full, retry_on = [transient])]
    pub async fn page(client: &ClientWithMiddleware, url: &str) -> anyhow::Result<String> {
        let response = http::Response::from(client.get(url).send().await?);
        let response = reqwest::Response::from(check(response)?);
        Ok(response.text().await?)
    }
}

#[test]
fn the_page_has_this_function() {
    let here = include_str!("reqwest_middleware_0_4.rs");
    let (_, rest) = here.split_once("begins here.\n").unwrap();
    let (code, _) = rest.split_once("\n}\n").unwrap();
    let code = code.replace("\n    ", "\n").replace("pub async", "async");
    let page = include_str!("../../../docs/MIGRATING.md");
    assert!(page.contains(code.trim_start()), "docs/MIGRATING.md differs from:\n{code}");
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for answer in [
            "HTTP/1.1 503 Busy\r\nretry-after: 7\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\ntea",
        ] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let read = stream.read(&mut [0; 1024]).await.unwrap();
            assert!(read > 0, "a request");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });

    let retries = testing::start();
    retries.skip_waits();
    let bare = reqwest_0_12::Client::builder().no_proxy().build().unwrap();
    let client = reqwest_middleware_0_4::ClientBuilder::new(bare).build();
    let text = retries.scope(of_the_page::page(&client, &url)).await.unwrap();
    assert_eq!(text, "tea");
    let waits = retries.waits("reqwest_middleware_0_4::of_the_page::page");
    assert!(matches!(waits[..], [wait] if wait >= Duration::from_secs(7)), "{waits:?}");
}
