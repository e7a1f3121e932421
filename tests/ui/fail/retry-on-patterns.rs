mod retry_on_pattern_empty {
    use retry_runtime::retry;

    #[retry(retry_on = [pattern("")])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_pattern_invalid {
    use retry_runtime::retry;

    #[retry(retry_on = [pattern("(?i)locked (database")])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_pattern_not_literal {
    use retry_runtime::retry;

    const LOCKED: &str = "locked";

    #[retry(retry_on = [pattern(LOCKED)])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // cured 5: pattern(LOCKED) => {}
}

mod retry_on_pattern_of_option {
    use retry_runtime::retry;

    #[retry(retry_on = [pattern("locked")])]
    async fn fetch() -> Option<u32> {
        Some(7)
    }
}

mod retry_on_pattern_without_argument {
    use retry_runtime::retry;

    #[retry(retry_on = [pattern])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
