use retry_runtime::retry;

#[retry(atempts = 5)]
async fn fetch() -> u32 {
    7
}

fn main() {}
