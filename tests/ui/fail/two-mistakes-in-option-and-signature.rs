use retry_runtime::retry;

#[retry(jitter = 2.0, clone(boddy))]
async fn send(body: Vec<u8>) -> Result<usize, String> {
    Ok(body.len())
}

fn main() {}
