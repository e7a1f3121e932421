//! The public API of the crates that users depend on, item by item, in `tests/data/public-api`: a
//! change of the API changes a file, which shows up in review.
//!
//! With all features enabled, and without items that are hidden in the documentation. After an
//! intended change: `UPDATE_PUBLIC_API=1 cargo test -p retry-tests --features public-api --test
//! public_api`. It compiles all optional dependencies, so it is a step of `.ci/run`.

use std::collections::BTreeSet;
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

/// Writes rustdoc's JSON of all packages, and returns the folder. It is unstable, but the toolchain
/// is pinned; the flag is set for rustdoc alone, because some crates would be compiled again.
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
         UPDATE_PUBLIC_API=1 cargo test -p retry-tests --features public-api --test public_api",
        difference(&before, &now),
    );
}

#[test]
fn the_surface_is_the_one_that_is_written_down() {
    let folder = rustdoc_json();
    for package in PACKAGES {
        compare(package, &folder);
    }
}
