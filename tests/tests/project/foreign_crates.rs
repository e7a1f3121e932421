//! The crates of others in the public API are listed in docs/PUBLIC-API.md, with their versions.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::root;

/// The crates of others whose items occur in this public API.
fn foreign_crates(surface: &str) -> BTreeSet<&str> {
    let starts = surface.match_indices("::").filter_map(|(at, _)| {
        let head = &surface[..at];
        let start = head.rfind(|c: char| c != '_' && !c.is_ascii_alphanumeric())? + 1;
        let name = &head[start..];
        let is_first = !head[..start].ends_with("::") && !name.is_empty();
        let is_crate =
            name.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit());
        // The second is the type, in `impl PartialEq<Name> for str`.
        (is_first && is_crate && !["core", "alloc", "std", "str"].contains(&name)).then_some(name)
    });
    // Serde's traits are defined in a crate behind the one that is depended on.
    let starts = starts.map(|name| if name == "serde_core" { "serde" } else { name });
    starts.filter(|name| !name.starts_with("retry_")).collect()
}

/// The versions of the dependencies of each package, as its manifest requires them: there may be
/// two of one crate.
fn required_versions() -> BTreeMap<(String, String), Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let packages = metadata["packages"].as_array().expect("a list");
    let mut versions = BTreeMap::<_, Vec<_>>::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().expect("a list");
        for dependency in dependencies.iter().filter(|dependency| dependency["kind"].is_null()) {
            let key = (text(&package["name"]), text(&dependency["name"]).replace('-', "_"));
            let version = text(&dependency["req"]).trim_start_matches('^').to_owned();
            versions.entry(key).or_default().push(version);
        }
    }
    versions
}

/// The crates whose errors the runtime knows by type, from the rows that show their versions.
fn clients() -> BTreeSet<String> {
    let path = root().join("retry-runtime/src/classify/clients.rs");
    let rows = std::fs::read_to_string(path).expect("the rows");
    let types = rows.lines().filter(|line| line.trim_start().starts_with('"'));
    let names = types.flat_map(|line| line.split(" ::").skip(1));
    let names = names.filter_map(|path| path.split("::").next());
    // Of two versions, each has its own name.
    names
        .map(|name| name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()).into())
        .collect()
}

#[test]
fn foreign_crates_in_the_public_api_are_listed() {
    let (versions, clients) = (required_versions(), clients());
    let mut expected = BTreeSet::new();
    for file in std::fs::read_dir(root().join("tests/data/public-api")).expect("a folder") {
        let file = file.expect("a file").path();
        if file.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let package = file.file_stem().and_then(|name| name.to_str()).expect("a name");
        let surface = std::fs::read_to_string(&file).expect("a text");
        for foreign in foreign_crates(&surface) {
            if package == "retry-runtime" && clients.contains(foreign) {
                continue;
            }
            let key = (package.to_owned(), foreign.to_owned());
            let version = versions
                .get(&key)
                .map_or_else(|| "not a dependency".to_owned(), |versions| versions.join(", "));
            expected.insert(format!("| `{package}` | `{foreign}` {version} |"));
        }
    }
    let page = std::fs::read_to_string(root().join("docs/PUBLIC-API.md")).expect("the page");
    let listed = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let is_row = line.starts_with("| `retry-") && cells.len() == 3 && cells[1].contains("` ");
        is_row.then(|| format!("{} | {} |", cells[0], cells[1]))
    });
    assert_eq!(listed.collect::<BTreeSet<_>>(), expected, "the table of docs/PUBLIC-API.md");
}
