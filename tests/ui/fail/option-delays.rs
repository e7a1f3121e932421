use retry_runtime::retry;

#[retry(attempts = 3, delays = ["1s", "5s"])]
async fn fetch() -> std::io::Result<()> {
    Ok(())
}

fn main() {}
