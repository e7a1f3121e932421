//! Values that newcomers write behind `retry_on`; each has an error of its own.

use retry_runtime::retry;

#[derive(Debug)]
pub enum Failure {
    Busy,
    Io(std::io::Error),
}

impl Failure {
    fn is_transient(&self) -> bool {
        matches!(self, Self::Busy | Self::Io(_))
    }
}

#[retry(retry_on = Failure::is_transient)]
async fn fetch_0() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_on = |error| error.is_transient())]
async fn fetch_1() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_on = [|error: &Failure| error.is_transient()])]
async fn fetch_2() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_on = [Failure::is_transient])]
async fn fetch_3() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_on = [Failure::Busy])]
async fn fetch_4() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_on = [std::io::Error])]
async fn fetch_5() -> Result<u32, Failure> {
    Ok(1)
}

fn main() {}

// cured 17: Failure::is_transient => [{}]
// cured 22: |error| error.is_transient() => [{}]
