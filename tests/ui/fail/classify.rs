mod classify_as_a_value {
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
}

mod classify_conflict_and_timeout {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(conflict, timeout)]
        Locked,
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_empty {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    #[classify]
    struct Failure;

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_several_mistakes {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    #[classify(status = 0)]
    enum Failure {
        #[classify(network, network)]
        Lost,
        Refused,
        #[classify(transparent)]
        Empty,
        #[classify(crate = retry_runtime)]
        Renamed,
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_silent_variant {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(network)]
        Lost,
        Refused,
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_status_of_no_field {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(status = 503)]
        Unavailable(u16),
        #[classify(status = 505)]
        Unsupported(u16),
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_transient {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    #[classify(transient)]
    struct Failure;

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_transparent_among_several {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(transparent)]
        Read(std::io::Error, String),
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }

    // cured 7: transparent => {}
}

mod classify_two_decide {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(never, network)]
        Lost,
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_union {
    use retry_runtime::Classify;

    #[derive(Classify)]
    union Failure {
        code: u16,
        number: i16,
    }
}

mod classify_unknown_field {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(rate_limit, retry_after = delay)]
        Full { wait: std::time::Duration, queue: String },
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_unknown_word {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(permanent)]
        NotFound,
        #[classify(server_eror)]
        Broken,
        #[classify(retryable)]
        Busy,
        #[classify(abort)]
        Full,
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

mod classify_wait_without_kind {
    use std::fmt;

    use retry_runtime::Classify;

    #[derive(Classify)]
    enum Failure {
        #[classify(retry_after = wait)]
        Full { wait: std::time::Duration },
    }

    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
}

fn main() {}
