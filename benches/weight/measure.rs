//! Builds the programs of this folder, and compares their sizes. The benchmarks and a test of the
//! project share this file.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The programs with this library, each with its row in the table.
pub(super) const OURS: [(&str, &str); 8] = [
    ("`#[retry]`", "attribute"),
    ("`#[retry]` with matchers", "attribute_matchers"),
    ("… and an error that implements `Classify`", "attribute_classify"),
    ("… and a timeout, a deadline and a breaker", "attribute_guarded"),
    ("`Retrier`", "retrier"),
    ("`Retrier::opaque`", "retrier_opaque"),
    ("`Retrier` with matchers", "retrier_matchers"),
    ("… and a timeout and a breaker", "retrier_guarded"),
];

/// The bytes that a program has more than the body alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    /// With one call site.
    pub(super) once: f64,
    /// For each further one.
    pub(super) each: f64,
}

/// The number of further sites with the feature `twenty`.
const FURTHER: f64 = 19.0;

/// Returns the weights of these programs in a build with `profile`, and with these features.
///
/// # Panics
///
/// Panics if cargo fails.
pub(super) fn weights(
    programs: &[&str],
    profile: &str,
    features: &str,
    target: &Path,
) -> Vec<Weight> {
    let sizes = |features: &str| {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/weight/Cargo.toml");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--bins", "--profile", profile])
            .args(["--manifest-path", manifest, "--features", features, "--target-dir"])
            .arg(target)
            // The sizes are those of a first build.
            .env("CARGO_INCREMENTAL", "0")
            .status()
            .expect("cargo runs");
        assert!(status.success(), "cargo cannot build the programs");
        let folder = target.join(if profile == "dev" { "debug" } else { profile });
        let size = |program: &str| fs::metadata(folder.join(program)).expect("a program").len();
        let body = size("body");
        let more = |program: &&str| bytes(size(program)) - bytes(body);
        programs.iter().map(more).collect::<Vec<_>>()
    };
    let (one, twenty) = (sizes(features), sizes(&format!("{features},twenty")));
    let weigh = |(once, all): (f64, f64)| Weight { once, each: (all - once) / FURTHER };
    one.into_iter().zip(twenty).map(weigh).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a program is far below 2^52 bytes")]
fn bytes(size: u64) -> f64 {
    size as f64
}
