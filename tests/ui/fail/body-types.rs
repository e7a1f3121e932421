mod body_half_typed_method {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    async fn fetch() -> Result<u32, String> {
        let text = String::from("seven");
        text.
        Ok(7)
    }
}

mod body_missing_value {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    async fn fetch() -> Result<u32, String> {
        println!("fetched");
    }
}

mod body_question_mark_of_other_type {
    use retry_runtime::retry;

    struct Mute;

    #[retry(attempts = 5)]
    async fn fetch() -> Result<u32, Mute> {
        let number: u32 = "seven".parse::<u32>()?;
        Ok(number)
    }
}

mod body_sync_type_error {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    fn fetch() -> Result<u32, String> {
        Ok("seven")
    }
}

mod body_type_error {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok("seven")
    }
}

mod body_type_error_in_return {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    async fn fetch() -> Result<u32, String> {
        if true {
            return Ok("seven");
        }
        Ok(7)
    }
}

fn main() {}
