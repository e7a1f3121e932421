mod on_a_closure {
    use retry_runtime::retry;

    fn mistake() {
        let _ = #[retry(attempts = 3)]
        || "7".parse::<u32>();
    }
}

mod on_a_statement {
    use retry_runtime::retry;

    fn mistake() {
        #[retry(attempts = 3)]
        let _ = "7".parse::<u32>();
    }
}

fn main() {}
