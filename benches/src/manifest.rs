//! Reads manifests as far as needed: tables with one entry per line.

use std::fs;

/// The manifest of this crate, which has the versions of the peers.
const OWN: &str = include_str!("../Cargo.toml");

/// The line with which this crate depends on a peer.
///
/// # Panics
///
/// Panics if it does not depend on it.
pub fn requirement(peer: &str) -> String {
    let entry = entries(OWN, "dependencies").find(|(name, _)| *name == peer);
    let (name, version) = entry.unwrap_or_else(|| panic!("{peer} is no dependency"));
    format!("{name} = {version}")
}

/// The line with which a crate depends on ours, with default features or only those named.
pub fn ours(features: Option<&[&str]>) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../retry-runtime");
    match features {
        None => format!("retry-runtime = {{ path = {path:?} }}"),
        Some(only) => format!(
            "retry-runtime = {{ path = {path:?}, default-features = false, features = {only:?} }}"
        ),
    }
}

/// The features of our crate.
///
/// # Panics
///
/// Panics if its manifest cannot be read.
pub fn our_features() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../retry-runtime/Cargo.toml");
    let manifest = fs::read_to_string(path).expect("our crate has a manifest");
    entries(&manifest, "features").map(|(name, _)| name.to_owned()).collect()
}

fn entries<'a>(manifest: &'a str, table: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let header = format!("[{table}]");
    let body = manifest.lines().skip_while(move |line| *line != header).skip(1);
    body.take_while(|line| !line.starts_with('['))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()))
        .filter_map(|line| line.split_once(" = "))
}
