use retry_runtime::{Class, classifies};

#[classifies]
fn kind(_error: std::fmt::Error) -> Option<Class> {
    None
}

fn main() {}
