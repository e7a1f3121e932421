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

// cured 3: carry => carry(items)
// cured 3: (items: => (mut items:
// cured 9: carry = [items, rest] => {}
// cured 9: rest: Vec => mut rest: Vec
