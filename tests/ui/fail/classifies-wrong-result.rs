use retry_runtime::{Class, classifies};

#[classifies]
fn kind(_error: &std::fmt::Error) -> bool {
    let _: Class;
    true
}

fn main() {}
