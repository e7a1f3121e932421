//! The files for a release: `.ci/release`, the Dockerfile, and the archives of the command.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::root;

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).expect(file)
}

fn copy(path: &Path, to: &Path) {
    let target = to.join(path);
    fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
    fs::copy(root().join(path), target).expect("a file");
}

/// Copies the pages of a crate.
fn copy_pages(folder: &Path, to: &Path) {
    fs::create_dir_all(to.join(folder)).expect("a folder");
    for entry in fs::read_dir(root().join(folder)).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = folder.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_pages(&path, to);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            copy(&path, to);
        }
    }
}

/// Runs `.ci/release` in this copy of the project, and returns its output.
fn release(project: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("bash")
        .arg(".ci/release")
        .args(arguments)
        .current_dir(project)
        .output()
        .expect("bash runs");
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).expect("text"))
    } else {
        Err(String::from_utf8(output.stderr).expect("text"))
    }
}

#[test]
fn badges_and_links_are_filled_in_from_the_repository() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path();
    fs::create_dir_all(project.join(".github/ISSUE_TEMPLATE")).expect("a folder");
    for file in ["Cargo.toml", "CHANGELOG.md", "README.md", "SECURITY.md", ".ci/release"] {
        copy(Path::new(file), project);
    }
    for folder in crate::plan::CRATES.map(Path::new) {
        copy(&folder.join("README.md"), project);
        copy_pages(&folder.join("src"), project);
    }
    let manifest = read("Cargo.toml");
    let (before, rest) = manifest.split_once("\nrepository = \"").expect("a repository");
    let (_, after) = rest.split_once('"').expect("its end");
    let (between, rest) = after.split_once("\nsecurity-contact = \"").expect("a contact");
    let (_, after) = rest.split_once('"').expect("its end");
    let host_at = |address: &str, mail: &str| {
        let manifest = format!(
            "{before}\nrepository = \"{address}\"{between}\nsecurity-contact = \"{mail}\"{after}"
        );
        fs::write(project.join("Cargo.toml"), manifest).expect("a manifest");
    };
    let text = |file: &str| fs::read_to_string(project.join(file)).expect(file);

    let mail = "security@example.com";
    host_at("", mail);
    let error = release(project, &["fill"]).expect_err("no repository");
    assert!(error.contains("`repository` in Cargo.toml is empty"), "{error}");
    host_at("https://example.com/a#b", mail);
    let error = release(project, &["fill"]).expect_err("an address that sed would read");
    assert!(error.contains("write an address"), "{error}");
    host_at("https://git.example.com/old/retry", "");
    let error = release(project, &["fill"]).expect_err("no contact");
    assert!(error.contains("`security-contact` in Cargo.toml is empty"), "{error}");
    host_at("https://git.example.com/old/retry", "me");
    let error = release(project, &["fill"]).expect_err("no address of mail");
    assert!(error.contains("write an address such as security@example.com"), "{error}");
    let error = release(project, &["fil"]).expect_err("a misspelt command");
    assert!(error.contains("not released"), "{error}");

    let old = "https://git.example.com/old/retry";
    host_at(old, "old@example.com");
    let filled = release(project, &["fill"]).expect("filled");
    for file in ["README.md", "SECURITY.md", "CHANGELOG.md", "jobs/retry-board/README.md"] {
        assert!(filled.contains(&format!("filled: {file}\n")), "{file} of {filled}");
        assert!(text(file).contains(old), "{file}");
    }
    assert!(text("retry-fleet/README.md").contains("https://docs.rs/retry-fleet)"));
    assert!(text(".github/ISSUE_TEMPLATE/config.yml").contains(old));
    let guide = text("retry-runtime/src/guide/costs.md");
    let benchmarks = format!("[`docs/BENCHMARKS.md`]({old}/blob/main/docs/BENCHMARKS.md)");
    assert!(guide.contains(&benchmarks), "{guide}");
    assert_eq!(release(project, &["fill"]).expect("filled again"), "", "nothing is filled twice");

    // Another address replaces the first one.
    let new = "https://git.example.com/new/retry";
    host_at(new, mail);
    release(project, &["fill"]).expect("filled");
    for file in ["README.md", "SECURITY.md", "CHANGELOG.md", "retry-runtime/src/guide/costs.md"] {
        let text = text(file);
        assert!(text.contains(new) && !text.contains(old), "{file}: {text}");
    }
    let security = text("SECURITY.md");
    assert!(
        security.contains("by mail to security@example.com,") && !security.contains("old@"),
        "{security}"
    );
    let readme = text("README.md");
    assert_eq!(readme.matches("[![crates.io]").count(), 1, "{readme}");
    let own = read("README.md");
    let [filled, own] = [&readme, &own].map(|page| {
        let lines =
            page.lines().filter(|line| !line.is_empty() && !line.starts_with("[![crates.io]"));
        lines.collect::<Vec<_>>()
    });
    assert_eq!(filled, own);
}

#[test]
fn archives_of_the_command_are_built_where_binstall_expects_them() {
    let manifest = read("jobs/retry-workflow-cli/Cargo.toml");
    let (_, url) = manifest.split_once("\npkg-url = \"").expect("the address of an archive");
    let archive = url.split('"').next().and_then(|url| url.rsplit('/').next()).expect("a name");
    let archive = archive
        .replace("{ name }", "retry-workflow-cli")
        .replace("{ target }", "${{ matrix.target }}");
    assert!(archive.ends_with(".tar.gz"), "{archive}");
    let workflow = read(".github/workflows/release.yml");
    assert!(workflow.contains(&format!("ARCHIVE: {archive}\n")), "{archive} is not built");
}

#[test]
fn the_image_is_built_from_what_the_repository_has() {
    let dockerfile = read("Dockerfile");
    let toolchain = read("rust-toolchain.toml");
    let (_, channel) = toolchain.split_once("channel = \"").expect("a channel");
    let channel = channel.split('"').next().unwrap_or_default();
    assert!(dockerfile.contains(&format!("\nFROM rust:{channel}-slim-bookworm AS build\n")));
    assert!(dockerfile.contains(&format!("\nENV RUSTUP_TOOLCHAIN={channel}\n")));

    let mut user = "root";
    for line in dockerfile.lines() {
        let (instruction, rest) = line.split_once(' ').unwrap_or((line, ""));
        match instruction {
            "FROM" => user = "root",
            "USER" => user = rest,
            "COPY" if !rest.starts_with("--from") => {
                let words: Vec<_> = rest.split(' ').collect();
                for file in &words[..words.len() - 1] {
                    assert!(root().join(file).exists(), "{line}");
                }
            }
            "COPY" => assert!(rest.contains("/target/release/retry-workflow "), "{line}"),
            _ => {}
        }
    }
    assert_ne!(user, "root", "commands of workflows do not run as root");

    // Every member of the workspace is needed to resolve it.
    let manifest = read("Cargo.toml");
    let (_, members) = manifest.split_once("\nmembers = [\n").expect("members");
    let members: Vec<_> = members
        .lines()
        .map_while(|line| line.trim().strip_prefix('"')?.split('"').next())
        .collect();
    assert!(members.len() > 10, "{members:?}");
    for ignored in read(".dockerignore").lines().filter(|line| !line.starts_with('#')) {
        let has_member = members
            .iter()
            .any(|member| *member == ignored || member.starts_with(&format!("{ignored}/")));
        assert!(!has_member, "{ignored} has a member of the workspace");
    }
}
