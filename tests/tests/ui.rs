//! What the compiler tells those who made a mistake, word for word, and what
//! must compile.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p retry-tests
//! --test ui`, and then read what was written, as the person who made the mistake.

#[test]
fn ui() {
    let tests = trybuild::TestCases::new();
    // Not two functions: with a case that passes in the same project, cargo builds
    // and does not just check, and const blocks of generic functions are evaluated.
    tests.pass("tests/ui/pass/*.rs");
    tests.compile_fail("tests/ui/fail/*.rs");
}
