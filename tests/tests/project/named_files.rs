//! Pages for contributors name what exists: files, packages, tests and steps of `.ci/run`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::documents::Page;
use super::root;

const PAGES: [&str; 5] = [
    "CONTRIBUTING.md",
    "docs/ARCHITECTURE.md",
    "docs/PUBLIC-API.md",
    "docs/RELEASING.md",
    "tests/README.md",
];

/// The contents of the project: paths from the root, packages with their folders, and the steps of
/// `.ci/run`.
#[derive(Default)]
struct Project {
    paths: BTreeSet<String>,
    packages: BTreeMap<String, PathBuf>,
    steps: BTreeSet<String>,
}

impl Project {
    fn read() -> Self {
        let mut project = Self::default();
        project.collect(Path::new(""));
        assert!(project.packages.contains_key("retry-macros"), "the packages are elsewhere");
        project.collect_steps();
        assert!(project.steps.contains("lint"), "the steps are elsewhere");
        project
    }

    fn collect_steps(&mut self) {
        for file in fs::read_dir(root().join(".ci/steps")).expect("the steps") {
            let script = fs::read_to_string(file.expect("a file").path()).expect("a script");
            let declared = script.lines().filter_map(|line| line.strip_prefix("declare_step "));
            let names = declared.filter_map(|line| line.split(' ').next());
            self.steps.extend(names.map(str::to_owned));
        }
    }

    fn collect(&mut self, folder: &Path) {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let entry = entry.expect("an entry of a folder");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            let path = folder.join(&name);
            if entry.file_type().expect("a type").is_dir() {
                if name != ".git" && name != "target" {
                    self.collect(&path);
                }
            } else if name == "Cargo.toml" {
                let manifest = fs::read_to_string(entry.path()).expect("a manifest");
                if let Some(name) = value(&manifest, "[package]", "name") {
                    self.packages.insert(name.to_owned(), folder.to_owned());
                }
            }
            self.paths.insert(path.into_os_string().into_string().expect("names are UTF-8"));
        }
    }

    /// Returns `true` if a path from the root, or the end of one, exists.
    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let end = format!("/{path}");
        self.paths.contains(path) || self.paths.iter().any(|known| known.ends_with(&end))
    }

    /// The first step in calls of `.ci/run` that does not exist.
    fn missing_step<'a>(&self, code: &'a str) -> Option<&'a str> {
        let calls = code.match_indices(".ci/run ").map(|(at, call)| &code[at + call.len()..]);
        let steps = calls.flat_map(|words| {
            let words = words.split(['#', '\n']).next().unwrap_or_default().split_whitespace();
            words.filter(|word| !word.starts_with('-'))
        });
        steps.into_iter().find(|step| !self.steps.contains(*step))
    }

    /// The targets of a cargo command that do not exist.
    fn missing<'a>(&self, command: &'a str) -> Option<&'a str> {
        let mut words = command.split_whitespace();
        let mut package = None;
        while let Some(word) = words.next() {
            let is_there = match word {
                "--" => break,
                "-p" => {
                    let name = words.clone().next()?;
                    package = self.packages.get(name);
                    package.is_some()
                }
                "--manifest-path" => self.paths.contains(words.clone().next()?),
                "--test" | "--example" => {
                    let (name, folder) = (words.clone().next()?, format!("{}s", &word[2..]));
                    package.is_none_or(|package| self.has_target(package, &folder, name))
                }
                _ => true,
            };
            if !is_there {
                return words.next();
            }
        }
        None
    }

    fn has_target(&self, package: &Path, folder: &str, name: &str) -> bool {
        let manifest = root().join(package).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).expect("a manifest");
        let target = format!("[[{}]]\nname = \"{name}\"", folder.trim_end_matches('s'));
        let path = package.join(folder).join(name);
        let path = path.to_str().expect("names are UTF-8");
        manifest.contains(&target)
            || self.paths.contains(&format!("{path}.rs"))
            || self.paths.contains(&format!("{path}/main.rs"))
    }
}

/// The text that a key has in a section of a manifest.
fn value<'a>(manifest: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let (_, section) = manifest.split_once(section)?;
    let line = section.lines().find(|line| line.starts_with(&format!("{key} = \"")))?;
    line.split('"').nth(1)
}

/// Returns `true` if it reads as a path of the project.
fn is_path(code: &str) -> bool {
    let is_plain = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
    let has_ending = [".rs", ".md", ".toml", ".json"].iter().any(|ending| code.ends_with(ending));
    let is_elsewhere = ["/", "..", "target/"].iter().any(|start| code.starts_with(start));
    is_plain && !is_elsewhere && (code.contains('/') || has_ending)
}

#[test]
fn files_and_commands_named_in_pages_for_contributors_exist() {
    let project = Project::read();
    let (mut mistakes, mut paths, mut commands) = (Vec::new(), 0, 0);
    for page in PAGES {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        for (line, code) in Page::read(&text).codes {
            let missing = if let Some(step) = project.missing_step(&code) {
                Some(step.to_owned())
            } else if code.contains("cargo ") {
                commands += 1;
                project.missing(&code).map(ToOwned::to_owned)
            } else if is_path(&code) {
                paths += 1;
                (!project.has(&code)).then_some(code)
            } else {
                continue;
            };
            mistakes.extend(missing.map(|what| format!("{page}:{line}: there is no {what}")));
        }
    }
    assert!(paths > 80 && commands > 10, "{paths} paths and {commands} commands are not all");
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}

#[test]
fn missing_files_and_commands_are_detected() {
    let project = Project::read();
    assert!(project.has("retry-rules/src/policy.rs") && project.has("rules/table.rs"));
    assert!(!project.has("rules/tables.rs") && !project.has("olicy.rs"));
    assert_eq!(project.missing_step(".ci/run --install lint docs # linted"), None);
    assert_eq!(project.missing_step("CI=1 .ci/run lint\n.ci/run lints"), Some("lints"));
    let missing = |command| project.missing(command);
    assert_eq!(missing("cargo test -p retry-tests --test project -- --ignored beside"), None);
    assert_eq!(missing("cargo test -p retry-tests --test projects"), Some("projects"));
    assert_eq!(missing("A=1 cargo run -p retry-examples --example pictures"), None);
    assert_eq!(missing("cargo test -p retry --test project"), Some("retry"));
    assert_eq!(missing("cargo run --manifest-path tests/Cargo.tom"), Some("tests/Cargo.tom"));
}
