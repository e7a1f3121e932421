use retry_runtime::retry;

#[retry(carry(item))]
async fn store(mut items: Vec<u8>, _: u8) -> Result<(), String> {
    items.pop();
    Ok(())
}

fn main() {}
