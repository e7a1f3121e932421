use retry_runtime::{retry, retrying};

#[retry(name = "")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn connect() -> std::io::Result<u32> {
    retrying!(name = "", attempts = 3, || Ok(7))
}

fn main() {}
