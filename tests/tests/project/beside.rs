//! Jobs resolve in programs that bring SQLite by another crate: a program can hold one crate only
//! that links it.

use std::path::Path;
use std::process::Command;

/// Resolves a program with this dependency and `retry-workflow`, and returns the version of
/// rusqlite in it, if there is one.
fn rusqlite_beside(dependency: &str, features: &str) -> Result<Option<String>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jobs/retry-workflow");
    let manifest = format!(
        "[package]\nname = \"beside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         {dependency}\nretry-workflow = {{ path = \"{}\"{features} }}\n\n[workspace]\n",
        workflow.display()
    );
    std::fs::write(folder.path().join("Cargo.toml"), manifest).expect("a manifest");
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    std::fs::write(folder.path().join("src/lib.rs"), "").expect("a library");
    let output = Command::new(env!("CARGO"))
        .args(["generate-lockfile", "--quiet"])
        .current_dir(folder.path())
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let locked = std::fs::read_to_string(folder.path().join("Cargo.lock")).expect("a lock file");
    let Some((_, package)) = locked.split_once("name = \"rusqlite\"\nversion = \"") else {
        return Ok(None);
    };
    Ok(package.split('"').next().map(str::to_owned))
}

#[test]
#[ignore = "asks the registry: a step of `.ci/run`"]
fn jobs_resolve_beside_other_crates_that_bring_sqlite() {
    for dependency in [
        "sqlx = { version = \"0.9\", features = [\"runtime-tokio\", \"sqlite\"] }",
        "diesel = { version = \"2.3\", features = [\"sqlite\"] }",
        "rusqlite = \"0.40\"",
    ] {
        let version = rusqlite_beside(dependency, "").expect("a resolution");
        assert!(version.is_some(), "{dependency}");
    }
    // As the page says, older ones do not fit, and the store in SQLite can be left out.
    let older = "sqlx = { version = \"0.8\", features = [\"runtime-tokio\", \"sqlite\"] }";
    let error = rusqlite_beside(older, "").expect_err("two crates that link SQLite");
    assert!(error.contains("links to the native library `sqlite3`"), "{error}");
    assert_eq!(rusqlite_beside(older, ", default-features = false"), Ok(None));
}
