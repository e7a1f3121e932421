use retry_runtime::retry;

struct User;

#[retry(on_failure = continue)]
async fn fetch() -> Result<User, String> {
    Ok(User)
}

fn main() {}
