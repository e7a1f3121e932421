use retry_runtime::{Class, classifies};

#[classifies]
fn kind(_error: &u32) -> Option<Class> {
    None
}

fn main() {}
