mod argument_consumed_by_an_expression {
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
}

mod variable_consumed {
    //! A variable that each attempt would move: the compiler names it.
    use std::io;

    use retry_runtime::{Policy, Retrier, RetryError, retrying};

    async fn post(body: Vec<u8>) -> io::Result<usize> {
        Ok(body.len())
    }

    async fn in_a_block(body: Vec<u8>) -> io::Result<usize> {
        retrying!(name = "in_a_block", async { post(body).await }).await
    }

    async fn in_a_block_with_a_type(body: Vec<u8>) -> io::Result<usize> {
        retrying!(name = "with_a_type", async || -> io::Result<usize> { Ok(post(body).await?) }).await
    }

    fn in_a_block_that_is_not_async(body: Vec<u8>) -> io::Result<String> {
        retrying!(name = "not_async", || String::from_utf8(body).map_err(io::Error::other))
    }

    async fn in_a_closure(body: Vec<u8>) -> Result<usize, RetryError<io::Error>> {
        Retrier::new(Policy::new()).run(move || post(body)).await
    }
}

fn main() {}
