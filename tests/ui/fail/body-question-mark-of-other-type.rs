use retry_runtime::retry;

struct Mute;

#[retry(attempts = 5)]
async fn fetch() -> Result<u32, Mute> {
    let number: u32 = "seven".parse::<u32>()?;
    Ok(number)
}

fn main() {}
