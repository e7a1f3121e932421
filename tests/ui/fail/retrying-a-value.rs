use retry_runtime::retrying;

async fn count() -> u32 {
    retrying!(name = "count", async { 7 }).await
}

fn sum() -> u32 {
    retrying!(name = "sum", timeout = "1s", || Some(7)).unwrap_or(0)
}

fn main() {}
