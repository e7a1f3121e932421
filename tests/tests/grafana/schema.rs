//! The dashboard, checked against Grafana's own types.

use boon::{Compiler, Schemas};
use serde_json::Value;

use super::folder;

/// See `dashboard.ts` beside it.
const SCHEMA: &str = include_str!("../../data/grafana/dashboard.schema.json");

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The reason why Grafana's types refuse a dashboard, if they do.
fn refused(dashboard: &Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("dashboard.json", read(SCHEMA)).unwrap();
    let schema = compiler.compile("dashboard.json", &mut schemas).unwrap();
    schemas.validate(dashboard, schema).map_err(|error| error.to_string())
}

#[test]
fn the_dashboard_has_the_form_that_grafana_documents() {
    let text = std::fs::read_to_string(folder().join("dashboard.json")).unwrap();
    let dashboard = read(&text);
    assert_eq!(refused(&dashboard), Ok(()));

    let timeline = |panel: &Value| panel["type"] == "state-timeline";
    let place = dashboard["panels"].as_array().unwrap().iter().position(timeline).unwrap();
    let mut misspelt = dashboard;
    misspelt["panels"][place]["options"]["mergeValue"] = true.into();
    assert!(refused(&misspelt).unwrap_err().contains("mergeValue"));
}
