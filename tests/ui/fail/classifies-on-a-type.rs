use retry_runtime::{Class, classifies};

#[classifies]
struct Failure(Class);

fn main() {}
