//! The output of the exporter over time, as Prometheus would read it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The interval at which Prometheus scrapes.
pub(super) const EVERY: Duration = Duration::from_secs(30);

/// A series: its name, and its labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
}

/// All series, each with its scraped values; `None` before it existed.
#[derive(Debug, Default)]
pub(super) struct Scraped {
    pub(super) series: BTreeMap<Series, Vec<Option<String>>>,
    pages: usize,
}

impl Scraped {
    pub(super) fn add(&mut self, page: &str) {
        let lines = page.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            let (series, value) = read_line(line);
            let values = self.series.entry(series).or_default();
            values.resize(self.pages, None);
            values.push(Some(value));
        }
        self.pages += 1;
    }

    /// The names of all labels of a metric; `None` if there is no such metric.
    pub(super) fn labels_of(&self, name: &str) -> Option<BTreeSet<&str>> {
        let series = self.series.keys().filter(|series| series.name == name);
        let labels = series.map(|series| series.labels.keys().map(String::as_str));
        labels.fold(None, |all, labels| {
            let mut all = all.unwrap_or_else(BTreeSet::new);
            all.extend(labels);
            Some(all)
        })
    }

    /// The values of a label of a metric.
    pub(super) fn values_of(&self, name: &str, label: &str) -> BTreeSet<&str> {
        let series = self.series.keys().filter(|series| series.name == name);
        series.filter_map(|series| series.labels.get(label)).map(String::as_str).collect()
    }
}

/// Parses `name{label="text",…} value`.
fn read_line(line: &str) -> (Series, String) {
    let (series, value) = line.rsplit_once(' ').expect("a value");
    let (name, rest) = series.split_once('{').unwrap_or((series, "}"));
    let mut labels = BTreeMap::new();
    let mut rest = rest.strip_suffix('}').expect("an end of the labels");
    while let Some((label, after)) = rest.split_once("=\"") {
        let mut text = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next().expect("an end of the text") {
                (end, '"') => break end,
                (_, '\\') => match letters.next().expect("what is escaped").1 {
                    'n' => text.push('\n'),
                    letter => text.push(letter),
                },
                (_, letter) => text.push(letter),
            }
        };
        labels.insert(label.to_owned(), text);
        rest = after[end + 1..].trim_start_matches(',');
    }
    assert!(rest.is_empty(), "{line}");
    (Series { name: name.to_owned(), labels }, value.to_owned())
}

#[test]
fn a_line_is_read_as_it_was_meant() {
    let (series, value) = read_line(r#"calls{name="a, \"b\" {c}",state="x y"} 1.5"#);
    assert_eq!((series.name.as_str(), value.as_str()), ("calls", "1.5"));
    let labels: Vec<_> = series.labels.iter().map(|(name, text)| (&**name, &**text)).collect();
    assert_eq!(labels, [("name", r#"a, "b" {c}"#), ("state", "x y")]);
    assert!(read_line("up 1").0.labels.is_empty());
}
