use retry_runtime::RetryError;

fn is_late(result: Result<u32, RetryError<std::io::Error>>) -> bool {
    match result {
        Err(RetryError::Timeout) => true,
        _ => false,
    }
}

fn main() {}
