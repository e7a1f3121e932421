use std::fmt;

use retry_runtime::Classify;

struct Mute;

#[derive(Classify)]
#[classify(transparent)]
struct Failure<T>(T);

fn kind(failure: &Failure<Mute>) -> retry_runtime::Class {
    failure.class()
}

impl<T> fmt::Display for Failure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
