use retry_runtime::retry;

struct Mute;

#[retry(retry_on = [network, pattern("locked")])]
async fn fetch() -> Result<u32, Mute> {
    Ok(7)
}

fn main() {}
