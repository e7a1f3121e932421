use retry_runtime::retry;

#[retry(attempts = unlimited, budget = unlimited, backoff = fixed)]
async fn run() -> ! {
    loop {
        std::future::ready(()).await;
    }
}

fn main() {}
