mod duration_bare_number {
    use retry_runtime::retry;

    #[retry(max_delay = 30)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // remains: `initial_delay` (1s, the default) is longer
}

mod duration_bare_number_in_string {
    use retry_runtime::retry;

    #[retry(max_delay = "30")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // remains: `initial_delay` (1s, the default) is longer
}

mod duration_empty {
    use retry_runtime::retry;

    #[retry(max_delay = "")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod duration_negative {
    use retry_runtime::retry;

    #[retry(max_delay = -5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod duration_negative_in_string {
    use retry_runtime::retry;

    #[retry(max_delay = "-5s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod duration_not_humantime {
    use retry_runtime::retry;

    #[retry(max_delay = "5 parsecs")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = 4, deadline = "1m30")]
    async fn send() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(initial_delay = "500MS")]
    async fn load() -> Result<u32, String> {
        Ok(7)
    }
}

mod duration_with_unit_as_literal {
    use std::io;

    use retry_runtime::retry;

    #[retry(initial_delay = 500ms, timeout = 2s)]
    async fn fetch() -> io::Result<()> {
        Ok(())
    }
}

fn main() {}
