//! What the compiler tells those who made a mistake, word for word.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p retry-tests-ui`,
//! and then read what was written, as the person who made the mistake.

use trybuild::TestCases;

/// All of them are checked in one go, as long as none of them is to compile.
#[test]
fn mistakes() {
    TestCases::new().compile_fail("fail/*.rs");
}

/// Some constants are evaluated where code is generated, which a check does not do.
/// With a case that passes trybuild builds, and each case by itself: these take seconds
/// each, so that only those are here which need it.
#[test]
fn mistakes_that_a_check_does_not_meet() {
    let cases = TestCases::new();
    cases.pass("codegen/pass/*.rs");
    cases.compile_fail("codegen/fail/*.rs");
}
