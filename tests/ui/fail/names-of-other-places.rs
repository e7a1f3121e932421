mod prelude {
    #![deny(deprecated)]
    use retry_runtime::prelude::*;

    #[retry(attempts = 3)]
    async fn load() -> std::io::Result<u32> {
        Ok(7)
    }
}

mod matchers {
    use retry_runtime::{network, timeout};
}

mod attribute {
    use retry_workflow::retry;
}

mod error {
    use retry_runtime::retry::RetryError;
}

fn main() {}
