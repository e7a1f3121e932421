//! The page of the attribute has a row for each option, matcher and word.

use crate::macros::*;

const ATTRIBUTE: &str = include_str!("../../../retry-runtime/src/attribute.md");

/// The first cells of the rows of all tables.
fn first_cells() -> impl Iterator<Item = &'static str> {
    let rows = ATTRIBUTE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split(" | ").next())
}

#[test]
fn every_option_has_a_row() {
    for option in args::Syntax::Attribute.options() {
        let is_of_option = |cell: &str| cell.split([' ', '(', '`']).next() == Some(option);
        assert!(first_cells().any(is_of_option), "attribute.md has no row for `{option}`");
    }
}

#[test]
fn every_matcher_has_a_row() {
    for matcher in matcher::names() {
        let is_of_matcher = |cell: &str| {
            cell.split("`, `").any(|form| form.split(['(', '`']).next() == Some(matcher))
        };
        assert!(first_cells().any(is_of_matcher), "attribute.md has no row for `{matcher}`");
    }
}

#[test]
fn every_word_of_a_curve_and_of_jitter_is_in_its_row() {
    for (option, words) in [("backoff", &backoff::NAMES[..]), ("jitter", &jitter::NAMES)] {
        let mut rows =
            ATTRIBUTE.lines().filter(|line| line.starts_with(&format!("| `{option} = ")));
        let row = rows.next().expect("a row");
        for word in words {
            assert!(row.contains(word), "the row of `{option}` lacks `{word}`");
        }
    }
}
