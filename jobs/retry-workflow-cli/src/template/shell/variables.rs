//! The variables that must not be set to a value: a shell or the dynamic loader reads them as code,
//! or they change how the rest of the script is read.

/// Returns whether `bash` or `dash` treats this variable as more than text.
pub(crate) fn controls_shell(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "IFS",
        "PATH",
        "ENV",
        "PS4",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "POSIXLY_CORRECT",
        // Integer variables of `bash`, which evaluates assigned values as arithmetic.
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "OPTIND",
        "OPTERR",
        "HISTCMD",
    ];
    NAMES.contains(&name)
        || ["LD_", "DYLD_", "BASH", "EPOCH"].iter().any(|begin| name.starts_with(begin))
}

/// Returns whether this is a valid name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
