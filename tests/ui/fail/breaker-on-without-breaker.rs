use retry_runtime::retry;

#[retry(breaker_on = [server_error])]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
