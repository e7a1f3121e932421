use std::io;

use retry_runtime::retrying;

async fn get() -> io::Result<u32> {
    Ok(7)
}

async fn of_nothing() -> io::Result<u32> {
    retrying!(name = "get", attempts = 3, || async { get().await }).await
}

async fn with_a_question_mark() -> io::Result<u32> {
    retrying!(name = "get", attempts = 3, || async move {
        let page = get().await?;
        Ok(page)
    })
    .await
}

async fn of_the_context() -> io::Result<u32> {
    retrying!(name = "get", attempts = 3, |cx| async {
        println!("{}", cx.number());
        get().await
    })
    .await
}

fn main() {}

// remains: `?` ends the attempt
