//! The files in `docs/grafana/`: each query of the dashboard and of the alerts is valid, and refers to
//! metrics that the library exports; each alert fires when it should, and at no other time.
//!
//! A program of their own: every page that is scraped shows all functions of its program.

mod alerts;
mod prometheus;
mod queries;
mod scenario;
mod schema;
mod scrape;

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// `docs/grafana/alerts.yml`, as far as the tests need it.
#[derive(Deserialize)]
struct RuleFile {
    groups: Vec<RuleGroup>,
}

#[derive(Deserialize)]
struct RuleGroup {
    rules: Vec<Rule>,
}

#[derive(Clone, Deserialize)]
struct Rule {
    alert: String,
    expr: String,
    labels: Texts,
    annotations: Texts,
}

type Texts = std::collections::BTreeMap<String, String>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grafana")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(folder().join(file)).expect("a file in `docs/grafana/`")
}

fn rules() -> Vec<Rule> {
    let file: RuleFile = serde_saphyr::from_str(&read("alerts.yml")).expect("alerts");
    file.groups.into_iter().flat_map(|group| group.rules).collect()
}
