use std::io;

use retry_runtime::retrying;

async fn read() -> io::Result<u32> {
    Ok(7)
}

async fn sum() -> io::Result<u32> {
    retrying!(name = "sum", async {
        let seven = read().await?;
        Ok(seven + 1)
    })
    .await
}

fn parsed(text: &str) -> Result<u32, std::num::ParseIntError> {
    retrying!(name = "parsed", || Ok(text.parse::<u32>()? + 1))
}

fn main() {}
