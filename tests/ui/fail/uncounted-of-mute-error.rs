use retry_runtime::retry;

struct Mute;

#[retry(budget = "1h", uncounted = [rate_limit])]
async fn fetch() -> Result<u32, Mute> {
    Ok(7)
}

fn main() {}
