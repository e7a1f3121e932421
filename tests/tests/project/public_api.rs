//! The public API of the crates that users depend on, item by item, in `tests/data/public-api`: a
//! change of the API changes a file, which shows up in review.
//!
//! With all features enabled, and without items that are hidden in the documentation. After an
//! intended change: `UPDATE_PUBLIC_API=1 cargo test -p retry-tests --test project -- --ignored
//! public_api`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use public_api::{Builder, PublicItem};

const PACKAGES: [&str; 6] = [
    "retry-rules",
    "retry-runtime",
    "retry-fleet",
    "retry-workflow",
    "retry-workflow-postgres",
    "retry-board",
];

/// Auto traits on which callers do not rely by name.
const NOISE: [&str; 5] = ["Freeze", "Unpin", "UnsafeUnpin", "UnwindSafe", "RefUnwindSafe"];

/// Writes what rustdoc knows of all packages as JSON, and returns the folder. It is unstable, but the
/// toolchain is pinned; only rustdoc itself is told so, because some crates would be compiled anew.
fn rustdoc_json() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The folder in which everything is compiled already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let status = Command::new(env!("CARGO"))
        .args(["doc", "--quiet", "--workspace", "--lib", "--no-deps", "--all-features"])
        .arg("--target-dir")
        .arg(target)
        .env("RUSTDOC", tests.join("data/public-api/rustdoc.sh"))
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format json --cap-lints allow")
        .env_remove("RUSTFLAGS")
        .current_dir(tests)
        .status();
    assert!(status.expect("cargo runs").success(), "the documentation");
    target.join("doc")
}

fn surface(package: &str, folder: &Path) -> String {
    let json = folder.join(package.replace('-', "_")).with_extension("json");
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .build()
        .expect("a JSON of the format that `public-api` reads: see tests/Cargo.toml");
    let is_noise = |line: &str| {
        line.starts_with("impl")
            && NOISE.iter().any(|name| {
                line.split(" for ").next().is_some_and(|head| head.ends_with(&format!("::{name}")))
            })
    };
    let lines = api.items().map(PublicItem::to_string).filter(|line| !is_noise(line));
    lines.map(|line| line + "\n").collect()
}

/// The lines that occur in only one of the two.
fn difference(before: &str, now: &str) -> String {
    let lines = |text: &'_ str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (before, now) = (lines(before), lines(now));
    let gone = before.difference(&now).map(|line| format!("- {line}\n"));
    gone.chain(now.difference(&before).map(|line| format!("+ {line}\n"))).collect()
}

fn compare(package: &str, folder: &Path) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data/public-api")
        .join(package)
        .with_extension("txt");
    let now = surface(package, folder);
    if std::env::var_os("UPDATE_PUBLIC_API").is_some() {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder");
        std::fs::write(&file, now).expect("the file is written");
        return;
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        before == now,
        "the public surface of {package} has changed:\n{}\nIf that is meant, write it down by\n\
         UPDATE_PUBLIC_API=1 cargo test -p retry-tests --test project -- --ignored public_api",
        difference(&before, &now),
    );
}

#[test]
#[ignore = "compiles all optional dependencies: a step of `.ci/run`"]
fn the_surface_is_the_one_that_is_written_down() {
    let folder = rustdoc_json();
    for package in PACKAGES {
        compare(package, &folder);
    }
}

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

/// The versions of the dependencies of each package, as its manifest requires them.
fn required_versions() -> BTreeMap<(String, String), String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let packages = metadata["packages"].as_array().expect("a list");
    let versions = packages.iter().flat_map(|package| {
        let dependencies = package["dependencies"].as_array().expect("a list");
        dependencies.iter().filter(|dependency| dependency["kind"].is_null()).map(|dependency| {
            let version = text(&dependency["req"]).trim_start_matches('^').to_owned();
            ((text(&package["name"]), text(&dependency["name"]).replace('-', "_")), version)
        })
    });
    versions.collect()
}

#[test]
fn the_foreign_crates_in_it_are_listed_for_contributors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let versions = required_versions();
    let mut expected = Vec::new();
    for package in PACKAGES {
        let file = folder.join("data/public-api").join(package).with_extension("txt");
        let surface = std::fs::read_to_string(file).expect("the file");
        for foreign in foreign_crates(&surface) {
            let key = (package.to_owned(), foreign.to_owned());
            let version = versions.get(&key).map_or("not a dependency", String::as_str);
            expected.push(format!("| `{package}` | `{foreign}` {version} |"));
        }
    }
    let page = std::fs::read_to_string(folder.join("../CONTRIBUTING.md")).expect("the page");
    let listed = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let is_row = line.starts_with("| `retry-") && cells.len() == 3 && cells[1].contains("` ");
        is_row.then(|| format!("{} | {} |", cells[0], cells[1]))
    });
    assert_eq!(listed.collect::<Vec<_>>(), expected, "the table of CONTRIBUTING.md");
}
