use retry_runtime::retry;

struct Job {
    id: String,
    size: usize,
}

#[retry(attempts = 3)]
async fn run(job: Job) -> Result<usize, String> {
    let Job { id, size } = job;
    if id.is_empty() { Err(id) } else { Ok(size) }
}

#[retry(attempts = 3)]
async fn rename(name: String) -> Result<String, String> {
    let renamed = name;
    Ok(renamed + "!")
}

#[retry(attempts = 3)]
async fn find(name: Option<String>) -> Result<String, String> {
    if let Some(found) = name { Ok(found) } else { Err("none".to_owned()) }
}

fn main() {}
