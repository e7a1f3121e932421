use retry_runtime::retry;

#[retry]
trait Client {
    fn fetch(&self) -> Result<u32, String>;
}

fn main() {}
