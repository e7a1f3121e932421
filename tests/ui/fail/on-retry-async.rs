use retry_runtime::retry;

#[retry(attempts = 3, on_retry = async |event| println!("{event}"))]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
