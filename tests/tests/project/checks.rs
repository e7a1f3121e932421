//! `.ci/run` refuses what it does not know and what it cannot run, instead of leaving it out.
#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use super::root;

/// The programs that the script itself calls.
const PROGRAMS: [&str; 14] = [
    "awk", "bash", "basename", "cat", "dirname", "grep", "head", "mkdir", "mktemp", "rm", "sed",
    "sort", "touch", "uname",
];

/// A folder with these programs and a `cargo` that does nothing: no step that needs more can run.
fn few_programs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = std::env::var_os("PATH").expect("a path");
    for program in PROGRAMS {
        let mut places = std::env::split_paths(&path).map(|place| place.join(program));
        let place = places.find(|place| place.is_file()).expect(program);
        symlink(place, folder.path().join(program)).expect("a link");
    }
    let cargo = folder.path().join("cargo");
    std::fs::write(&cargo, "#!/usr/bin/env bash\n").expect("a script");
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).expect("executable");
    folder
}

fn run(programs: &Path, arguments: &[&str]) -> Output {
    Command::new("bash")
        .arg(root().join(".ci/run"))
        .args(arguments)
        .env("PATH", programs)
        .env_remove("CI")
        .output()
        .expect("bash runs")
}

#[track_caller]
fn assert_refused(output: &Output, texts: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for text in texts {
        assert!(message.contains(text), "no {text} in:\n{message}");
    }
}

#[test]
fn unknown_steps_crates_and_options_are_refused() {
    let programs = few_programs();
    let run = |arguments: &[&str]| run(programs.path(), arguments);
    assert_refused(&run(&["format", "lowset"]), &["there is no step `lowset`", ".ci/run --list"]);
    assert_refused(
        &run(&["-p", "retry", "features"]),
        &["there is no crate `retry`", "retry-rules"],
    );
    assert_refused(&run(&["-p"]), &["-p needs the name of a crate"]);
    assert_refused(
        &run(&["--alow-skips"]),
        &["there is no option `--alow-skips`", "--allow-skips"],
    );
    let listed = run(&["--list"]);
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.contains("\nlowest "), "{listed}");
    assert!(listed.contains("needs postgres pgbouncer"), "{listed}");
}

#[test]
fn a_missing_program_is_an_error_unless_skips_are_allowed() {
    let programs = few_programs();
    let missing = run(programs.path(), &["prometheus", "format"]);
    let texts =
        ["missing: promtool, for: prometheus", "apt-get install prometheus", "--allow-skips"];
    assert_refused(&missing, &texts);
    let printed = String::from_utf8_lossy(&missing.stdout);
    assert!(!printed.contains("cargo fmt"), "a step has run:\n{printed}");

    let skipped = run(programs.path(), &["--allow-skips", "prometheus", "format"]);
    let printed = String::from_utf8_lossy(&skipped.stdout);
    assert!(skipped.status.success(), "{printed}");
    assert!(printed.contains("\n=== cargo fmt --all --check\n"), "{printed}");
    let (_, end) = printed.split_once("but this was skipped:").expect("a list of skips");
    assert!(end.contains("need promtool (apt-get install prometheus)"), "{printed}");

    // With everything that it needs, it runs whole.
    let complete = run(programs.path(), &["format"]);
    let printed = String::from_utf8_lossy(&complete.stdout);
    assert!(printed.contains("all passed, and nothing was skipped"), "{printed}");
}

#[test]
fn a_failed_step_ends_the_run_and_is_named() {
    let programs = few_programs();
    let cargo = "#!/usr/bin/env bash\n[[ \"$*\" != *benches* ]]\n";
    std::fs::write(programs.path().join("cargo"), cargo).expect("a script");
    let failed = run(programs.path(), &["format", "docs"]);
    let message = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{message}");
    assert!(message.contains("failed: format (again: .ci/run format)"), "{message}");
    let printed = String::from_utf8_lossy(&failed.stdout);
    assert!(!printed.contains("cargo doc") && !printed.contains("service"), "{printed}");
}
