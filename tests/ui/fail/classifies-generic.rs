use retry_runtime::{Class, classifies};

#[classifies]
fn kind<E: std::error::Error>(_error: &E) -> Option<Class> {
    None
}

fn main() {}
