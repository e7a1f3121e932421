use retry_runtime::retry;

#[retry(attempts = 5)]
fn send(body: Vec<u8>) -> Result<usize, String> {
    let sent = consume(body);
    Ok(sent)
}

fn consume(body: Vec<u8>) -> usize {
    body.len()
}

fn main() {}
