use retry_runtime::retry;

#[retry(carry(items))]
async fn store(items: Vec<u8>) -> Result<usize, String> {
    Ok(items.len())
}

#[retry(carry(items))]
async fn drain(items: &mut Vec<u8>) -> Result<(), String> {
    items.pop();
    Ok(())
}

fn main() {}

// cured 3: items: Vec => {}: Vec
