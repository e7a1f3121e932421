use retry_runtime::Classify;

#[derive(Debug, Classify)]
enum Failure {
    #[classify = "timeout"]
    Slow,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("slow")
    }
}

fn main() {}
