//! The compiler's messages about mistakes, word for word.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p retry-tests-ui`,
//! and then read what was written, as the person who made the mistake.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use trybuild::TestCases;

/// Where cargo keeps what it builds on the way.
const BUILD_DIR: &str = "CARGO_BUILD_BUILD_DIR";
/// What trybuild passes to the compiler for the cases. For the crates that these need, it leaves out the
/// last one, so that cargo would check all of them twice. These go before what it passes.
const FLAGS: (&str, &str) = (
    "CARGO_ENCODED_RUSTFLAGS",
    "--cfg\x1ftrybuild\x1f--verbose\x1f-A\x1fdead_code\x1f--diagnostic-width=140",
);

/// All of them are checked in one go, as long as none of them is to compile. trybuild checks crates once
/// more for them, in a folder of its own; the macros are those that the tests have built, as the folder
/// for what is built on the way is theirs. It is read from the environment, and so by another process.
#[test]
fn mistakes() {
    if env::var_os(BUILD_DIR).is_some() {
        return TestCases::new().compile_fail("fail/*.rs");
    }
    let status = Command::new(env::current_exe().expect("a test knows where it is"))
        .args(["mistakes", "--exact", "--nocapture"])
        .args(env::args().filter(|arg| arg.starts_with("trybuild=")))
        .env(BUILD_DIR, target())
        .env(FLAGS.0, FLAGS.1)
        .status()
        .expect("the tests run");
    assert!(status.success(), "what the compiler says is shown above");
}

/// A module that compiles would not be noticed beside those that do not.
#[test]
fn each_module_has_a_message() {
    let mut silent = Vec::new();
    for file in fs::read_dir("fail").expect("the cases") {
        let path = file.expect("a file").path();
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        let source = fs::read_to_string(&path).expect("a text");
        if !is_code || !source.starts_with("mod ") {
            continue;
        }
        let said = fs::read_to_string(path.with_extension("stderr")).expect("messages");
        let place = format!("--> {}:", path.display());
        let lines: Vec<usize> = said
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix(&place)?.split(':').next())
            .map(|line| line.parse().expect("a line"))
            .collect();
        let mut start = (0, "");
        for (line, text) in (1..).zip(source.lines()) {
            if text.starts_with("mod ") {
                start = (line, text);
            } else if text == "}" && !lines.iter().any(|at| (start.0..line).contains(at)) {
                silent.push(format!("{}: {}", path.display(), start.1));
            }
        }
    }
    assert!(silent.is_empty(), "the compiler says nothing about {silent:#?}");
}

/// Some constants are evaluated where code is generated, which a check does not do, and some errors are
/// those of large crates. trybuild would build all that again; as examples they use what the tests have
/// built. They are valid unless the environment asks for the mistake.
#[test]
fn mistakes_with_what_the_tests_have_built() {
    for case in [
        "policy-invalid-by-override-in-generic-fn",
        "timeout-and-errors-of-other-crates",
        "timeout-on-sync-fn-by-policy-of-self",
    ] {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--workspace", "--color", "never", "--example", case])
            .arg("--target-dir")
            .arg(target())
            .env("RETRY_TEST_MISTAKE", "1")
            .output()
            .expect("cargo runs");
        assert!(!built.status.success(), "{case} compiles");
        let said = String::from_utf8(built.stderr).expect("a text");
        let (said, _) = said.split_once("\nFor more information about").expect("a code's number");

        let expected = Path::new("built").join(case).with_extension("stderr");
        if env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite") {
            fs::write(expected, said).expect("written");
        } else {
            assert_eq!(said, fs::read_to_string(expected).expect("the words"), "{case}");
        }
    }
}

/// The folder of what the tests have built.
fn target() -> PathBuf {
    let tests = env::current_exe().expect("a test knows where it is");
    tests.ancestors().nth(3).expect("target/debug/deps/ui").to_owned()
}
