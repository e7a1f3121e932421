mod argument_awaited {
    use std::future::Future;

    use retry_runtime::retry;

    #[retry]
    async fn joined(answer: impl Future<Output = std::io::Result<u32>>) -> std::io::Result<u32> {
        answer.await
    }
}

mod argument_consumed {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    async fn send(body: Vec<u8>) -> Result<usize, String> {
        let sent = consume(body).await;
        Ok(sent)
    }

    async fn consume(body: Vec<u8>) -> usize {
        body.len()
    }
}

mod argument_consumed_async_trait {
    use retry_runtime::retry;

    use async_trait::async_trait;

    struct Client;

    #[async_trait]
    trait Sender {
        async fn send(&self, body: Vec<u8>) -> Result<Vec<u8>, String>;
    }

    #[async_trait]
    impl Sender for Client {
        #[retry]
        async fn send(&self, body: Vec<u8>) -> Result<Vec<u8>, String> {
            Ok(body)
        }
    }
}

mod argument_consumed_of_a_generic_type {
    //! An argument of a type that the caller chooses can be cloned only with `+ Clone`.
    use retry_runtime::retry;

    #[retry(attempts = 3)]
    async fn weather(city: impl Into<String>) -> Result<usize, String> {
        let name: String = city.into();
        Ok(name.len())
    }

    #[retry(attempts = 3)]
    fn sum<I: Iterator<Item = u64>>(ids: I) -> Result<u64, String> {
        let mut sum = 0;
        for id in ids {
            sum += id;
        }
        Ok(sum)
    }
}

mod argument_consumed_sync {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    fn send(body: Vec<u8>) -> Result<usize, String> {
        let sent = consume(body);
        Ok(sent)
    }

    fn consume(body: Vec<u8>) -> usize {
        body.len()
    }
}

mod argument_in_a_struct {
    use retry_runtime::retry;

    struct Message {
        text: String,
        urgent: bool,
    }

    async fn send(message: Message) -> std::io::Result<()> {
        drop(message);
        Ok(())
    }

    #[retry]
    async fn notify(text: String, urgent: bool) -> std::io::Result<()> {
        send(Message { text, urgent }).await
    }
}

mod hedge_consumed {
    //! A body of which two run at once cannot consume an argument.
    use retry_runtime::retry;

    async fn send(_: Vec<u8>) -> Result<u32, String> {
        Ok(1)
    }

    #[retry(hedge = "200ms")]
    async fn consumed(body: Vec<u8>) -> Result<u32, String> {
        send(body).await
    }
}

mod instrument_above {
    //! `#[instrument]` above `#[retry]` moves the arguments into a future, for each attempt.
    use retry_runtime::retry;
    use tracing::instrument;

    #[instrument]
    #[retry(attempts = 3)]
    async fn fetch(host: String, port: u16) -> Result<usize, String> {
        Ok(host.len() + usize::from(port))
    }

    #[instrument(skip(log), err)]
    #[retry(attempts = 3)]
    async fn append(log: &mut Vec<u16>, port: u16) -> Result<usize, String> {
        log.push(port);
        Ok(log.len())
    }

    /// Each attempt has a clone and a span of its own.
    #[instrument]
    #[retry(attempts = 3, clone(host))]
    async fn cloned(host: String) -> Result<String, String> {
        Ok(host)
    }

    /// One span contains all attempts.
    #[retry(attempts = 3)]
    #[instrument]
    async fn below(host: String) -> Result<usize, String> {
        Ok(host.len())
    }

    #[instrument]
    #[retry(attempts = 3)]
    fn sync(host: String) -> Result<usize, String> {
        Ok(host.len())
    }
}

mod reader_consumed {
    use retry_runtime::retry;

    trait Read {}

    async fn send(_: impl Read) -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = 3)]
    async fn upload(body: impl Read) -> Result<u32, String> {
        send(body).await
    }
}

mod receiver_consumed {
    use retry_runtime::retry;

    struct Client(Vec<u8>);

    impl Client {
        #[retry]
        async fn fetch(self) -> Result<Vec<u8>, String> {
            Ok(self.0)
        }
    }
}

mod runtime_argument_consumed {
    use retry_runtime::{Policy, retry};

    struct Config {
        retry: Policy,
    }

    #[retry(policy = config.retry)]
    async fn send(config: Config) -> Result<u32, String> {
        consume(config).await
    }

    async fn consume(_config: Config) -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
