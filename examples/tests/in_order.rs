//! Checks the output of an example for the lines that matter.

/// Asserts that these texts occur in the output, in this order.
#[track_caller]
pub(crate) fn assert_in_order(output: &str, texts: &[&str]) {
    let mut rest = output;
    for text in texts {
        let Some(at) = rest.find(text) else {
            panic!("no `{text}` in, or not in its place:\n{output}")
        };
        rest = &rest[at + text.len()..];
    }
}
