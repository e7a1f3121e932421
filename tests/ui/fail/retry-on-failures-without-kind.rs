use std::io;

use retry_runtime::retry;

#[retry(retry_on = [client_error])]
async fn of_the_client() -> io::Result<u32> {
    Ok(7)
}

#[retry(abort_on = [permanent])]
async fn permanent() -> io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [!permanent])]
async fn not_permanent() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
