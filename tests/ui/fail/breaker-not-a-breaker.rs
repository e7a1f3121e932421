use retry_runtime::retry;

static DB: u32 = 5;

#[retry(breaker = DB)]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
