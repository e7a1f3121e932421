// Options of other libraries, misspelt.

use retry_runtime::retry;

#[retry(max_retires = 4, initialintervall = "1s")]
async fn fetch() -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
