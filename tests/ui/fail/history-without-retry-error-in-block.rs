use retry_runtime::retrying;

async fn fetch() -> Result<u32, String> {
    retrying!(name = "fetch", history = 5, async { Ok::<u32, String>(7) }).await
}

fn main() {}
