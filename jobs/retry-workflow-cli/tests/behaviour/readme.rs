//! Runs the job of the README as written: each command prints what the README shows.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command of the README, and its output there.
struct Shown {
    command: String,
    output: String,
}

/// The `console` blocks.
fn shown(readme: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                all.push(Shown { command: command.to_owned(), output: String::new() });
            } else if let Some(last) = all.last_mut() {
                last.output.push_str(line);
                last.output.push('\n');
            }
        }
    }
    all
}

/// The output without what differs from run to run: times, and the column widths that depend on
/// them.
fn folded(output: &str) -> String {
    let words = output.split_whitespace().map(|word| {
        let word = word.trim_end_matches([',', ';', ':']);
        let is_time = word.starts_with(|c: char| c.is_ascii_digit())
            && (["ms", "us", "µs", "s", "m", "Z"].iter().any(|unit| word.ends_with(unit))
                || word.chars().all(|c| c.is_ascii_digit() || c == '-') && word.contains('-'));
        // A worker: `31912-660c3cf219324-0`.
        let is_worker =
            word.split('-').count() == 3 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if is_time || is_worker { "…" } else { word }
    });
    let mut words: Vec<&str> = words.collect();
    words.dedup_by(|one, other| one == other && *one == "…");
    words.join(" ")
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("the folder of the example") {
        let entry = entry.expect("a file of it");
        let name = entry.file_name();
        let is_left_over = [".busy", "imported.txt"].iter().any(|left| name == *left)
            || name.to_string_lossy().starts_with("retry-workflow.db");
        if !is_left_over {
            fs::copy(entry.path(), to.join(name)).expect("it is copied");
        }
    }
}

#[test]
fn each_command_prints_the_output_in_the_readme() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(package.join("README.md")).expect("the README");
    let folder = tempfile::tempdir().expect("a folder");
    copy(&package.join("../../examples/jobs/import"), folder.path());
    let file = fs::read_to_string(folder.path().join("import.yml")).expect("the workflow");
    let (_comment, file) = file.split_once('\n').expect("a comment");
    assert!(readme.contains(&format!("```yaml\n{file}```")), "the README shows another file");

    let binaries = Path::new(env!("CARGO_BIN_EXE_retry-workflow")).parent().expect("its folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        std::iter::once(binaries.to_owned()).chain(std::env::split_paths(&path)),
    )
    .expect("a path of paths");
    let shown = shown(&readme);
    assert!(shown.len() >= 8, "the README shows few commands: {}", shown.len());
    let mut last = 0;
    for Shown { command, output } in shown {
        let printed = if command == "echo $?" {
            format!("{last}\n")
        } else {
            let ended = Command::new("sh")
                .args(["-c", &command])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("COLUMNS", "100")
                .env_remove("RETRY_WORKFLOW_STORE")
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
                .expect("a shell");
            last = ended.status.code().unwrap_or(-1);
            String::from_utf8(ended.stdout).expect("text")
        };
        assert_eq!(
            folded(&printed),
            folded(&output),
            "\n$ {command}\nprints\n{printed}\nand the README shows\n{output}"
        );
    }
}

#[test]
fn the_lines_for_each_night_run_a_job_once_and_then_report_its_end() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(package.join("README.md")).expect("the README");
    let lines: Vec<_> = readme.lines().filter(|line| line.contains("--store /srv/shop")).collect();
    assert_eq!(lines.len(), 2, "one for cron, one for systemd: {lines:?}");
    for line in lines {
        let folder = tempfile::tempdir().expect("a folder");
        copy(&package.join("../../examples/jobs/import"), folder.path());
        let (_, command) = line.split_once("/usr/local/bin/").expect("an absolute path");
        let command = command
            .trim_end_matches('\'')
            .replace("retry-workflow --", &format!("{} --", env!("CARGO_BIN_EXE_retry-workflow")))
            .replace("/srv/shop/", "")
            // The escapes of cron and of systemd.
            .replace("\\%", "%")
            .replace("%%", "%")
            .replace("$$", "$");
        for is_first in [true, false] {
            let mut shell = Command::new("sh");
            let ended = shell.args(["-c", &command]).current_dir(folder.path()).output();
            let ended = ended.expect("a shell");
            let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
            assert_eq!(ended.status.code(), Some(3), "{command}: {ended:?}");
            assert!(printed.contains("3 dead letters"), "{printed}");
            assert_eq!(printed.contains("nothing to resume"), !is_first, "{printed}");
            assert!(printed.contains("import-20"), "the id has the date: {printed}");
        }
    }
}
