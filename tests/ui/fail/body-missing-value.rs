use retry_runtime::retry;

#[retry(attempts = 5)]
async fn fetch() -> Result<u32, String> {
    println!("fetched");
}

fn main() {}
