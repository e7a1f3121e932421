use retry_runtime::retry;

#[retry(hedge = "200ms", carry(items))]
async fn store(mut items: Vec<u8>) -> Result<(), String> {
    items.pop();
    Ok(())
}

fn main() {}

// cured 3: carry(items) => {}
