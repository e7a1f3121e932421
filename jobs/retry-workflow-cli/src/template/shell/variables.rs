//! The variables that must not be set to a value: a shell or the dynamic loader reads them as code,
//! or they change how the rest of the script is read.

use std::sync::LazyLock;

use regex::Regex;

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

/// Returns why a value must not be assigned to such a variable.
pub(super) fn controls_shell_message(name: &str) -> String {
    format!(
        "the shell does more with `{name}` than store a text: assign the value to another \
             variable"
    )
}

/// Returns whether this is a valid name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A script that may set variables in ways that its text does not show.
static SETS_OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    // A builtin that sets the variables whose names an argument inserts, as in `export $(cat .env)`.
    const SETS_INSERTED: &str =
        r#"(export|declare|typeset|readonly|local|read|printf\s+-v)\s([^;&|\n]*\s)?"?[$`]"#;

    let pattern = format!(r"(^|[\s;&|(){{}}])((\.|source|eval)\s|{SETS_INSERTED})");
    Regex::new(&pattern).expect("a pattern of ours")
});

/// Returns whether a script only inserts this variable, written `$NAME` or `${NAME}`: if the name
/// occurs in any other form, the script may set it, or handle that it is not set.
pub(super) fn only_inserted(name: &str, script: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_inserted = |(at, _): (usize, &str)| {
        let (before, after) = (&script[..at], &script[at + name.len()..]);
        let ends = !after.as_bytes().first().is_some_and(is_part);
        let is_other_name = !ends || before.as_bytes().last().is_some_and(is_part);
        is_other_name || before.ends_with('$') || before.ends_with("${") && after.starts_with('}')
    };
    !set_by_shell(name)
        && !SETS_OTHERS.is_match(script)
        && script.match_indices(name).all(is_inserted)
}

/// Returns whether `dash` or `bash` sets this variable by itself, or each command has it.
pub(crate) fn set_by_shell(name: &str) -> bool {
    const NAMES: [&str; 23] = [
        "COLUMNS",
        "DIRSTACK",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HOSTNAME",
        "HOSTTYPE",
        "LINES",
        "MACHTYPE",
        "MAPFILE",
        "OLDPWD",
        "OPTARG",
        "OSTYPE",
        "PIPESTATUS",
        "PPID",
        "PS1",
        "PS2",
        "PWD",
        "REPLY",
        "SHLVL",
        "TMPDIR",
        "UID",
        "_",
    ];
    NAMES.contains(&name) || name.starts_with("RETRY_WORKFLOW_") || controls_shell(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_sets_or_examines_a_variable_does_not_only_insert_it() {
        let inserts = |script: &str| only_inserted("NIGHT", script);
        for script in [
            "a-${NIGHT}",
            "${NIGHT} $NIGHT",
            "TO_NIGHT=1 NIGHTLY=2; x ${NIGHT}",
            "export DAY=$(date); export -p; x \"$DAY\" ${NIGHT}",
            "thread -x \"$DAY\"; printf '%s' \"$DAY\"; x ${NIGHT}",
        ] {
            assert!(inserts(script), "{script}");
        }
        for script in [
            "NIGHT=1; x ${NIGHT}",
            "for NIGHT in 1; do x ${NIGHT}; done",
            "read NIGHT; x ${NIGHT}",
            "x ${NIGHT:-1} ${NIGHT}",
            "[ -n \"${NIGHT+x}\" ] && x ${NIGHT}",
            ". ./night.sh; x ${NIGHT}",
            "cd a && source night.sh && x ${NIGHT}",
            "export $(grep -v '^#' .env | xargs); x ${NIGHT}",
            "set -a; export `cat .env`; x ${NIGHT}",
            "while read -r line; do export \"$line\"; done < .env; x ${NIGHT}",
            "declare -x -- \"${line}\" && x ${NIGHT}",
            "printf -v \"$name\" 1; x ${NIGHT}",
            "read -r $names < f; x ${NIGHT}",
        ] {
            assert!(!inserts(script), "{script}");
        }
        assert!(!only_inserted("PWD", "x ${PWD}") && !only_inserted("PATH", "x ${PATH}"));
    }
}
