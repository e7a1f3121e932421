use retry_runtime::retry;

fn main() {
    let _ = #[retry(attempts = 3)]
    || "7".parse::<u32>();
}
