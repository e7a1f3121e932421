use retry_runtime::retry;

#[retry(when_open = wait)]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
