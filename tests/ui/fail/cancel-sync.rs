use retry_runtime::retry;

#[retry(cancel = std::future::pending::<()>())]
fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
