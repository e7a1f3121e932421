use retry_runtime::retry;

#[retry]
async fn fetch() -> u32 {
    7
}

fn main() {}
