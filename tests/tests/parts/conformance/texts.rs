//! The texts in `tests/data/texts.tsv`, which are failures that people reported.

use retry_runtime::{Class, classify};

/// The classes of one line, each with its text.
fn rows() -> impl Iterator<Item = (Vec<Class>, String)> {
    let lines = include_str!("../../../data/texts.tsv").lines();
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

#[test]
fn reported_failures_are_classified() {
    let (mut all, mut none, mut retried, mut misses) = (0, 0, 0, Vec::new());
    for (expected, text) in rows() {
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
    assert!(all > 150 && none > 45, "{all} texts, {none} of them permanent");
    assert!(misses.len() * 100 <= all * 8, "{} of {all}:\n{shown}", misses.len());
    assert!(retried <= 1, "{retried} of {none} are retried:\n{shown}");
}
