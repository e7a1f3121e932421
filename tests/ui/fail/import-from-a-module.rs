use retry_runtime::error::RetryError;

fn attempts(error: &RetryError<std::io::Error>) -> u32 {
    error.attempts()
}

fn main() {}
