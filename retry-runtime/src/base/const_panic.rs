//! The panic of a `const` constructor when its settings break a rule: at compile time for a
//! `static`, with the rule's own message.

use retry_rules::{Invalid, Rule};

#[track_caller]
pub(crate) const fn const_panic(invalid: Invalid) -> ! {
    let mut i = 0;
    while i < Rule::ALL.len() {
        assert!(!invalid.broken().contains(Rule::ALL[i]), "{}", Rule::ALL[i].message());
        i += 1;
    }
    panic!("these settings break a rule")
}
