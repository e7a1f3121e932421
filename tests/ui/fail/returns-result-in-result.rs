use std::io;
use std::num::ParseIntError;

use retry_runtime::retry;

#[retry(attempts = 3)]
async fn number() -> io::Result<Result<u32, ParseIntError>> {
    Ok("7".parse())
}

#[retry(attempts = 3)]
async fn parsed() -> Result<Result<u32, ParseIntError>, String> {
    Ok("7".parse())
}

fn main() {}
