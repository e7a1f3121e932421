//! The variables that a value must not be given to: a shell, or the loader of programs, reads
//! these as code, or changes how it reads what follows.

/// Whether `bash` or `dash` makes more of this variable than a text.
pub(crate) fn steers(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "IFS",
        "PATH",
        "ENV",
        "PS4",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "POSIXLY_CORRECT",
        // Numbers of `bash`, which reads what they are given as arithmetic.
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

/// Whether this is the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
