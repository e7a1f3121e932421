use retry_runtime::retry;

#[retry(attempts = 5)]
fn fetch() -> Result<u32, String> {
    Ok("seven")
}

fn main() {}
