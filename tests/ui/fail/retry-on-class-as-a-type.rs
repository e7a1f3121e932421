use retry_runtime::retry;

#[retry(retry_on = [Transient, ServerError])]
async fn capital() -> Result<u32, std::io::Error> {
    Ok(7)
}

#[retry(retry_on = [Class::NETWORK, retry_runtime::Class::RATE_LIMIT])]
async fn constants() -> Result<u32, std::io::Error> {
    Ok(7)
}

#[retry(retry_on = [ApiError::Timeout])]
async fn variant() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}

// remains: cannot find type `ApiError`
// remains: `server_error` is part of `transient`
