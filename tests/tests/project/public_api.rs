//! The public API of the crates that users depend on, item by item, in `tests/data/public-api`: a
//! change of the API changes a file, which shows up in review.
//!
//! With all features enabled, and without items that are hidden in the documentation. After an
//! intended change: `UPDATE_PUBLIC_API=1 cargo test -p retry-tests --test project -- --ignored
//! public_api`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use public_api::{Builder, PublicItem};

/// Where rustdoc writes its JSON: a separate target folder, because the variable below causes some
/// crates to be recompiled.
const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/public-api");

/// Auto traits on which callers do not rely by name.
const NOISE: [&str; 5] = ["Freeze", "Unpin", "UnsafeUnpin", "UnwindSafe", "RefUnwindSafe"];

fn rustdoc_json(package: &str) -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["rustdoc", "--quiet", "--package", package, "--lib", "--all-features"])
        .args(["--target-dir", TARGET, "--", "-Zunstable-options", "--output-format", "json"])
        .args(["--cap-lints", "allow"])
        // The JSON format is unstable, but the toolchain is pinned.
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTDOCFLAGS")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.expect("cargo runs").success(), "the documentation of {package}");
    Path::new(TARGET).join("doc").join(package.replace('-', "_")).with_extension("json")
}

fn surface(package: &str) -> String {
    let api = Builder::from_rustdoc_json(rustdoc_json(package))
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

fn compare(package: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data/public-api")
        .join(package)
        .with_extension("txt");
    let now = surface(package);
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
    compare("retry-rules");
    compare("retry-runtime");
    compare("retry-workflow");
    compare("retry-workflow-postgres");
    compare("retry-fleet");
    compare("retry-board");
}
