use std::io;

use retry_runtime::retry;

#[retry(retry_on = [network, timeout], abort_on = [transient])]
async fn never() -> io::Result<()> {
    Ok(())
}

#[retry(retry_on = [network || timeout])]
async fn either() -> io::Result<()> {
    Ok(())
}

#[retry(retry_on = [!timeout])]
async fn without() -> io::Result<()> {
    Ok(())
}

#[retry(abort_on = [400..=499])]
async fn statuses() -> io::Result<()> {
    Ok(())
}

fn main() {}
