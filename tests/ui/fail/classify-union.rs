use retry_runtime::Classify;

#[derive(Classify)]
union Failure {
    code: u16,
    number: i16,
}

fn main() {}
