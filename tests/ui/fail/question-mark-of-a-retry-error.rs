//! `?` on a `RetryError` whose last error is not a `std::error::Error`, and `into_error` of one whose
//! last error cannot represent an interruption.
use std::error::Error;
use std::num::ParseIntError;

use retry_runtime::{RetryError, retry};

type BoxError = Box<dyn Error + Send + Sync>;

#[retry(attempts = 3)]
async fn of_a_box() -> Result<u32, RetryError<BoxError>> {
    Ok(1)
}

#[retry(attempts = 3)]
async fn of_a_text() -> Result<u32, RetryError<String>> {
    Ok(1)
}

async fn boxes() -> Result<u32, BoxError> {
    Ok(of_a_box().await?)
}

async fn boxes_a_text() -> Result<u32, Box<dyn Error>> {
    Ok(of_a_text().await?)
}

#[retry(attempts = 3)]
async fn of_a_number() -> Result<u32, RetryError<ParseIntError>> {
    "1".parse()
}

async fn numbers() -> Result<u32, ParseIntError> {
    of_a_number().await.map_err(RetryError::into_error)
}

fn main() {}

// cured 21/2: .await? => .await.map_err({})?
// cured 25/2: .await? => .await.map_err({})?
