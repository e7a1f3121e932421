use retry_runtime::retry;

#[retry(max_hedges = 3)]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
