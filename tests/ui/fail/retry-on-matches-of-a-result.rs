//! `matches(…)` tests the error, not the `Result`.
use retry_runtime::retry;

#[derive(Debug)]
enum Db {
    Busy,
    Locked,
}

#[retry(retry_on = [matches(Err(Db::Busy))])]
async fn of_the_error() -> Result<u32, Db> {
    Err(Db::Busy)
}

#[retry(retry_on = [matches(Err(Db::Busy) | Err(Db::Locked))])]
async fn of_two_errors() -> Result<u32, Db> {
    Err(Db::Locked)
}

#[retry(retry_on = [matches(&Result::Err(Db::Busy) if true)])]
async fn by_reference() -> Result<u32, Db> {
    Err(Db::Busy)
}

#[retry(retry_on = [matches(Ok(0))])]
async fn of_the_value() -> Result<u32, Db> {
    Ok(0)
}

fn main() {}
