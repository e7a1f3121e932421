//! Methods of traits: native, and rewritten by `#[async_trait]` above or below.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use std::fmt::Display;

use async_trait::async_trait;
use retry_runtime::retry;

type Error = Box<dyn std::error::Error + Send + Sync>;

trait Native {
    fn name(&self) -> &str;

    async fn fetch(&self, id: u64) -> Result<u64, Error>;

    #[retry(attempts = 5)]
    async fn with_default(&self, id: u64) -> Result<String, Error> {
        Ok(format!("{}{id}", self.name()))
    }

    #[retry(attempts = 5)]
    fn sync_with_default(&self) -> Result<usize, Error> {
        Ok(self.name().len())
    }
}

struct Client {
    name: String,
    calls: u64,
}

impl Native for Client {
    fn name(&self) -> &str {
        &self.name
    }

    #[retry(attempts = 5)]
    async fn fetch(&self, id: u64) -> Result<u64, Error> {
        Ok(self.calls + id)
    }
}

#[async_trait]
trait Dynamic: Sync {
    const ATTEMPTS: u32 = 4;

    async fn shared(&self, id: u64) -> Result<u64, Error>;

    async fn mutable(&mut self, name: String) -> Result<u64, Error>;

    async fn consumed(&self, body: Vec<u8>) -> Result<usize, Error>;

    async fn parts(&self, parts: (u64, Vec<u8>)) -> Result<u64, Error>;

    async fn called<F: FnMut() -> u64 + Send>(
        &self,
        f: F,
        g: impl FnMut() -> u64 + Send,
    ) -> Result<u64, Error>;

    async fn generic<T: Display + Send + Sync>(&self, item: T) -> Result<String, Error>;

    async fn borrowed<'a>(&self, text: &'a str) -> Result<&'a str, Error>;

    async fn by_value(self) -> Result<u64, Error>;

    #[retry(attempts = 5)]
    async fn with_default(&self, names: &mut Vec<String>) -> Result<usize, Error> {
        names.push("default".to_owned());
        Ok(names.len())
    }

    async fn without_self(id: u64) -> Option<u64>;
}

#[async_trait]
impl Dynamic for Client {
    #[retry(attempts = 5)]
    async fn shared(&self, id: u64) -> Result<u64, Error> {
        Ok(self.calls + id)
    }

    #[retry]
    async fn mutable(&mut self, name: String) -> Result<u64, Error> {
        self.calls += name.len() as u64;
        Ok(self.calls)
    }

    #[retry(clone(body))]
    async fn consumed(&self, mut body: Vec<u8>) -> Result<usize, Error> {
        body.push(0);
        let rest = body;
        Ok(rest.len())
    }

    /// The names of a pattern, which are those of the function only in its body.
    #[retry(attempts = count, clone(rest), carry(count))]
    async fn parts(&self, (mut count, mut rest): (u64, Vec<u8>)) -> Result<u64, Error> {
        rest.push(0);
        count += rest.into_iter().map(u64::from).sum::<u64>();
        Ok(count)
    }

    #[retry]
    async fn called<F: FnMut() -> u64 + Send>(
        &self,
        mut f: F,
        mut g: impl FnMut() -> u64 + Send,
    ) -> Result<u64, Error> {
        Ok(f() + g())
    }

    #[retry(timeout = "2s")]
    async fn generic<T: Display + Send + Sync>(&self, item: T) -> Result<String, Error> {
        if self.calls == 0 {
            return Err("no calls".into());
        }
        Ok(item.to_string())
    }

    #[retry]
    async fn borrowed<'a>(&self, text: &'a str) -> Result<&'a str, Error> {
        let first = text.split('/').next().ok_or("empty")?;
        Ok(first)
    }

    #[retry]
    async fn by_value(self) -> Result<u64, Error> {
        Ok(self.calls)
    }

    #[retry]
    async fn without_self(id: u64) -> Option<u64> {
        Some(id)
    }
}

/// Not `Send`: the other form of the attribute.
#[async_trait(?Send)]
trait Local {
    async fn fetch(&self, id: u64) -> Result<u64, String>;
}

#[async_trait(?Send)]
impl Local for Client {
    #[retry(attempts = 2, on_retry = |event| assert_eq!(event.attempt(), 1))]
    async fn fetch(&self, id: u64) -> Result<u64, String> {
        let local = std::rc::Rc::new(id);
        tokio::task::yield_now().await;
        Ok(*local)
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[test]
fn works() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(run()).unwrap();
}

async fn run() -> Result<(), Error> {
    let mut client = Client { name: "client".to_owned(), calls: 1 };
    assert_eq!(Native::fetch(&client, 2).await?, 3);
    assert_eq!(Native::with_default(&client, 2).await?, "client2");
    assert_eq!(client.sync_with_default()?, 6);
    assert_eq!(is_send(client.shared(2)).await?, 3);
    assert_eq!(is_send(client.mutable("ab".into())).await?, 3);
    assert_eq!(is_send(client.consumed(vec![1])).await?, 2);
    assert_eq!(is_send(client.parts((1, vec![2]))).await?, 3);
    assert_eq!(is_send(client.called(|| 3, || 4)).await?, 7);
    assert_eq!(is_send(client.generic(7)).await?, "7");
    assert_eq!(is_send(client.borrowed("a/b")).await?, "a");
    assert_eq!(is_send(Dynamic::with_default(&client, &mut Vec::new())).await?, 1);
    assert_eq!(is_send(Client::without_self(7)).await, Some(7));
    assert_eq!(Local::fetch(&client, 7).await?, 7);
    assert_eq!(<Client as Dynamic>::ATTEMPTS, 4);
    assert_eq!(client.by_value().await?, 3);
    Ok(())
}
