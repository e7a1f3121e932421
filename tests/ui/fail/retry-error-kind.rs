use retry_runtime::RetryError;

fn is_timeout(error: &RetryError<std::io::Error>) -> bool {
    error.kind() == std::io::ErrorKind::TimedOut
}

fn main() {}
