mod body_unknown_name {
    use retry_runtime::retry;

    #[retry(attempts = 5)]
    async fn fetch() -> Result<u32, String> {
        let answer = nothing_of_this_name;
        Ok(answer)
    }
}

mod crate_not_found {
    use std::io;

    use retry_runtime::retry;

    #[retry(crate = again, attempts = 3)]
    async fn fetch() -> io::Result<u32> {
        Ok(7)
    }
}

mod use_of_the_macro_crate {
    use retry_macros::retry;

    #[retry(attempts = 3)]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

fn main() {}
