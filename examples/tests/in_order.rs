//! What an example prints, by the lines that matter.

/// Whether these texts stand in the output, one after another.
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
