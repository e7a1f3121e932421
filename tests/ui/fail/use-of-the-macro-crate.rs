use retry_macros::retry;

#[retry(attempts = 3)]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
