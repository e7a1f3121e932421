use std::io;
use std::sync::Arc;

use retry_runtime::retry;

struct Job {
    name: String,
}

async fn send(body: String) -> io::Result<()> {
    drop(body);
    Ok(())
}

fn spawn(future: impl Future) {
    drop(future);
}

#[retry(attempts = 3)]
async fn notify(db: Arc<String>) -> io::Result<()> {
    spawn(async move { println!("{db}") });
    Ok(())
}

impl Job {
    #[retry(attempts = 3)]
    async fn run(self) -> io::Result<()> {
        send(self.name).await
    }
}

#[retry(attempts = 3)]
async fn all(names: Vec<String>) -> io::Result<()> {
    for name in names {
        send(name).await?;
    }
    Ok(())
}

#[retry(attempts = 3)]
fn call<F>(f: F) -> io::Result<()>
where
    F: FnOnce() -> io::Result<()>,
{
    f()
}

fn main() {}

// cured 41/1: FnOnce => {}
// cured 41/2: f: F) => mut f: F)
// cured 41/2: FnOnce => {}
