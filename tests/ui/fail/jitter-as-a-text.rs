use std::io;

use retry_runtime::retry;

#[retry(jitter = "250ms")]
async fn by_a_time() -> io::Result<u32> {
    Ok(7)
}

#[retry(jitter = "full")]
async fn by_a_name() -> io::Result<u32> {
    Ok(7)
}

#[retry(jitter = up("250ms"))]
async fn upwards_by_a_time() -> io::Result<u32> {
    Ok(7)
}

#[retry(jitter = up("25%"))]
async fn upwards_by_a_percentage() -> io::Result<u32> {
    Ok(7)
}

#[retry(jitter = "some")]
async fn by_something_else() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
