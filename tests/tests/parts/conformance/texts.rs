//! The texts in `tests/data/texts.tsv` and `texts-2.tsv`, which are failures from public reports.

use retry_runtime::{Class, classify};

/// The classes of one line, each with its text.
fn rows(file: &str) -> impl Iterator<Item = (Vec<Class>, String)> {
    let lines = file.lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let (classes, text) = line.split_once('\t').expect("classes, a tab, and a text");
        (classes.split('|').map(class_of).collect(), text.replace("\\n", "\n"))
    })
}

/// The class with this name; `none` is the empty one.
fn class_of(name: &str) -> Class {
    let named = Class::NAMES.into_iter().find(|(_, class)| *class == name);
    match named {
        Some((class, _)) => class,
        None if name == "none" => Class::empty(),
        None => panic!("no such class: {name}"),
    }
}

/// Returns whether `found` is an answer that `expected` allows. A conflict stands alone.
fn is_right(found: Class, expected: Class) -> bool {
    if expected.is_empty() || expected == Class::CONFLICT {
        found == expected
    } else {
        found.contains(expected)
    }
}

/// Checks that no more than this share of the texts of a file is missed, in percent.
fn check(file: &str, most_missed: usize, most_retried: usize) {
    let (mut all, mut none, mut retried, mut misses) = (0, 0, 0, Vec::new());
    for (expected, text) in rows(file) {
        let found = classify::text(&text);
        all += 1;
        if expected == [Class::empty()] {
            none += 1;
            retried += usize::from(!found.is_empty());
        }
        if !expected.iter().any(|&class| is_right(found, class)) {
            misses.push(format!("{text:?} is {found:?}, not {expected:?}"));
        }
    }
    let shown = misses.join("\n");
    println!("{} of {all} are missed, {retried} of {none} are retried:\n{shown}", misses.len());
    assert!(all > 75 && none > 20, "{all} texts, {none} of them permanent");
    assert!(misses.len() * 100 <= all * most_missed, "{} of {all}:\n{shown}", misses.len());
    assert!(retried <= most_retried, "{retried} of {none} are retried:\n{shown}");
}

#[test]
fn reported_failures_are_classified() {
    check(include_str!("../../../data/texts.tsv"), 8, 1);
}

#[test]
fn reported_failures_of_2026_are_classified() {
    check(include_str!("../../../data/texts-2.tsv"), 4, 0);
}
