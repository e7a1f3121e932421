use retry_runtime::retry;

mod oneshot {
    pub struct Sender<T>(pub T);

    impl<T> Sender<T> {
        pub fn send(self, value: T) -> Result<(), T> {
            Err(value)
        }
    }
}

#[retry(attempts = 3)]
async fn upload(body: String) -> Result<usize, String> {
    let bytes = body.into_bytes();
    Ok(bytes.len())
}

#[retry(attempts = 3)]
async fn load(text: &str, done: oneshot::Sender<String>) -> Result<(), String> {
    done.send(text.to_owned())
}

#[retry(attempts = 3)]
fn sum(ids: impl Iterator<Item = u64>) -> Result<u64, String> {
    Ok(ids.map(|id| id + 1).sum())
}

#[retry(attempts = 3, hedge = "10ms")]
async fn token(token: Option<String>) -> Result<String, String> {
    token.ok_or_else(|| "no token".to_owned())
}

fn main() {}
