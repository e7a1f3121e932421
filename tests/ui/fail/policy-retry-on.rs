use retry_runtime::matchers::network;
use retry_runtime::Policy;

fn policy() -> Policy {
    Policy::new().attempts(5).retry_on([network])
}

fn main() {}
