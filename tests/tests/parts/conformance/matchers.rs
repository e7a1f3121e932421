//! The shared cases of `tests/data/matchers.json`, for errors that are only texts.

use retry_runtime::{Class, classify};
use serde_json::Value;

fn class_of(matcher: &str) -> Class {
    match matcher {
        "network" => Class::NETWORK,
        "timeout" => Class::TIMEOUT,
        "server_error" => Class::SERVER_ERROR,
        "rate_limit" => Class::RATE_LIMIT,
        "conflict" => Class::CONFLICT,
        other => panic!("no such matcher: {other}"),
    }
}

fn texts<'a>(case: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    let list = case[key].as_array().expect("a list of texts");
    list.iter().map(|text| text.as_str().expect("a text"))
}

#[test]
fn every_shared_case_is_classified_correctly() {
    let data: Value = serde_json::from_str(include_str!("../../../data/matchers.json")).unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for case in data["cases"].as_array().expect("a list of cases") {
        let matcher = case["matcher"].as_str().expect("a name");
        let class = class_of(matcher);
        for (key, expected) in [("matches", true), ("does_not_match", false)] {
            for text in texts(case, key) {
                seen += 1;
                if classify::text(text).contains(class) != expected {
                    wrong.push(format!("{matcher} {key}: {text:?} is {:?}", classify::text(text)));
                }
            }
        }
    }
    assert!(seen > 0, "the file holds no cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
