use retry_runtime::retry;

#[retry(timeout = "2s")]
fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
