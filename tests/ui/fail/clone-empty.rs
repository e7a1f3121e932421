use retry_runtime::retry;

#[retry(clone())]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// cured 3: fetch() => fetch(body: String, headers: String)
// cured 3: clone() => {}
