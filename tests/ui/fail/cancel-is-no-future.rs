use retry_runtime::retry;

#[retry(cancel = stop)]
async fn fetch(stop: bool) -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
