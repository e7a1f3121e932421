use retry_runtime::retry;

trait Client {
    #[retry]
    fn fetch(&self) -> Result<u32, String>;
}

fn uses(client: &dyn Client) -> Result<u32, String> {
    client.fetch()
}

fn main() {}
