mod jitter_as_a_text {
    use std::io;

    use retry_runtime::retry;

    #[retry(jitter = "250ms")]
    async fn by_a_time() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(jitter = "full")]
    async fn by_a_name() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(jitter = up("250ms"))]
    async fn upwards_by_a_time() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(jitter = up("25%"))]
    async fn upwards_by_a_percentage() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(jitter = "some")]
    async fn by_something_else() -> io::Result<u32> {
        Ok(7)
    }
}

mod jitter_capitalised {
    use retry_runtime::retry;

    #[retry(jitter = Full)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod jitter_in_parentheses {
    use retry_runtime::retry;

    #[retry(jitter(0.25))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod jitter_negative {
    use retry_runtime::retry;

    #[retry(jitter = -0.5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod jitter_out_of_range {
    use retry_runtime::retry;

    #[retry(jitter = 1.5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod jitter_true {
    use retry_runtime::retry;

    #[retry(jitter = true)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod jitter_unknown {
    use retry_runtime::retry;

    #[retry(jitter = ful)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
