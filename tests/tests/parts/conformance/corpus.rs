//! The texts in `tests/clients/corpus`, of which every third is held back from those who change the
//! vocabulary.

use retry_runtime::{Class, classify};
use serde_json::Value;

/// Collected by a person who had not looked at the vocabulary.
const UNSEEN: &str = include_str!("../../../clients/corpus/unseen.json");
/// Written down by those who work on it.
const WRITTEN: &str = include_str!("../../../clients/corpus/written.json");

/// The numbers of texts of a kind, and of those that are judged wrong.
#[derive(Debug, Default)]
struct Share {
    all: usize,
    wrong: usize,
}

impl Share {
    fn percent(&self) -> usize {
        self.wrong * 100 / self.all.max(1)
    }
}

/// The permanent failures that would be retried, and the others that would not, of the entries
/// whose index satisfies `is_asked`.
fn shares(corpus: &str, is_asked: impl Fn(usize) -> bool) -> (Share, Share, Vec<String>) {
    let corpus: Vec<Value> = serde_json::from_str(corpus).expect("a list");
    let (mut permanent, mut passing, mut wrong) = (Share::default(), Share::default(), Vec::new());
    for (_, entry) in corpus.iter().enumerate().filter(|(index, _)| is_asked(*index)) {
        let text = entry["text"].as_str().expect("a text");
        let decision = entry["decision"].as_str().expect("a decision");
        let is_retried = classify::text(text).intersects(Class::TRANSIENT);
        let share = if decision == "permanent" { &mut permanent } else { &mut passing };
        share.all += 1;
        if is_retried == (decision == "permanent") {
            share.wrong += 1;
            wrong.push(format!("{decision}: {text}"));
        }
    }
    (permanent, passing, wrong)
}

#[test]
fn unseen_permanent_failures_are_seldom_retried() {
    // Their names are not shown: they are held back.
    let (permanent, passing, _) = shares(UNSEEN, |index| index % 3 == 0);
    assert!(permanent.all >= 100 && passing.all >= 100);
    assert!(permanent.percent() <= 10, "of {permanent:?} are retried");
    assert!(passing.percent() <= 25, "of {passing:?} are not retried");

    let (permanent, passing, _) = shares(WRITTEN, |index| index % 3 == 0);
    assert!(permanent.all > 20 && passing.all > 20);
    assert!(permanent.percent() <= 10, "of {permanent:?} are retried");
    assert!(passing.percent() <= 30, "of {passing:?} are not retried");
}

#[test]
fn the_other_texts_of_the_corpus_are_known() {
    for (corpus, most_missed) in [(UNSEEN, 25), (WRITTEN, 20)] {
        let (permanent, passing, wrong) = shares(corpus, |index| index % 3 != 0);
        let shown = wrong.join("\n");
        assert!(permanent.percent() <= 5, "of {permanent:?} are retried:\n{shown}");
        assert!(passing.percent() <= most_missed, "of {passing:?} are not retried:\n{shown}");
    }
}

#[test]
fn few_permanent_failures_of_the_corpus_are_retried() {
    let (unseen, ..) = shares(UNSEEN, |_| true);
    let (written, ..) = shares(WRITTEN, |_| true);
    let (all, retried) = (unseen.all + written.all, unseen.wrong + written.wrong);
    assert!(all >= 400 && retried * 50 <= all, "{retried} of {all} are retried");
}
