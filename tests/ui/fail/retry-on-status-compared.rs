use std::io;

use retry_runtime::retry;

#[retry(retry_on = [status >= 500])]
async fn above() -> io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [http_status(429), status_code(500..600)])]
async fn of_a_range() -> io::Result<u32> {
    Ok(7)
}

#[retry(abort_on = [code = 404])]
async fn not_found() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
