use retry_runtime::retry;

#[retry(attempts = 5)]
async fn send(body: Vec<u8>) -> Result<usize, String> {
    let sent = consume(body).await;
    Ok(sent)
}

async fn consume(body: Vec<u8>) -> usize {
    body.len()
}

fn main() {}
