//! Properties that hold for any text as a workflow file.

use retry_workflow_cli::WorkflowFile;

/// # Panics
/// If a property is violated.
pub(crate) fn check(text: &str) {
    let Err(error) = WorkflowFile::parse("job.yml", text) else { return };
    let told = error.to_string();
    assert!(told.starts_with("error: ") && told.contains("job.yml"), "{text}\n{told}");
    assert!(!told.contains('\u{1b}'), "{text}\nmoves a terminal's cursor:\n{told}");
    assert!(error.count() > 0, "{text}");
    for (place, message) in error.mistakes() {
        assert!(!message.is_empty(), "{text}");
        let Some((line, column)) = place else { continue };
        // The end of the file is a valid place too.
        assert!(line >= 1 && line <= text.lines().count() + 1, "{text}\n{line}:{column}");
        assert!(column >= 1, "{text}\n{line}:{column}");
    }
}
