//! The compiler's messages about mistakes, word for word.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p retry-tests-ui`,
//! and then read what was written, as the person who made the mistake.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use trybuild::TestCases;

/// All of them are checked in one go, as long as none of them is to compile.
#[test]
fn mistakes() {
    TestCases::new().compile_fail("fail/*.rs");
}

/// Some constants are evaluated where code is generated, which a check does not do. trybuild would
/// build the runtime again for them; as examples they use what the tests have built. They are valid
/// unless the environment asks for the mistake.
#[test]
fn mistakes_that_a_check_does_not_meet() {
    let tests = env::current_exe().expect("a test knows where it is");
    let target = tests.ancestors().nth(3).expect("target/debug/deps/ui");
    for case in ["policy-invalid-by-override-in-generic-fn", "timeout-on-sync-fn-by-policy-of-self"]
    {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--workspace", "--color", "never", "--example", case])
            .arg("--target-dir")
            .arg(target)
            .env("RETRY_TEST_MISTAKE", "1")
            .output()
            .expect("cargo runs");
        assert!(!built.status.success(), "{case} compiles");
        let said = String::from_utf8(built.stderr).expect("a text");
        let (said, _) = said.split_once("\nFor more information about").expect("a code's number");

        let expected = Path::new("codegen").join(case).with_extension("stderr");
        if env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite") {
            fs::write(expected, said).expect("written");
        } else {
            assert_eq!(said, fs::read_to_string(expected).expect("the words"), "{case}");
        }
    }
}
