//! The dependencies of this project: licences and sources, checked against the lists in
//! `deny.toml`. `cargo deny` checks more (advisories, duplicates), but has to be installed; this
//! runs wherever the tests run.

use std::process::Command;

use super::root;

/// Cargo's name of the public registry, for any host.
const REGISTRY: &str = "/crates.io-index";

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).expect("a file of this project")
}

/// The entries of `allow = [ … ]` under `[licenses]`.
fn allowed(deny: &str) -> Vec<&str> {
    let (_, licenses) = deny.split_once("\n[licenses]\n").expect("a section of licences");
    let (_, list) = licenses.split_once("\nallow = [\n").expect("a list of licences");
    let (list, _) = list.split_once("\n]\n").expect("an end of the list");
    let entries = list.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    entries.map(|line| line.trim_end_matches(',').trim_matches('"')).collect()
}

/// Returns `true` if the allowed licences satisfy an SPDX expression.
fn is_met(expression: &str, allowed: &[&str]) -> bool {
    /// `OR` has the lowest precedence, then `AND`; `/` is what people wrote for `OR` before SPDX.
    fn either<'a>(
        words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
        allowed: &[&str],
    ) -> bool {
        let mut met = both(words, allowed);
        while words.next_if(|word| matches!(*word, "OR" | "/")).is_some() {
            met |= both(words, allowed);
        }
        met
    }
    fn both<'a>(
        words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
        allowed: &[&str],
    ) -> bool {
        let mut met = one(words, allowed);
        while words.next_if_eq(&"AND").is_some() {
            met &= one(words, allowed);
        }
        met
    }
    fn one<'a>(
        words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
        allowed: &[&str],
    ) -> bool {
        match words.next() {
            Some("(") => {
                let met = either(words, allowed);
                words.next_if_eq(&")").is_some() && met
            }
            Some(license) => {
                // With an exception, it is a different licence, which would have to be listed as
                // such.
                let exception = words.next_if_eq(&"WITH").and_then(|_| words.next());
                exception.is_none() && allowed.contains(&license)
            }
            None => false,
        }
    }

    let spaced = ["(", ")", "/"]
        .iter()
        .fold(expression.to_owned(), |text, mark| text.replace(mark, &format!(" {mark} ")));
    let mut words = spaced.split_whitespace().peekable();
    either(&mut words, allowed) && words.next().is_none()
}

/// Cargo's metadata of this workspace: of everything, or, if it cannot fetch the dependencies of
/// other platforms and features, of the crates that are built here.
pub(crate) fn metadata(everything: bool) -> serde_json::Value {
    let metadata = |arguments: &[&str]| {
        Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(arguments)
            .current_dir(root())
            .output()
            .expect("cargo runs")
    };
    let everything = everything.then(|| metadata(&["--all-features"]));
    let output = everything.filter(|output| output.status.success()).unwrap_or_else(|| {
        let rustc = Command::new("rustc").arg("-vV").output().expect("rustc runs");
        let version = String::from_utf8(rustc.stdout).expect("text");
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
        metadata(&["--offline", "--filter-platform", host])
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn packages() -> Vec<serde_json::Value> {
    metadata(true)["packages"].as_array().expect("a list").clone()
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let deny = read("deny.toml");
    let allowed = allowed(&deny);
    assert!(allowed.contains(&"MIT"), "{allowed:?}");
    let packages = packages();
    assert!(packages.len() > 20, "they are more than {}", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|text| is_met(text, &allowed)))
        .map(|package| {
            format!("{} {}: {}", package["name"], package["version"], package["license"])
        })
        .collect();
    assert!(refused.is_empty(), "not among the licences in deny.toml:\n{}", refused.join("\n"));
}

#[test]
fn every_dependency_comes_from_the_registry() {
    // Separate workspaces have lock files of their own.
    let locks = ["Cargo.lock", "fuzz/Cargo.lock", "benches/Cargo.lock"];
    for lock in locks.into_iter().filter(|lock| root().join(lock).exists()) {
        for line in read(lock).lines() {
            if let Some(source) = line.strip_prefix("source = ") {
                let source = source.trim_matches('"');
                let is_public = source.starts_with("registry+") && source.ends_with(REGISTRY);
                assert!(is_public, "{source} in {lock}");
            }
        }
    }
}

#[test]
fn every_package_without_a_source_is_one_of_ours() {
    let lock = read("Cargo.lock");
    let ours =
        lock.split("\n[[package]]\n").skip(1).filter(|package| !package.contains("\nsource = "));
    for package in ours {
        let name = package.lines().next().unwrap_or_default();
        let is_ours = name.starts_with("name = \"retry-") || name == "name = \"quickstart\"";
        assert!(is_ours, "{name}");
    }
}

#[test]
fn licence_expressions_follow_spdx() {
    let allowed = ["MIT", "Apache-2.0", "BSD-3-Clause"];
    for met in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/GPL-3.0",
        "(MIT OR GPL-3.0) AND BSD-3-Clause",
        "GPL-3.0 AND Zlib OR MIT",
        "Apache-2.0 WITH LLVM-exception OR MIT",
    ] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "MIT AND (GPL-3.0 OR Zlib)",
        "Apache-2.0 WITH LLVM-exception",
        "(MIT",
        "MIT GPL-3.0",
    ] {
        assert!(!is_met(refused, &allowed), "{refused}");
    }
}

/// The `rust-version` of the manifest in a folder, or of the workspace.
fn stated_rust(folder: &str) -> String {
    let stated = |manifest: &str| {
        let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let own = stated(&read(&format!("{folder}/Cargo.toml")));
    own.or_else(|| stated(&read("Cargo.toml"))).expect("a version of Rust")
}

#[test]
fn the_rust_that_pages_state_is_the_one_of_the_manifests() {
    let (core, jobs) = (stated_rust("retry-runtime"), stated_rust("jobs/retry-workflow"));
    for folder in crate::plan::CRATES {
        let expected = if folder.starts_with("jobs/") { &jobs } else { &core };
        assert_eq!(stated_rust(folder), *expected, "{folder}");
    }
    let both = format!("Rust {core} (jobs: {jobs};");
    for page in ["README.md", "CONTRIBUTING.md"] {
        assert!(read(page).contains(&both), "{page} says \"{both}\"");
    }
    for (page, rust) in
        [("jobs/retry-workflow/README.md", &jobs), ("retry-runtime/README.md", &core)]
    {
        assert!(read(page).contains(&format!("Rust {rust} or newer")), "{page}");
    }
}

#[test]
fn only_the_store_in_sqlite_links_sqlite() {
    for (package, links) in
        [("retry-board", false), ("retry-workflow-postgres", false), ("retry-workflow", true)]
    {
        let output = std::process::Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "--edges=normal,build",
                "--prefix=none",
                "--package",
                package,
            ])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).expect("a text");
        assert_eq!(tree.contains("libsqlite3-sys "), links, "{package}:\n{tree}");
    }
}
