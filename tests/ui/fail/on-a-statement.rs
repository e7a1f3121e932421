use retry_runtime::retry;

fn main() {
    #[retry(attempts = 3)]
    let _ = "7".parse::<u32>();
}
