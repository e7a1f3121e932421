mod error_that_is_a_number {
    //! A number has no kind, and its text says nothing about one.
    use retry_runtime::{RetryError, retry};

    #[retry(retry_on = [server_error])]
    async fn fetch() -> Result<u32, u16> {
        Err(503)
    }

    #[retry(retry_on = [transient], timeout = "1s")]
    async fn load() -> Result<u32, RetryError<i32>> {
        Err(503)
    }
}

mod returns_boxed_future {
    use retry_runtime::retry;

    use std::future::Future;
    use std::pin::Pin;

    #[retry]
    fn fetch() -> Pin<Box<dyn Future<Output = Result<u32, String>>>> {
        let future = async { Ok(7) };
        Box::pin(future)
    }

    // cured 7: fn fetch() -> Pin<Box<dyn Future<Output = Result<u32, String>>>> => {} fetch() -> Result<u32, String>
    // cured 7: Box::pin(future) => future.await
}

mod returns_impl_future {
    use retry_runtime::retry;

    use std::future::Future;

    #[retry(context = cx)]
    fn fetch() -> impl Future<Output = Result<u32, String>> {
        async { Ok(cx.number()) }
    }

    // cured 6: fn fetch() -> impl Future<Output = Result<u32, String>> => {} fetch() -> Result<u32, String>
    // cured 6: async { Ok(cx.number()) } => Ok(cx.number())
}

mod returns_never {
    use retry_runtime::retry;

    #[retry(attempts = unlimited, budget = unlimited, backoff = fixed)]
    async fn run() -> ! {
        loop {
            std::future::ready(()).await;
        }
    }
}

mod returns_nothing {
    use retry_runtime::retry;

    #[retry]
    async fn fetch() {
        println!("fetched");
    }
}

fn main() {}
