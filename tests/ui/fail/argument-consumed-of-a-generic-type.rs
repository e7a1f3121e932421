//! An argument of a type that the caller chooses can be cloned only with `+ Clone`.
use retry_runtime::retry;

#[retry(attempts = 3)]
async fn weather(city: impl Into<String>) -> Result<usize, String> {
    let name: String = city.into();
    Ok(name.len())
}

#[retry(attempts = 3)]
fn sum<I: Iterator<Item = u64>>(ids: I) -> Result<u64, String> {
    let mut sum = 0;
    for id in ids {
        sum += id;
    }
    Ok(sum)
}

fn main() {}
