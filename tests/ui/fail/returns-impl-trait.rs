use retry_runtime::retry;

#[retry]
async fn fetch() -> impl Iterator<Item = u32> {
    0..7
}

fn main() {}
