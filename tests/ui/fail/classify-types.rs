mod classify_field_that_reveals_nothing {
    use std::fmt;

    use retry_runtime::Classify;

    struct Mute;

    #[derive(Classify)]
    enum Failure {
        #[classify(transparent)]
        Inner(Mute),
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_status_of_wrong_type {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(status = code)]
        Refused { code: String },
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }

    // cured 8: #[classify(status = code)] => {}
    // cured 8: => impl Failure { fn judge(&self) -> Class { Class::NETWORK } }
}

mod classify_wait_of_wrong_type {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(rate_limit, retry_after = 0)]
        Full(u64),
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_with_wrong_result {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    #[classify(with = Self::is_transient)]
    struct Failure;

    impl Failure {
        fn is_transient(&self) -> bool {
            true
        }
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

fn main() {}
