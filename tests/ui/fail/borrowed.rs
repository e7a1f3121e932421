mod breaker_const {
    use retry_runtime::{
        BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry,
    };

    const DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    const OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

    #[retry(breaker = DB, quota = OUTBOUND)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod cancel_borrows_self {
    use retry_runtime::{RetryError, retry};

    struct Stop;

    impl Stop {
        async fn cancelled(&self) {}
    }

    struct Connection {
        stop: Stop,
        tries: u32,
    }

    impl Connection {
        #[retry(cancel = self.stop.cancelled())]
        async fn connect(&mut self) -> Result<(), RetryError<String>> {
            self.dial().await
        }

        async fn dial(&mut self) -> Result<(), String> {
            self.tries += 1;
            Err("no connection".to_owned())
        }
    }
}

mod job_client_borrowed {
    use retry_workflow::{Workflow, WorkflowError};

    struct Client;

    impl Client {
        async fn send(&self, _: u32) -> std::io::Result<()> {
            Ok(())
        }
    }

    async fn ship() -> Result<(), WorkflowError> {
        let client = Client;
        Workflow::new("ship")
            .run(1..=3_u32, |order: u32, _| async { client.send(order).await })
            .await?;
        Ok(())
    }
}

mod job_client_of_the_caller {
    use retry_workflow::{Workflow, WorkflowError};

    struct Client;

    impl Client {
        async fn send(&self, _: u32) -> std::io::Result<()> {
            Ok(())
        }
    }

    async fn ship(client: &Client) -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(1..=3_u32, move |order: u32, _| async move { client.send(order).await })
            .await?;
        Ok(())
    }
}

fn main() {}
