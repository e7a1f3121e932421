use std::io;

use retry_runtime::retry;

#[derive(Debug)]
struct AppError(io::Error);

impl From<io::Error> for AppError {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

#[retry(map_error = AppError::from)]
async fn fetch() -> Result<u32, AppError> {
    Err(AppError(io::Error::other("down")))
}

fn main() {}
