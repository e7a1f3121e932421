//! Suggestions for unknown words.

use std::borrow::{Cow, ToOwned as _};
use std::format;
use std::string::String;
use std::vec::Vec;

use crate::duration::parse;
use crate::foreign_names::{ForeignName, cures, in_file, plain, word_here};

/// Returns the known word closest to this one, if any is close enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest(word, known).map(|(_, known)| known)
}

/// Returns the closest word and its distance: at most a quarter of its letters differ.
fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&lower, &known.to_lowercase()), known))
        .filter(|(distance, known)| *distance <= (known.len() + 1) / 4)
        .min_by_key(|(distance, _)| *distance)
}

/// Returns the settings, in the syntax of the attribute, that an unknown one with the value
/// `written` may stand for: as in the libraries of the `tables`, or else misspelt, here or there.
pub fn settings_meant(
    word: &str,
    written: &str,
    known: &[&str],
    tables: &[&[ForeignName]],
) -> Vec<String> {
    let there = |word: &str| -> Vec<_> {
        tables.iter().flat_map(|table| cures(word, written, table)).collect()
    };
    // The unit at the end of a name belongs to the value: `timeout_secs = 10`.
    let unit = word.rsplit_once('_').filter(|(_, unit)| parse(&format!("1{unit}")).is_ok());
    if let Some((name, unit)) = unit {
        let ours = known.contains(&name).then(|| name.to_owned());
        let meant = ours.or_else(|| there(name).into_iter().find(|meant| !meant.contains('=')));
        let number = if written.is_empty() { "10" } else { written };
        match (meant, number.parse::<u64>()) {
            (Some(meant), Ok(_)) => return Vec::from([format!("{meant} = \"{number}{unit}\"")]),
            (Some(meant), Err(_)) => return Vec::from([meant]),
            (None, _) => {}
        }
    }
    let exact = there(word);
    if !exact.is_empty() {
        return exact;
    }
    let names = tables.iter().copied().flatten().flat_map(|(names, _)| names.split(' '));
    let (ours, theirs) = (closest(word, known.iter().copied()), closest(&plain(word), names));
    match (ours, theirs) {
        (ours, Some((distance, name))) if ours.is_none_or(|(ours, _)| distance < ours) => {
            there(name)
        }
        (ours, _) => ours.map(|(_, known)| known.to_owned()).into_iter().collect(),
    }
}

/// Returns the known word that this one stands for: as in other libraries and tools, or misspelt.
pub fn meant<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    word_here(word, known).or_else(|| nearest(word, known.iter().copied()))
}

/// Returns the key of a file that an unknown one stands for, with an example of its value where one
/// helps: as in the libraries of the `tables`, or misspelt.
pub fn key_meant(word: &str, known: &[&str], tables: &[&[ForeignName]]) -> Option<String> {
    if let Some(here) = word_here(word, known) {
        return Some(here.to_owned());
    }
    let meant = settings_meant(word, "", known, tables).into_iter().map(|meant| in_file(&meant));
    let is_known = |meant: &String| known.contains(&meant.split(':').next().unwrap_or_default());
    let mut meant = meant.filter(is_known);
    meant.next().or_else(|| nearest(word, known.iter().copied()).map(str::to_owned))
}

/// Returns the beginning of a value, if it is too long for a message.
pub fn shortened(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(200) {
        Some((end, _)) => Cow::Owned(format!("{}…", &value[..end])),
        None => Cow::Borrowed(value),
    }
}

/// Returns a message with the values in it [shortened]: those in quotes, and any that make a line too
/// long to be read.
pub fn shortened_values(message: &str) -> String {
    let mut lines = Vec::new();
    for line in message.split('\n') {
        let (mut short, mut open) = (String::new(), None);
        for part in line.split_inclusive(['`', '"']) {
            let (value, quote) = part.split_at(part.trim_end_matches(['`', '"']).len());
            let value = if open.is_some() { shortened(value) } else { value.into() };
            short = short + &value + quote;
            if open.is_none_or(|open| open == quote) {
                open = open.is_none().then_some(quote);
            }
        }
        let length = short.chars().count();
        if length > 1_000 {
            let end = short.chars().skip(length - 300);
            short = short.chars().take(600).chain(['…']).chain(end).collect();
        }
        lines.push(short);
    }
    lines.join("\n")
}

/// Returns what follows an error about an unknown word: what was `meant`, or else the known words.
/// Of more than twelve, only `all`, which names the place of their list, if any.
pub fn instead(meant: Option<&str>, known: &[&str], all: &str) -> String {
    if let Some(meant) = meant {
        return format!(": did you mean `{meant}`?");
    }
    if known.is_empty() {
        return ": there is none".to_owned();
    }
    if known.len() <= 12 {
        let one_of = if known.len() == 1 { "" } else { "one of " };
        return format!(": expected {one_of}`{}`", known.join("`, `"));
    }
    if all.is_empty() { String::new() } else { format!(": {all} lists all") }
}

/// Returns the number that a text stands for, as it is written without quotes: `0.95` for `95%`.
pub fn number_meant(text: &str) -> Option<String> {
    let percent = text.trim().strip_suffix('%').map(|number| (number, 100.0));
    let (number, divisor) = percent.unwrap_or((text, 1.0));
    let number = crate::duration::with_point(number.trim())?.parse::<f64>().ok()?;
    number.is_finite().then(|| format!("{:?}", number / divisor))
}

/// Creates the error for a word in a file that is not one of the `known` ones.
///
/// Not serde's `unknown_variant`: YAML readers report the place only for `custom` errors.
#[cfg(feature = "serde")]
pub fn unknown_word<E: serde::de::Error>(
    word: &str,
    known: &[&str],
    expected: &dyn serde::de::Expected,
) -> E {
    let word = &*shortened(word);
    E::custom(match meant(word, known) {
        // A known word in another form is misplaced, not misspelt.
        Some(meant) if meant != word => format!("\"{word}\": did you mean `{meant}`?"),
        _ => format!("\"{word}\": expected {expected}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_an_unknown_word_names_only_what_exists() {
        assert_eq!(instead(None, &[], "a list"), ": there is none");
        let many = ["one"; 13];
        assert_eq!(instead(None, &many, "a list"), ": a list lists all");
        assert_eq!(instead(None, &many, ""), "");
    }

    #[test]
    fn values_in_a_message_are_shortened() {
        for message in ["", "`a` is \"b\": write `c`\n\nor `d", "x\n", &"many words ".repeat(90)] {
            assert_eq!(shortened_values(message), message);
        }
        let (long, short) = ("é".repeat(300), "é".repeat(200));
        for quote in ['`', '"'] {
            let message = |value| format!("the {quote}{value}{quote} here: write `x`\nor \"y\"");
            assert_eq!(shortened_values(&message(&long)), message(&format!("{short}…")));
        }
        let quoted = shortened_values(&format!("`key: \"{long}\"` is not one"));
        assert_eq!(quoted, format!("`key: \"{short}…\"` is not one"));
        // Values that contain quotes, and that are not in quotes.
        for value in ["é`".repeat(9_000), "é\" ".repeat(9_000), "é".repeat(9_000)] {
            let shown = shortened_values(&format!("{value} is wrong: write `x`"));
            assert!(shown.chars().count() <= 1_000 && shown.ends_with(" is wrong: write `x`"));
        }
    }

    #[test]
    fn a_comma_that_may_separate_thousands_is_no_point() {
        assert_eq!(number_meant("95,5%").as_deref(), Some("0.955"));
        for text in ["1,000", "1,000%", "1,000,00", "0,5,"] {
            assert_eq!(number_meant(text), None, "{text}");
        }
    }
}
