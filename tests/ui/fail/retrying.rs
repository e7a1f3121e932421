mod retrying_async_inside_a_closure {
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

    // remains: `?` ends the attempt
}

mod retrying_attempt_that_is_no_block {
    use std::io;

    use retry_runtime::retrying;

    async fn get() -> io::Result<u32> {
        Ok(7)
    }

    async fn bare() -> io::Result<u32> {
        retrying!(name = "get", attempts = 3, get()).await
    }

    async fn post() -> io::Result<u32> {
        retrying!(name = "post", attempts = 3, || async { get().await }).await
    }
}

mod retrying_awaited_inside {
    use retry_runtime::retrying;

    async fn get(id: u64) -> Result<u64, String> {
        Ok(id)
    }

    async fn fetch() -> Result<u64, String> {
        retrying!(name = "get", attempts = 3, async { get(7).await }.await)
    }
}

mod retrying_question_mark_without_type {
    use std::io;

    use retry_runtime::retrying;

    async fn read() -> io::Result<u32> {
        Ok(7)
    }

    async fn sum() -> io::Result<u32> {
        retrying!(name = "sum", async {
            let seven = read().await?;
            Ok(seven + 1)
        })
        .await
    }

    fn parsed(text: &str) -> Result<u32, std::num::ParseIntError> {
        retrying!(name = "parsed", || Ok(text.parse::<u32>()? + 1))
    }
}

mod retrying_with_crate {
    use retry_runtime::{Policy, policy, retrying};

    const HTTP: Policy = policy!(crate = retry_runtime, attempts = 3);

    async fn connect() -> std::io::Result<()> {
        retrying!(name = "connect", crate = retry_runtime, async { Ok::<_, std::io::Error>(()) }).await
    }
}

mod retrying_without_name {
    use std::io;

    use retry_runtime::retrying;

    async fn connect() -> io::Result<()> {
        retrying!(attempts = 3, async { Ok(()) }).await
    }

    // cured 6: attempts = 3 => {}, attempts = 3
}

mod retrying_wrong_forms {
    use std::io;

    use retry_runtime::retrying;

    async fn connect(body: Vec<u8>) -> io::Result<()> {
        retrying!(name = "none", attempts = 3);
        retrying!(name = "block", { Ok::<(), io::Error>(()) });
        retrying!(name = "arguments", |one, two| Ok::<(), io::Error>(()));
        retrying!(name = "behind", async { Ok::<(), io::Error>(()) }, attempts = 3).await?;
        retrying!(name = "clone", clone(body), async { Ok::<(), io::Error>(()) }).await?;
        retrying!(name = "carry", carry(body), async { Ok::<(), io::Error>(()) }).await?;
        retrying!(name = "twice", context = cx, async |cx| -> io::Result<()> { Ok(()) }).await?;
        retrying!(name = "two mistakes", atempts = 3, initial_delay = 5, async { Ok::<(), io::Error>(()) }).await
    }

    // cured 8: |one, two| => {}
    // cured 6: by hand
    // cured 7: by hand
    // cured 10: clone(body), async { => async { {}
}

fn main() {}
