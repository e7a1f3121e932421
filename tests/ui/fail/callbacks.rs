mod cancel_by_a_receiver {
    use retry_runtime::retry;

    #[derive(Clone)]
    struct Receiver;

    impl Receiver {
        async fn changed(&mut self) {}
    }

    #[retry(cancel = shutdown.changed())]
    async fn fetch(shutdown: Receiver) -> Result<u32, std::io::Error> {
        Ok(7)
    }

    // cured 10: by hand
}

mod cancel_sync {
    use retry_runtime::retry;

    #[retry(cancel = std::future::pending::<()>())]
    fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod on_retry_macro {
    // A statement where `on_retry` takes a function.

    use retry_runtime::retry;

    #[retry(attempts = 3, on_retry = eprintln!("again"))]
    async fn fetch() -> Result<(), std::io::Error> {
        Ok(())
    }

    #[retry(attempts = 3, on_retry = eprintln!("again: {:?}", event))]
    async fn load() -> Result<(), std::io::Error> {
        Ok(())
    }
}

mod on_retry_not_callable {
    use retry_runtime::retry;

    #[retry(on_retry = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod wait_by_without_effect {
    use std::ops::ControlFlow;

    use retry_runtime::retry;

    #[retry(attempts = 1, wait_by = |_, _, wait| ControlFlow::Continue(wait))]
    fn once() -> Result<u32, String> {
        Ok(1)
    }

    #[retry(wait_by)]
    fn nothing() -> Result<u32, String> {
        Ok(1)
    }
}

fn main() {}
