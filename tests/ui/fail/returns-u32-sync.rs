use retry_runtime::retry;

#[retry]
fn fetch() -> u32 {
    7
}

fn main() {}
