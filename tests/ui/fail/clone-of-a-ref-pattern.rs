use retry_runtime::retry;

#[retry(clone(items))]
#[allow(clippy::toplevel_ref_arg)]
async fn store(ref mut items: Vec<u8>) -> Result<(), String> {
    items.pop();
    Ok(())
}

fn main() {}

// cured 3: ref mut items => {}
