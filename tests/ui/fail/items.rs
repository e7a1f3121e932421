mod item_const_fn {
    use retry_runtime::retry;

    #[retry]
    const fn answer() -> Result<u32, ()> {
        Ok(42)
    }
}

mod item_impl {
    use retry_runtime::retry;

    struct Client;

    #[retry]
    impl Client {
        async fn fetch(&self) -> Result<u32, String> {
            Ok(7)
        }
    }
}

mod item_module {
    use retry_runtime::retry;

    #[retry]
    mod client {}
}

mod item_retried_twice {
    use retry_runtime::retry;

    #[retry(attempts = 2)]
    #[retry(attempts = 3)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod item_struct {
    use retry_runtime::retry;

    #[retry]
    struct Client {
        id: u64,
    }

    fn uses(client: &Client) -> u64 {
        client.id
    }
}

mod item_trait {
    use retry_runtime::retry;

    #[retry]
    trait Client {
        fn fetch(&self) -> Result<u32, String>;
    }
}

mod item_trait_method_without_body {
    use retry_runtime::retry;

    trait Client {
        #[retry]
        fn fetch(&self) -> Result<u32, String>;
    }

    fn uses(client: &dyn Client) -> Result<u32, String> {
        client.fetch()
    }
}

mod on_a_constant {
    use retry_runtime::retry;

    #[retry(attempts = 3)]
    const LIMIT: u32 = 3;

    #[retry(attempts = 3)]
    static COUNT: u32 = 3;
}

mod tokio_main_above {
    //! Attributes such as `#[tokio::main]` expand first: these are the functions that they leave.
    use std::future::Future;
    use std::io;

    use retry_runtime::retry;

    fn block_on<F: Future>(_: F) -> F::Output {
        panic!("only checked, never run")
    }

    #[retry(attempts = 3, timeout = "2s")]
    fn as_tokio_does() -> io::Result<()> {
        let body = async { Ok(()) };
        {
            return block_on(body);
        }
    }

    #[retry(attempts = 3, hedge = "50ms")]
    fn as_async_std_does() -> io::Result<()> {
        async fn as_async_std_does() -> io::Result<()> {
            Ok(())
        }
        block_on(async { as_async_std_does().await })
    }

    #[retry(attempts = 3, timeout = "2s")]
    fn never_async() -> io::Result<()> {
        block_on(async { Ok(()) })
    }
}

fn main() {}
