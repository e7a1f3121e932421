use retry_runtime::retry;

#[retry]
fn call(op: Box<dyn FnOnce() -> Result<u32, String>>) -> Result<u32, String> {
    op()
}

fn main() {}

// cured 4/1: FnOnce => {}
// cured 4/2: op: Box<dyn FnOnce => mut op: Box<dyn {}
