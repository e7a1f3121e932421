use retry_runtime::retry;

#[retry]
fn call(op: Box<dyn FnOnce() -> Result<u32, String>>) -> Result<u32, String> {
    op()
}

fn main() {}

// cured 4: FnOnce => {}
