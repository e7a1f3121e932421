use retry_runtime::retry;

#[retry(carry)]
async fn store(items: Vec<u8>) -> Result<(), String> {
    drop(&items);
    Ok(())
}

#[retry(carry = [items, rest])]
async fn in_brackets(items: Vec<u8>, rest: Vec<u8>) -> Result<(), String> {
    drop((&items, &rest));
    Ok(())
}

fn main() {}
