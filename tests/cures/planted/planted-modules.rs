mod planted_impl {
    use retry_runtime::retry;

    #[retry(timeout = "2s")]
    async fn fetch() -> Result<u32, &'static str> {
        Ok(7)
    }

    // cured 4: => {} { fn from(_: Interrupted) -> Self { "late" } }
}

mod planted_list {
    use retry_runtime::retry;

    #[retry(retry_on = { network, timeout })]
    async fn fetch() -> std::io::Result<u32> {
        Ok(7)
    }
}
