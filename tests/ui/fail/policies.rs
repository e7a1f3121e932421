mod policy_attempts_zero {
    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(attempts = 0);
}

mod policy_option_of_a_function {
    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(attempts = 5, on_failure = continue);
}

mod policy_two_mistakes {
    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(attempts = 0, jitter = 2.0);

    // remains: `attempts = 1` never retries
}

mod policy_unknown_option {
    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(attempts = 5, max_dealy = "30s");
}

fn main() {}
