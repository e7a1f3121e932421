use retry_runtime::retry;

struct Body;

#[retry(clone(body))]
async fn send(body: Body) -> Result<u32, String> {
    drop(body);
    Ok(7)
}

fn main() {}
