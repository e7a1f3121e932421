use retry_runtime::retry;

async fn cached(id: u64) -> String {
    format!("cached {id}")
}

#[retry(attempts = 2, on_failure = fallback(|_| cached(id).await))]
async fn load(id: u64) -> Result<String, std::io::Error> {
    Ok(format!("loaded {id}"))
}

#[retry(attempts = 2, on_failure = fallback(|_| { cached(id).await + "!" }))]
async fn loud(id: u64) -> Result<String, std::io::Error> {
    Ok(format!("loaded {id}"))
}

fn main() {}
