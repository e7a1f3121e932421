//! Workflow files in the forms that people write, each checked and run: `data/workflows`. The
//! comments at the top of a file say what its programs do and how they should be called:
//!
//! - `# run: 3`: the exit code; 0 by default
//! - `# file: NAME=TEXT`: a file in the folder
//! - `# fails: PROGRAM=N`: its first N calls fail; `# fails-on: PROGRAM=WORD`: calls with this word
//!   fail
//! - `# prints: PROGRAM=TEXT`
//! - `# call: PROGRAM ARGUMENTS`: all calls; for a `map` and a graph in any order

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::support::Place;

/// All programs are this script under different names.
const PROGRAM: &str = r#"
name=${0##*/}
state=${0%/*}
call="$name${*:+ $*}"
case $call in *'
'*) call=$(printf '%s' "$call" | tr '\n' ' ') ;; esac
printf '%s\n' "$call" >> "$state/calls"
fail() { echo "$name: no luck" >&2; exit 1; }
if [ -e "$state/$name.fails" ]; then
  read -r left < "$state/$name.fails"
  echo $((left - 1)) > "$state/$name.fails"
  [ "$left" -le 0 ] || fail
fi
if [ -e "$state/$name.fails-on" ]; then
  word=$(cat "$state/$name.fails-on")
  for argument; do [ "$argument" != "$word" ] || fail; done
fi
[ ! -e "$state/$name.prints" ] || cat "$state/$name.prints"
"#;

/// The values of a comment at the top of a file.
fn said<'a>(text: &'a str, what: &str) -> Vec<&'a str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(what));
    lines.map(|said| said.trim_start_matches(": ")).collect()
}

fn pairs<'a>(text: &'a str, what: &str) -> Vec<(&'a str, &'a str)> {
    let what = format!("{what}: ");
    said(text, &what).into_iter().map(|pair| pair.split_once('=').expect("NAME=VALUE")).collect()
}

/// Checks and runs a file; returns what went wrong.
fn failed(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut place = Place::with(&text);
    for (name, content) in pairs(&text, "file") {
        fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        place.write(name, &format!("{}\n", content.replace("\\n", "\n")));
    }
    let calls: Vec<_> = said(&text, "call: ");
    let acts = ["fails", "fails-on", "prints"].map(|what| (what, pairs(&text, what)));
    let acting = acts.iter().flat_map(|(_, acts)| acts.iter().map(|(name, _)| *name));
    let called = calls.iter().filter_map(|call| call.split(' ').next());
    for name in acting.chain(called).collect::<BTreeSet<_>>() {
        place = place.script(&format!("bin/{name}"), PROGRAM);
    }
    for (what, acts) in &acts {
        for (name, value) in acts {
            place.write(&format!("bin/{name}.{what}"), &format!("{value}\n"));
        }
    }
    let folders = std::env::var("PATH").unwrap();
    let path = format!("{}:{folders}", place.path("bin").display());
    let ran = |arguments: &[&str]| {
        let output = place.command(arguments).env("PATH", &path).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(told).unwrap())
    };
    let (code, told) = ran(&["check", "job.yml"]);
    if code != Some(0) {
        return Some(format!("check: {told}"));
    }
    let (code, told) = ran(&["run", "job.yml"]);
    let expected = said(&text, "run: ").first().map_or(0, |code| code.parse().unwrap());
    if code != Some(expected) {
        return Some(format!("exit code {code:?}, and not {expected}: {told}"));
    }
    let made = place.read("bin/calls");
    let mut made: Vec<_> = made.lines().collect();
    let mut calls = calls;
    if text.contains("\nmap:") || text.contains("\ntasks:") {
        made.sort_unstable();
        calls.sort_unstable();
    }
    (made != calls).then(|| format!("calls {made:#?}, and not {calls:#?}: {told}"))
}

#[test]
fn files_in_the_forms_that_people_write_are_checked_and_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/workflows");
    let files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 60, "the files are gone: {}", files.len());
    let next = AtomicUsize::new(0);
    let wrong: Vec<_> = std::thread::scope(|scope| {
        let work = || {
            let next = || files.get(next.fetch_add(1, Ordering::Relaxed));
            let wrong = std::iter::from_fn(next).filter_map(|path| Some((path, failed(path)?)));
            wrong.map(|(path, why)| format!("{}: {why}", path.display())).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
