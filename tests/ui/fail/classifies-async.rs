use retry_runtime::{Class, classifies};

#[classifies]
async fn kind(_error: &std::fmt::Error) -> Option<Class> {
    None
}

fn main() {}
