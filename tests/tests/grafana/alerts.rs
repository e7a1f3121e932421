//! The alerts, as Prometheus itself evaluates them on the scraped series, with `promtool`, if it is
//! installed (Debian: `prometheus`).

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::scenario::scraped;
use super::scrape::{EVERY, Series};
use super::{Rule, Texts, folder, rules};

/// The minutes of the hour at which the alerts are checked.
const LOOKS: [u64; 7] = [5, 14, 18, 23, 33, 44, 58];

type Labels = &'static [(&'static str, &'static str)];

/// The alert that fires, with its labels and the [`LOOKS`] at which it does.
pub(super) const FIRES: &[(&str, Labels, &[u64])] = &[
    ("RetryOutage", &[("name", "grafana.stock")], &[14, 18, 23]),
    // Retries that are denied help as little as those that fail.
    ("RetryOutage", &[("name", "grafana.price")], &[14, 18]),
    ("RetryBreakerOpen", &[("breaker", "grafana.stock")], &[14, 18, 23]),
    ("RetryBreakerOpen", &[("breaker", "waits")], &[14, 18, 23, 33, 44]),
    ("RetryBreakerFlapping", &[("breaker", "grafana.hosts"), ("key", "a.example")], &[14, 18, 23]),
    ("RetryQuotaEmpty", &[("name", "grafana.price")], &[14, 18]),
    ("RetryDeadLettersGrowing", &[("workflow", "import"), ("job_id", "import-1")], &[18, 23]),
    ("RetryJobStuck", &[("workflow", "hangs"), ("job_id", "hangs-1")], &[33, 44]),
    ("RetryJobStuck", &[("workflow", "waits"), ("job_id", "waits-1")], &[44]),
    ("RetryFleetHubLost", &[("fleet", "grafana")], &[18]),
];

/// The labels that Prometheus adds to each series that it scrapes.
const SCRAPED_FROM: [(&str, &str); 2] = [("instance", "shop:9000"), ("job", "shop")];

#[test]
fn each_alert_is_expected_somewhere_and_exists() {
    let expected: Vec<&str> = FIRES.iter().map(|(alert, ..)| *alert).collect();
    for rule in rules() {
        assert!(expected.contains(&&*rule.alert), "{} never fires", rule.alert);
    }
    for alert in expected {
        assert!(rules().iter().any(|rule| rule.alert == alert), "{alert}");
    }
}

#[test]
fn alerts_fire_when_they_should_and_at_no_other_time() {
    if !has_promtool() {
        return;
    }
    let checked = promtool(&["check", "rules", &folder().join("alerts.yml").to_string_lossy()]);
    assert!(checked.status.success(), "{}", text(&checked));

    let test = json!({
        "rule_files": [folder().canonicalize().unwrap().join("alerts.yml")],
        "evaluation_interval": format!("{}s", EVERY.as_secs()),
        "tests": [{
            "interval": format!("{}s", EVERY.as_secs()),
            "input_series": series(),
            "alert_rule_test": LOOKS.map(|minute| rules().iter().map(|rule| json!({
                "eval_time": format!("{minute}m"),
                "alertname": rule.alert,
                "exp_alerts": expected(rule, minute),
            })).collect::<Vec<_>>()).concat(),
        }],
    });
    let file = std::env::temp_dir().join(format!("retry-alerts-{}.yml", std::process::id()));
    // JSON is YAML.
    std::fs::write(&file, test.to_string()).unwrap();
    let tested = promtool(&["test", "rules", &file.to_string_lossy()]);
    assert!(tested.status.success(), "{}: {}", file.display(), text(&tested));
    std::fs::remove_file(file).unwrap();
}

/// The scraped series in the form that `promtool` reads.
fn series() -> Vec<Value> {
    scraped().series.iter().map(|(Series { name, labels }, values)| {
        let labels = labels.iter().map(|(name, text)| (&**name, &**text)).chain(SCRAPED_FROM);
        let labels: Vec<_> = labels.map(|(name, text)| format!("{name}={text:?}")).collect();
        let values: Vec<_> =
            values.iter().map(|value| value.as_deref().unwrap_or("_")).collect();
        json!({ "series": format!("{name}{{{}}}", labels.join(",")), "values": values.join(" ") })
    })
    .collect()
}

fn expected(rule: &Rule, minute: u64) -> Vec<Value> {
    let fires = FIRES.iter().filter(|(alert, _, at)| *alert == rule.alert && at.contains(&minute));
    fires
        .map(|(_, labels, _)| {
            let labels: Texts =
                labels.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
            let annotations: BTreeMap<_, _> = rule
                .annotations
                .iter()
                .map(|(name, text)| (name, filled_in(text, &labels)))
                .collect();
            let mut all = rule.labels.clone();
            all.extend(labels);
            json!({ "exp_labels": all, "exp_annotations": annotations })
        })
        .collect()
}

/// Fills in the template of an annotation: labels, and the key of a breaker if it has one.
fn filled_in(template: &str, labels: &Texts) -> String {
    let key = labels.get("key").map(|key| format!("[{key}]")).unwrap_or_default();
    let text = template.replace("{{ with $labels.key }}[{{ . }}]{{ end }}", &key);
    labels
        .iter()
        .fold(text, |text, (name, value)| text.replace(&format!("{{{{ $labels.{name} }}}}"), value))
}

pub(super) fn has_promtool() -> bool {
    let has_it = Command::new("promtool").arg("--version").output().is_ok();
    if !has_it {
        assert!(
            std::env::var_os("RETRY_TEST_REQUIRE_PROMTOOL").is_none(),
            "promtool is not installed, and RETRY_TEST_REQUIRE_PROMTOOL is set"
        );
        eprintln!(
            "skipped: alerts are not evaluated, for promtool is not installed (Debian: prometheus)"
        );
    }
    has_it
}

fn promtool(arguments: &[&str]) -> Output {
    Command::new("promtool").args(arguments).output().expect("promtool runs")
}

fn text(output: &Output) -> String {
    let Output { stdout, stderr, .. } = output;
    format!("{}{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr))
}
