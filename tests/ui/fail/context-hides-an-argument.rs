use retry_runtime::retry;

#[retry(context = id)]
async fn fetch(id: &u32) -> Result<u32, String> {
    Ok(id.number())
}

fn main() {}
