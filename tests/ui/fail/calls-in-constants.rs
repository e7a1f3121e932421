mod duration_not_const {
    use retry_runtime::retry;

    fn longest() -> std::time::Duration {
        std::time::Duration::from_secs(30)
    }

    #[retry(max_delay = longest())]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod runtime_static_as_constant {
    use std::io;
    use std::sync::LazyLock;
    use std::time::Duration;

    use retry_runtime::{Policy, policy, retry, retrying};

    struct Settings {
        attempts: u32,
        http: Policy,
    }

    impl Settings {
        fn delay(&self) -> Duration {
            Duration::from_secs(1)
        }
    }

    static SETTINGS: LazyLock<Settings> =
        LazyLock::new(|| Settings { attempts: 4, http: Policy::new() });

    static HTTP: LazyLock<Policy> = LazyLock::new(Policy::new);

    #[retry(attempts = SETTINGS.attempts + 1, initial_delay = SETTINGS.delay())]
    async fn by_field_and_method() -> io::Result<()> {
        Ok(())
    }

    #[retry(policy = SETTINGS.http)]
    async fn by_policy() -> io::Result<()> {
        Ok(())
    }

    #[retry(policy = HTTP)]
    async fn by_whole_policy() -> io::Result<()> {
        Ok(())
    }

    #[retry(policy = *HTTP)]
    async fn by_dereferenced_policy() -> io::Result<()> {
        Ok(())
    }

    async fn by_block() -> io::Result<()> {
        retrying!(name = "block", attempts = SETTINGS.attempts, async { Ok(()) }).await
    }

    const P: Policy = policy!(attempts = SETTINGS.attempts);
}

fn main() {}
