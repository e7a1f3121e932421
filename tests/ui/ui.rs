//! The compiler's messages about mistakes, word for word.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test --workspace --test ui`, and then read
//! what was written, as the person who made the mistake. `-- trybuild=NAME` runs the cases with this
//! in their names. Both are as with trybuild, which would check all dependencies once more: that takes
//! three times as long as the cases, which use what `cargo test --workspace` has built.

mod words;

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{LazyLock, Mutex};
use std::thread;

use words::{is_heading, words};

/// Crates that the cases use.
const CRATES: [&str; 9] = [
    "async_trait",
    "hyper",
    "lettre",
    "reqwest",
    "retry_runtime",
    "retry_workflow",
    "serde",
    "tokio_postgres",
    "tracing",
];

/// Both tests use the crates of one build.
static BUILT_CRATES: LazyLock<Vec<OsString>> = LazyLock::new(crates);

#[test]
fn mistakes() {
    check("fail", "metadata");
}

/// Some constants are evaluated where code is generated, which a check does not do.
#[test]
fn mistakes_that_a_check_does_not_meet() {
    check("codegen", "obj");
}

/// Compares the words about each file of a folder with those beside it.
fn check(folder: &str, emit: &str) {
    let chosen: Vec<_> =
        env::args().filter_map(|it| it.strip_prefix("trybuild=").map(str::to_owned)).collect();
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .filter(|path| {
            let name = path.to_string_lossy();
            chosen.is_empty() || chosen.iter().any(|part| name.contains(part))
        })
        .collect();
    cases.sort();
    assert!(!cases.is_empty() || !chosen.is_empty(), "no case is in {folder}");

    let crates = &*BUILT_CRATES;
    let said = compile_together(&cases, emit, crates);
    cases.retain(|case| {
        let recorded = fs::read_to_string(case.with_extension("stderr"));
        recorded.ok() != Some(words(&about(case, &said), &case.to_string_lossy()))
    });

    let waiting = Mutex::new(cases.into_iter());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = next(&waiting) {
                    let file = Path::new("tests/ui").join(&case);
                    let compiled = compiler(emit, crates).arg(file).output().expect("rustc runs");
                    if let Err(why) = as_recorded(&case, &compiled) {
                        println!("{}: {why}\n", case.display());
                        wrong.lock().expect("no panic").push(case);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} cases: {wrong:?}", wrong.len());
}

fn next(waiting: &Mutex<impl Iterator<Item = PathBuf>>) -> Option<PathBuf> {
    waiting.lock().expect("no panic").next()
}

/// Returns the options by which the compiler finds the crates. Their features are those of a test of
/// the whole workspace, also if only this package is tested: some words depend on them.
fn crates() -> Vec<OsString> {
    let tests = env::current_exe().expect("a test knows where it is");
    let target = tests.ancestors().nth(3).expect("target/debug/deps/ui");
    let built = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-run", "--test", "ui", "--message-format", "json"])
        .arg("--target-dir")
        .arg(target)
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    // Of the messages, only the names of files are needed.
    let messages = String::from_utf8(built.stdout).expect("a text");
    let mut options = Vec::new();
    for name in CRATES {
        let begin = format!("lib{name}-");
        let is_it = |path: &&str| {
            let file = Path::new(path);
            file.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&begin))
                && file.extension().is_some_and(|it| it == "rlib" || it == "so")
        };
        let files: BTreeSet<_> = messages.split('"').filter(is_it).collect();
        assert_eq!(files.len(), 1, "{name} was built as {files:?}");
        options.extend(
            files.iter().flat_map(|file| ["--extern".into(), format!("{name}={file}").into()]),
        );
    }
    let mut dependencies = OsString::from("dependency=");
    dependencies.push(target.join("debug/deps"));
    options.extend(["-L".into(), dependencies]);
    options
}

/// The compiler, in the folder in which cargo compiles the libraries, so that messages show their code.
fn compiler(emit: &str, crates: &[OsString]) -> Command {
    // Cargo's neighbour: a `rustc` of rustup would look up the toolchain for each case.
    let mut compiler = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
    compiler
        .current_dir("../..")
        .args(["--edition=2024", "--crate-type=bin", "--crate-name=case", "--verbose"])
        .args(["-Adead_code", "--color=never", "--diagnostic-width=140", "--emit", emit])
        .args(["--out-dir", env!("CARGO_TARGET_TMPDIR")])
        .args(crates)
        // For the compiler, a sign of cargo: it proposes `cargo add`.
        .env("CARGO_CRATE_NAME", "case");
    compiler
}

/// Compiles all cases as modules of one program, in a fifth of the time.
///
/// Most messages are the same there. Others are not: the compiler lists what other modules implement
/// as well, and leaves out checks that come after an error. These cases are compiled alone.
fn compile_together(cases: &[PathBuf], emit: &str, crates: &[OsString]) -> String {
    let mut program = String::from("fn main() {}\n");
    for (number, case) in cases.iter().enumerate() {
        writeln!(program, "#[path = \"tests/ui/{}\"] mod m{number};", case.display())
            .expect("a String takes any text");
    }
    // From standard input, the compiler looks for modules in its folder.
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{emit}.rs"));
    fs::write(&file, program).expect("written");
    let input = File::open(file).expect("it has been written");
    let compiled = compiler(emit, crates).arg("-").stdin(input).output().expect("rustc runs");
    String::from_utf8_lossy(&compiled.stderr).into_owned()
}

/// The messages in which a case is mentioned.
fn about(case: &Path, said: &str) -> String {
    let mention = format!("tests/ui/{}:", case.display());
    let lines: Vec<_> = said.lines().collect();
    let messages = lines.chunk_by(|_, next| !is_heading(next)).map(|lines| lines.join("\n"));
    messages.filter(|it| it.contains(&mention)).collect::<Vec<_>>().join("\n")
}

/// Compares the words with those beside a case, or writes them there.
fn as_recorded(case: &Path, compiled: &Output) -> Result<(), String> {
    if compiled.status.success() {
        return Err("it compiles".into());
    }
    let said = String::from_utf8_lossy(&compiled.stderr);
    let said = words(&said, &case.to_string_lossy());
    let file = case.with_extension("stderr");
    if env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite") {
        return fs::write(file, said).map_err(|error| error.to_string());
    }
    match fs::read_to_string(file) {
        Ok(expected) if expected == said => Ok(()),
        Ok(expected) => Err(format!("expected:\n{expected}\nthe compiler's words:\n{said}")),
        Err(error) => Err(format!("the file of its words: {error}. They are:\n{said}")),
    }
}
