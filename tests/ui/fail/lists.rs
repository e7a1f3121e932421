mod abort_on_ok {
    use retry_runtime::retry;

    #[retry(abort_on = [ok(|page| *page == 0)])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod lists_that_cancel_out {
    use std::io;

    use retry_runtime::retry;

    #[retry(retry_on = [network, timeout], abort_on = [transient])]
    async fn never() -> io::Result<()> {
        Ok(())
    }

    #[retry(retry_on = [network || timeout])]
    async fn either() -> io::Result<()> {
        Ok(())
    }

    #[retry(retry_on = [!timeout])]
    async fn without() -> io::Result<()> {
        Ok(())
    }

    #[retry(abort_on = [400..=499])]
    async fn statuses() -> io::Result<()> {
        Ok(())
    }
}

mod lists_that_cover {
    use std::io;

    use retry_runtime::{retry, retrying};

    #[retry(retry_on = [network, connect])]
    async fn twice() -> io::Result<()> {
        Ok(())
    }

    #[retry(retry_on = [transient], breaker = DB, breaker_on = [connect, timeout, network])]
    async fn counted_twice() -> io::Result<()> {
        Ok(())
    }

    #[retry(retry_on = [connect, timeout], abort_on = [network])]
    async fn never() -> io::Result<()> {
        Ok(())
    }

    #[retry(retry_on = [transient, timeout, connect], abort_on = [when(|_| false)])]
    async fn more_than_all() -> io::Result<()> {
        Ok(())
    }

    static DB: retry_runtime::CircuitBreaker =
        retry_runtime::CircuitBreaker::new("db", retry_runtime::BreakerConfig::new());

    fn mistake() {
        let _ = async { retrying!(name = "shop.call", abort_on = [network, connect], async { io::Result::Ok(1) }).await };
    }
}

mod retry_on_alternatives {
    use std::io;

    use retry_runtime::retry;

    #[retry(retry_on = [network | timeout])]
    async fn with_a_bar() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = [network || timeout || conflict])]
    async fn with_bars() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = [network + when(|error| error.kind() == io::ErrorKind::NotFound)])]
    async fn with_a_plus() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = network | timeout)]
    async fn without_brackets() -> io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_and_abort_on_the_same {
    use retry_runtime::retry;

    #[retry(retry_on = [network, timeout], abort_on = [network])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_empty {
    use retry_runtime::retry;

    #[retry(retry_on = [])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_everything {
    use std::io;

    use retry_runtime::retry;

    #[retry(attempts = 3, retry_on = all)]
    async fn without_brackets() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(retry_on = [any], attempts = 3)]
    async fn in_brackets() -> io::Result<u32> {
        Ok(7)
    }
}

mod retry_on_missing_comma {
    use retry_runtime::retry;

    #[retry(retry_on = [network timeout])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_without_brackets {
    use retry_runtime::retry;

    #[retry(retry_on = network)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
