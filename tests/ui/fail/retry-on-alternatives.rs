use std::io;

use retry_runtime::retry;

#[retry(retry_on = [network | timeout])]
async fn with_a_bar() -> io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [network || timeout || conflict])]
async fn with_bars() -> io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [network + when(|error| error.kind() == io::ErrorKind::NotFound)])]
async fn with_a_plus() -> io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = network | timeout)]
async fn without_brackets() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
