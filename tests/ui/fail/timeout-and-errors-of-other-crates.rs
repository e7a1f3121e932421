use retry_runtime::retry;

#[retry(timeout = "2s")]
async fn page() -> Result<u32, reqwest::Error> {
    Ok(7)
}

#[retry(deadline = "30s")]
async fn head() -> Result<u32, hyper::Error> {
    Ok(7)
}

#[retry(timeout = "2s")]
async fn row() -> Result<u32, tokio_postgres::Error> {
    Ok(7)
}

#[retry(timeout = "2s")]
async fn mail() -> Result<u32, lettre::transport::smtp::Error> {
    Ok(7)
}

fn main() {}
