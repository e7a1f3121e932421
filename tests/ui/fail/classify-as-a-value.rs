use retry_runtime::Classify;

#[derive(Debug, Classify)]
enum Failure {
    #[classify = "timeout"]
    Slow,
}

fn main() {}
