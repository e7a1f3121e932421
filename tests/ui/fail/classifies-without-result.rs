use retry_runtime::{Class, classifies};

#[classifies]
fn kind(_error: &std::fmt::Error) {
    let _: Class;
}

fn main() {}
