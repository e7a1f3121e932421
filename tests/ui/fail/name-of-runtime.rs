use retry_runtime::retry;

struct Client {
    name: String,
}

impl Client {
    #[retry(attempts = 4, name = self.name)]
    async fn get(&self) -> Result<u32, String> {
        Ok(1)
    }
}

#[retry(attempts = 4, name = format!("{}.get", 7))]
async fn get() -> Result<u32, String> {
    Ok(1)
}

fn main() {}
