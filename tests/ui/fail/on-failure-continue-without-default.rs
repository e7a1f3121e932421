use retry_runtime::retry;

struct User;

#[retry(on_failure = continue)]
async fn fetch() -> Result<User, String> {
    Ok(User)
}

fn main() {}

// cured 6: on_failure = continue => {}
// cured 6: => fn f(_: RetryError<String>) -> User { User }
