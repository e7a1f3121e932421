//! The queries of the dashboard and of the alerts: each is valid, and refers only to what was
//! exported.

use std::collections::BTreeSet;

use regex::Regex;
use rusty_promql_parser::{Expr, LabelMatchOp, LabelMatcher, VectorSelector, expr};
use serde_json::Value;

use super::scenario::scraped;
use super::{read, rules};

/// The labels that Prometheus adds to the series that it scrapes.
const SCRAPED_FROM: [&str; 2] = ["instance", "job"];

/// The variables that Grafana fills in, with their values for "show everything".
const FILLED_IN: [(&str, &str); 4] =
    [("$__rate_interval", "5m"), ("$name", ".*"), ("$breaker", ".*"), ("$workflow", ".*")];

/// The metrics and labels that a query refers to.
#[derive(Default)]
struct Asked<'a> {
    selectors: Vec<&'a VectorSelector>,
    /// Labels of `by`, `on` and the like.
    labels: BTreeSet<&'a str>,
}

impl<'a> Asked<'a> {
    fn read(&mut self, query: &'a Expr) {
        match query {
            Expr::Number(_) | Expr::String(_) => {}
            Expr::VectorSelector(selector) => self.selectors.push(selector),
            Expr::MatrixSelector(matrix) => self.selectors.push(&matrix.selector),
            Expr::Call(call) => call.args.iter().for_each(|argument| self.read(argument)),
            Expr::Aggregation(aggregation) => {
                let labels = aggregation.grouping.iter().flat_map(|grouping| &grouping.labels);
                self.labels.extend(labels.map(String::as_str));
                aggregation.param.iter().for_each(|parameter| self.read(parameter));
                self.read(&aggregation.expr);
            }
            Expr::Binary(binary) => {
                let matching =
                    binary.modifier.iter().filter_map(|modifier| modifier.matching.as_ref());
                self.labels
                    .extend(matching.flat_map(|matching| &matching.labels).map(String::as_str));
                self.read(&binary.lhs);
                self.read(&binary.rhs);
            }
            Expr::Unary(unary) => self.read(&unary.expr),
            Expr::Paren(inner) => self.read(inner),
            Expr::Subquery(subquery) => self.read(&subquery.expr),
        }
    }
}

/// The faults of a query, or of the labels under which its results are shown.
fn mistakes(query: &str, shown: &[String]) -> Vec<String> {
    let filled = FILLED_IN.iter().fold(query.to_owned(), |text, (name, to)| text.replace(name, to));
    let parsed = match expr(filled.trim()) {
        Ok(("", parsed)) => parsed,
        Ok((rest, _)) => return vec![format!("it is not understood from here on: {rest}")],
        Err(error) => return vec![format!("it is not valid: {error}")],
    };
    let mut asked = Asked::default();
    asked.read(&parsed);
    let mut mistakes = Vec::new();
    let mut known: BTreeSet<&str> = SCRAPED_FROM.into();
    for selector in &asked.selectors {
        let name = selector.name.as_deref().unwrap_or_default();
        match scraped().labels_of(name) {
            None => mistakes.push(format!("`{name}` is not exported")),
            Some(labels) => known.extend(labels),
        }
        mistakes.extend(selector.matchers.iter().filter_map(|matcher| mistake(name, matcher)));
    }
    if asked.selectors.is_empty() {
        mistakes.push("it asks for nothing".to_owned());
    }
    let labels = asked.labels.into_iter().chain(shown.iter().map(String::as_str));
    let unknown = labels.filter(|label| !known.contains(label));
    mistakes.extend(unknown.map(|label| format!("nothing has a label `{label}`")));
    mistakes
}

/// Each value in a matcher must have been exported, even if it is excluded.
fn mistake(metric: &str, LabelMatcher { name, op, value }: &LabelMatcher) -> Option<String> {
    let exported = scraped().values_of(metric, name);
    if exported.is_empty() {
        return Some(format!("`{metric}` has no label `{name}`"));
    }
    let alternatives = match op {
        LabelMatchOp::Equal | LabelMatchOp::NotEqual => vec![value.as_str()],
        LabelMatchOp::RegexMatch | LabelMatchOp::RegexNotMatch => value.split('|').collect(),
    };
    let is_there = |alternative: &&str| {
        let pattern = match op {
            LabelMatchOp::Equal | LabelMatchOp::NotEqual => regex::escape(alternative),
            LabelMatchOp::RegexMatch | LabelMatchOp::RegexNotMatch => (*alternative).to_owned(),
        };
        let pattern = Regex::new(&format!("^(?:{pattern})$")).expect("a regular expression");
        exported.iter().any(|text| pattern.is_match(text))
    };
    let missing = alternatives.into_iter().find(|alternative| !is_there(alternative))?;
    Some(format!("`{metric}` never has `{name}` = `{missing}`, but one of {exported:?}"))
}

/// All names that the pattern captures.
fn names(text: &str, pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

#[track_caller]
fn assert_none(mistakes: &[String]) {
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}

#[test]
fn alerts_query_exported_metrics() {
    let mut found = Vec::new();
    for rule in rules() {
        let texts = rule.annotations.values().map(String::as_str).collect::<String>();
        let shown = names(&texts, r"\$labels\.(\w+)");
        let mistakes = mistakes(&rule.expr, &shown);
        found.extend(mistakes.iter().map(|mistake| format!("{}: {mistake}", rule.alert)));
    }
    assert_none(&found);
}

#[test]
fn panels_query_exported_metrics() {
    let dashboard: Value = serde_json::from_str(&read("dashboard.json")).expect("JSON");
    let (mut found, mut queries) = (Vec::new(), 0);
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().expect("a query");
            let legend = target["legendFormat"].as_str().expect("a legend");
            let mistakes = mistakes(query, &names(legend, r"\{\{(\w+)\}\}"));
            let title = &panel["title"];
            found.extend(mistakes.iter().map(|mistake| format!("{title}: {mistake}\n    {query}")));
            queries += 1;
        }
    }
    assert_none(&found);
    assert!(queries > 20, "{queries}");
}

#[test]
fn choices_at_the_top_are_of_labels_that_are_exported() {
    let dashboard: Value = serde_json::from_str(&read("dashboard.json")).expect("JSON");
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    let mut checked = BTreeSet::new();
    for variable in variables.iter().filter(|variable| variable["type"] == "query") {
        let query = variable["query"]["query"].as_str().expect("a query");
        let (metric, label) = query
            .strip_prefix("label_values(")
            .and_then(|query| query.strip_suffix(')')?.split_once(", "))
            .expect("a metric and a label");
        assert!(!scraped().values_of(metric, label).is_empty(), "{query}");
        checked.insert(format!("${}", variable["name"].as_str().expect("a name")));
    }
    let filled_in = FILLED_IN.iter().map(|(name, _)| (*name).to_owned());
    let filled_in: BTreeSet<_> = filled_in.filter(|name| !name.starts_with("$__")).collect();
    assert_eq!(checked, filled_in);
}

/// Everything that the library exports is shown.
#[test]
fn the_dashboard_shows_every_metric() {
    let dashboard = read("dashboard.json");
    let exported: BTreeSet<&str> =
        scraped().series.keys().map(|series| series.name.as_str()).collect();
    let hidden = exported.into_iter().filter(|name| {
        let of_histogram = name.trim_end_matches("_count");
        !dashboard.contains(name) && !dashboard.contains(of_histogram)
    });
    assert_eq!(hidden.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_query_of_an_unknown_metric_is_a_mistake() {
    let mistakes = |query: &str| mistakes(query, &[]).join("; ");
    assert_eq!(mistakes(r#"sum by (name) (retry_give_ups_total{reason="quota"})"#), "");
    for (query, mistake) in [
        ("sum(retry_gave_up_total)", "`retry_gave_up_total` is not exported"),
        (r#"retry_give_ups_total{why="quota"}"#, "`retry_give_ups_total` has no label `why`"),
        (r#"retry_job_items{state=~"dead|gone"}"#, "never has `state` = `gone`"),
        ("sum by (function) (retry_job_items)", "nothing has a label `function`"),
        ("sum(rate(retry_retries_total[5m])", "not valid"),
        ("retry_retries_total retry_retries_total", "from here on"),
        ("vector(0)", "it asks for nothing"),
    ] {
        assert!(mistakes(query).contains(mistake), "{query}: {}", mistakes(query));
    }
}
