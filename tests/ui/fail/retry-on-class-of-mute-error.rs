use retry_runtime::retry;

struct Mute;

#[retry(retry_on = [network])]
async fn fetch() -> Result<u32, Mute> {
    Ok(7)
}

fn main() {}
