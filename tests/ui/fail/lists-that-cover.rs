use std::io;

use retry_runtime::{retry, retrying};

#[retry(retry_on = [network, connect])]
async fn twice() -> io::Result<()> {
    Ok(())
}

#[retry(retry_on = [transient], breaker = DB, breaker_on = [connect, timeout, network])]
async fn counted_twice() -> io::Result<()> {
    Ok(())
}

#[retry(retry_on = [connect, timeout], abort_on = [network])]
async fn never() -> io::Result<()> {
    Ok(())
}

#[retry(retry_on = [transient, timeout, connect], abort_on = [when(|_| false)])]
async fn more_than_all() -> io::Result<()> {
    Ok(())
}

static DB: retry_runtime::CircuitBreaker =
    retry_runtime::CircuitBreaker::new("db", retry_runtime::BreakerConfig::new());

fn main() {
    let _ = async { retrying!(name = "shop.call", abort_on = [network, connect], async { io::Result::Ok(1) }).await };
}
