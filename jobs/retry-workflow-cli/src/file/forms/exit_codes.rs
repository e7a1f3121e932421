//! `exit_code` in `retry_on` and `abort_on` of a step.

use std::ops::RangeInclusive;

use super::Forms;
use crate::steps::exit_codes::ExitCodes;
use crate::yaml::node::{Node, Value};

pub(super) const EXIT_CODE: &str = "exit_code";

/// Other names that are written for the key.
const MISTAKEN_NAMES: [&str; 6] =
    ["exit_codes", "exitcode", "exit", "exit_status", "code", "codes"];

impl Forms<'_> {
    /// Takes the exit codes out of a list of matchers; returns the others, and the codes if there
    /// are any.
    pub(super) fn exit_codes<'a>(
        &mut self,
        list: &'a [Node],
        is_alone: bool,
    ) -> (Vec<&'a Node>, Option<ExitCodes>) {
        let mut codes = None;
        let mut others = Vec::new();
        for matcher in list {
            if let Some(written) = bare_code(matcher) {
                let (open, close) = if is_alone { ("[", "]") } else { ("", "") };
                let cure = format!("{open}{{ {EXIT_CODE}: {written} }}{close}");
                self.wrong(matcher.span, format!("to match an exit code, write `{cure}`"));
                continue;
            }
            let Value::Map(entries) = &matcher.value else {
                others.push(matcher);
                continue;
            };
            match entries.as_slice() {
                [(key, value)] if key.name == EXIT_CODE => {
                    let ExitCodes(known) = codes.get_or_insert_default();
                    known.extend(self.codes(value));
                }
                [(key, _)] if MISTAKEN_NAMES.contains(&key.name.as_str()) => {
                    let message = format!("`{}`: did you mean `{EXIT_CODE}`?", key.name);
                    self.wrong(key.span, message);
                }
                entries if entries.iter().any(|(key, _)| key.name == EXIT_CODE) => {
                    self.wrong(matcher.span, "each matcher is an entry of its own");
                }
                _ => others.push(matcher),
            }
        }
        (others, codes)
    }

    /// A code, a range of codes, or a list of them.
    fn codes(&mut self, node: &Node) -> Vec<RangeInclusive<u8>> {
        if node.each().is_empty() {
            self.wrong(node.span, "this list is empty: write exit codes, such as `[75, 137]`");
        }
        node.each().iter().filter_map(|node| self.code(node)).collect()
    }

    fn code(&mut self, node: &Node) -> Option<RangeInclusive<u8>> {
        let text = node.scalar();
        let range = text.as_deref().and_then(range);
        let message = match range {
            Some((0, _) | (_, 0)) => {
                "0 is success, which is not retried: exit codes of failures are 1 to 255"
            }
            Some((256.., _) | (_, 256..)) => "exit codes are 1 to 255",
            Some((first, last)) if first > last => {
                let cure = format!("this range ends before it begins: write `{last}-{first}`");
                return self.refuse(node.span, cure);
            }
            Some((first, last)) => {
                let code = |code| u8::try_from(code).ok();
                return Some(code(first)?..=code(last)?);
            }
            None => {
                "this is not an exit code: write one such as `75`, a range such as `64-78`, or a \
                     list of them"
            }
        };
        self.refuse(node.span, message)
    }
}

/// The first and the last of a range: `75`, `64-78`.
fn range(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match text.split_once('-') {
        Some((first, last)) => Some((number(first)?, number(last)?)),
        None => number(text).map(|code| (code, code)),
    }
}

/// A code or a range that is written as a matcher, such as `75`, or `"exit_code: 75"` in quotes. A
/// larger number is the status of a server.
fn bare_code(node: &Node) -> Option<String> {
    let text = node.scalar()?;
    let code = match text.split_once([':', '=', ' ']) {
        Some((name, code)) if name == EXIT_CODE || MISTAKEN_NAMES.contains(&name) => code.trim(),
        _ => text.trim(),
    };
    let (first, last) = range(code)?;
    (1 <= first && first <= last && last <= 255).then(|| code.to_owned())
}
