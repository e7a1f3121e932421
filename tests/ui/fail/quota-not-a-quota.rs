use retry_runtime::retry;

static OUTBOUND: u32 = 5;

#[retry(quota = OUTBOUND)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// cured 5: static OUTBOUND: u32 = 5; => {0}
