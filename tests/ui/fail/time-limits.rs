mod budget_as_a_number {
    use retry_runtime::retry;

    #[retry(attempts = 3, budget = 100)]
    async fn by_count() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = 3, budget = 0.2)]
    async fn by_share() -> Result<u32, String> {
        Ok(7)
    }

    // remains: the first wait already exceeds this budget
}

mod budget_below_first_wait {
    use retry_runtime::retry;

    #[retry(budget = "500ms")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod deadline_below_first_wait {
    use retry_runtime::retry;

    #[retry(deadline = "1s")]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod max_elapsed_above_deadline {
    use retry_runtime::retry;

    #[retry(deadline = "30s", max_elapsed = "5m")]
    async fn fetch() -> std::io::Result<()> {
        Ok(())
    }
}

mod max_elapsed_below_first_wait {
    use retry_runtime::retry;

    #[retry(initial_delay = "10s", max_elapsed = "5s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod timeout_above_deadline {
    use retry_runtime::retry;

    #[retry(timeout = "40s", deadline = "30s")]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod timeout_on_sync_fn {
    use retry_runtime::retry;

    #[retry(timeout = "2s")]
    fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod timeout_zero {
    use retry_runtime::retry;

    #[retry(timeout = "0s")]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

fn main() {}
