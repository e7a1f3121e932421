use std::sync::Arc;
use std::thread;

use retry_runtime::retry;

struct Job {
    id: String,
    size: usize,
}

async fn print(text: String) -> Result<usize, String> {
    Ok(text.len())
}

#[retry(attempts = 3)]
async fn sum(base: String, path: &str) -> Result<usize, String> {
    print(base + path).await
}

#[retry(attempts = 3)]
async fn list(name: String) -> Result<usize, String> {
    let names = vec![name];
    println!("{names:?}");
    Ok(names.len())
}

#[retry(attempts = 3)]
async fn pair(key: String, size: usize) -> Result<usize, String> {
    let entry = (key, size);
    Ok(entry.1)
}

#[retry(attempts = 3)]
async fn returned(name: String, size: usize) -> Result<String, String> {
    if size > 7 {
        return Ok(name);
    }
    Err("small".to_owned())
}

#[retry(attempts = 3)]
async fn field(job: Job) -> Result<usize, String> {
    print(job.id).await.map(|size| size + job.size)
}

#[retry(attempts = 3)]
fn closure(name: Arc<str>) -> Result<usize, String> {
    thread::spawn(move || name.len()).join().map_err(|_| "panicked".to_owned())
}

fn main() {}
