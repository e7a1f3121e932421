//! Temporary crates, which are written and compiled in a folder beside our own build.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};

use crate::contest::Figures;
use crate::processor::used_by_children;

/// The dependency on tokio, which every async program has.
pub const TOKIO: &str = r#"tokio = { version = "1", features = ["rt", "time", "macros"] }"#;

/// The dependency on tracing, which the loop by hand reports to.
pub const TRACING: &str =
    r#"tracing = { version = "0.1", default-features = false, features = ["std"] }"#;

/// The versions of our own build; cargo drops those that a crate does not need.
const LOCK: &str = include_str!("../Cargo.lock");

/// A library to compile.
#[derive(Debug)]
pub struct Crate {
    folder: PathBuf,
}

impl Crate {
    /// Creates the crate without sources, and fetches its dependencies.
    pub fn new(name: &str, dependencies: &[String]) -> Self {
        let folder = target_folder().join("retry-benches-scratch").join(name);
        let this = Self { folder };
        this.write("Cargo.toml", &manifest(name, dependencies));
        this.write("Cargo.lock", LOCK);
        this.write("src/lib.rs", "");
        this.cargo(&["fetch"]);
        this
    }

    /// Writes a source file.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be written.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a writable folder");
        fs::write(path, text).expect("a writable folder");
    }

    /// Makes cargo consider the crate changed.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be touched.
    pub fn touch(&self) {
        let library = File::options().append(true).open(self.folder.join("src/lib.rs"));
        let touched = library.and_then(|library| library.set_modified(SystemTime::now()));
        touched.expect("a writable source");
    }

    /// Removes everything that was built.
    pub fn clean(&self) {
        // Ignore errors, because there is nothing before the first build.
        let _ = fs::remove_dir_all(self.target());
    }

    /// Runs cargo, and returns the time that it took.
    ///
    /// # Panics
    ///
    /// Panics if cargo fails.
    pub fn cargo(&self, arguments: &[&str]) -> Spent {
        let mut command = cargo();
        command
            .args(arguments)
            .arg("--quiet")
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.target())
            .env("CARGO_INCREMENTAL", "0");
        let (start, used_before) = (Instant::now(), used_by_children());
        let status = command.status().expect("cargo runs");
        let wall = start.elapsed();
        let processor =
            used_by_children().zip(used_before).map(|(after, before)| after.saturating_sub(before));
        assert!(status.success(), "cargo {arguments:?} fails in {}", self.folder.display());
        Spent { wall, processor }
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }
}

/// The time of a run of cargo.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Wall-clock time.
    pub wall: Duration,
    /// Processor time on all cores; `None` if unknown.
    pub processor: Option<Duration>,
}

/// The seconds that each crate takes: the fastest of several alternating runs, because other load
/// can only add to the time.
#[derive(Debug, Default)]
pub struct Fastest {
    /// Wall-clock time.
    pub wall: Figures,
    /// Processor time on all cores.
    pub processor: Figures,
}

impl Fastest {
    /// Runs each crate this many times.
    pub fn of(crates: &[(String, Crate)], runs: usize, run: impl Fn(&Crate) -> Spent) -> Self {
        let mut fastest = Self::default();
        for _ in 0..runs {
            for (name, program) in crates {
                let Spent { wall, processor } = run(program);
                lower(&mut fastest.wall, name, wall);
                if let Some(processor) = processor {
                    lower(&mut fastest.processor, name, processor);
                }
            }
        }
        fastest
    }
}

fn lower(figures: &mut Figures, name: &str, time: Duration) {
    let seconds = time.as_secs_f64();
    let fastest = figures.entry(name.to_owned()).or_insert(seconds);
    *fastest = seconds.min(*fastest);
}

/// The cargo that runs this program.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The target folder of this program.
///
/// # Panics
///
/// Panics if the program is not where cargo puts programs.
pub fn target_folder() -> PathBuf {
    let this = env::current_exe().expect("a program has a path");
    let target = this.ancestors().nth(2).map(Path::to_owned);
    target.expect("programs are in a folder of the target folder")
}

fn manifest(name: &str, dependencies: &[String]) -> String {
    format!(
        r#"[workspace]

[package]
name = "{name}"
version = "0.0.0"
edition = "2024"

[features]
default = ["tracing"]
tracing = []

[dependencies]
{}
"#,
        dependencies.join("\n"),
    )
}
