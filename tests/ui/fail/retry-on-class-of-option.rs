use retry_runtime::retry;

#[retry(retry_on = [network])]
async fn fetch() -> Option<u32> {
    Some(7)
}

fn main() {}
