use retry_runtime::retry;

#[retry(clone(items), carry(items))]
async fn store(mut items: Vec<u8>) -> Result<(), String> {
    items.pop();
    Ok(())
}

fn main() {}
