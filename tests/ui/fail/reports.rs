mod docs_not_bool {
    use retry_runtime::retry;

    #[retry(docs = "no")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod log_as_bool {
    use retry_runtime::retry;

    #[retry(log = false)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod log_as_text {
    use retry_runtime::retry;

    #[retry(log = "info")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod log_unknown {
    use retry_runtime::retry;

    #[retry(log = error)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod log_without_value {
    use retry_runtime::retry;

    #[retry(log)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod name_empty {
    use retry_runtime::{retry, retrying};

    #[retry(name = "")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    fn connect() -> std::io::Result<u32> {
        retrying!(name = "", attempts = 3, || Ok(7))
    }
}

fn main() {}
