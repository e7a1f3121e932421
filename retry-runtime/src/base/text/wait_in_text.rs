//! The wait that a text states: "try again in 8s", "retry after 27 seconds", "wait 20 seconds".

use core::time::Duration;

use crate::base::text::amount::time;
use crate::base::text::words::{Quoted, Word, Words, cut, find, has, is_word_char};

/// The words that announce a wait.
const ANNOUNCING: &str = "try retry retried wait available";
/// The words directly before a wait. After "wait", none is needed.
const BEFORE: &str = "in after for";
/// The words that report a time that has passed: "retry failed after 30s".
#[rustfmt::skip]
const PAST: &str =
    "failed timed expired gave aborted exceeded exhausted reached stopped elapsed ended";
/// The words directly before "wait" and the like that make it a sum or a setting.
const MEASURING: &str = "total max maximum";
/// The words before "available" that make it a report. The last one ends "isn't".
const NEGATIONS: &str = "no not t";
/// The most characters between the word that announces a wait and the wait.
const LONGEST_WINDOW: usize = 60;

/// Returns the last wait above zero that the text states.
pub(crate) fn wait_in_text(text: &str) -> Option<Duration> {
    let words = Words::split(text);
    let is_cut = words.text.len() < text.len();
    let mut waits = (1..words.list.len()).rev().filter_map(|at| words.wait_at(at, is_cut));
    waits.find(|wait| !wait.is_zero())
}

impl Words<'_> {
    /// Returns the wait that begins at this word, if the words before it announce one.
    fn wait_at(&self, at: usize, is_cut: bool) -> Option<Duration> {
        let number = self.word(at);
        if !number.is_number() || number.quoted == Quoted::Name || !self.is_announced(at) {
            return None;
        }
        let (wait, rest) = time(cut(self.text, number.start, self.text.len()))?;
        let rest_of_text = rest.trim_start();
        let next = cut(rest_of_text, 0, find(rest_of_text, 0, |c| !is_word_char(c)));
        let is_past = next.eq_ignore_ascii_case("ago");
        // The rest of a unit may be missing: `8m` of `8ms`.
        let is_whole = !(is_cut && rest.is_empty());
        (is_whole && !is_past).then_some(wait)
    }

    /// Returns whether the words before a number announce a wait, in the same sentence.
    fn is_announced(&self, at: usize) -> bool {
        let (before, start) = (at - 1, self.word(at).start);
        let is_plain = |c: char| c.is_whitespace() || ":=~(_\"'`".contains(c);
        // `lock_wait=5s` is a setting.
        let is_measure = |at: usize| self.is_close(at) && self.word(at - 1).is_in(MEASURING);
        let announces = |at: usize| {
            self.word(at).is_in(ANNOUNCING) && !self.is_joined(at) && !(at > 0 && is_measure(at))
        };
        if !self.glue(at).chars().all(is_plain) {
            return false;
        }
        if !self.word(before).is_in(BEFORE) {
            return self.word(before).is("wait") && announces(before);
        }
        let is_near = |&at: &usize| {
            let between = cut(self.text, self.word(at).end, start);
            between.chars().count() <= LONGEST_WINDOW
                && self.word(at).part == self.word(before).part
                && !". |! |? ".split('|').any(|end| has(between, end))
        };
        let decides = |&at: &usize| announces(at) || self.word(at).is_in(PAST);
        // "not available for 8s", "failed at try 3 after 8s".
        let reports = |at: usize| {
            if self.word(at).is("available") {
                (0..at).rev().take_while(is_near).any(|at| self.word(at).is_in(NEGATIONS))
            } else {
                self.list[at..before].iter().any(Word::is_number)
            }
        };
        let asks = |at| announces(at) && (self.word(before).is("in") || !reports(at));
        (0..before).rev().take_while(is_near).find(decides).is_some_and(asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::text::words::LONGEST_TEXT;

    #[track_caller]
    fn assert_millis(text: &str, millis: Option<u128>) {
        assert_eq!(wait_in_text(text).map(|wait| wait.as_millis()), millis, "{text}");
    }

    #[test]
    fn a_number_with_a_unit_after_an_announcement_is_a_wait() {
        for (text, millis) in [
            ("Please try again in 8s.", 8_000),
            ("Please try again in 6m0s. Visit https://h/limits to learn more.", 360_000),
            ("Please retry in 37.547083982s.", 37_547),
            ("Please retry in 59.999999999999s", 59_999),
            ("retry in 1m30s", 90_000),
            ("retry after 27 seconds", 27_000),
            ("Retry-After: 27 seconds", 27_000),
            ("429 (retry_after=1.5s)", 1_500),
            (r#"{"retryAfter": "30s"}"#, 30_000),
            ("wait 20 seconds", 20_000),
            ("Please wait (20 Seconds) and call again", 20_000),
            ("wait for 1 minute and 30 seconds", 90_000),
            ("wait for 1 hour, 2 minutes, and 3 seconds", 3_723_000),
            ("the model is available in ~20s", 20_000),
            ("it can be retried after:\n5 min", 300_000),
            ("try again in 10 ms", 10),
            ("try again in 2 mins", 120_000),
            ("try again in 3 days", 259_200_000),
            ("try again in 2 h, 20 requests are left", 7_200_000),
            ("try again in 8s, 9s at most", 8_000),
            ("retry limit exceeded, try again in 8s", 8_000),
            ("not available: try again in 8s", 8_000),
            ("There is no model yet. One is available after 8s", 8_000),
            ("please retry gpt 4 in 8s", 8_000),
            ("Réessayez — try again in 8s… à bientôt", 8_000),
            ("error: \"Slow down. Try again in 8s\"", 8_000),
        ] {
            assert_millis(text, Some(millis));
        }
        for micro in ['µ', 'μ', 'u'] {
            let wait = wait_in_text(&format!("retry in 1500 {micro}s"));
            assert_eq!(wait, Some(Duration::from_micros(1_500)));
        }
        let endless = "99999999999999999999";
        assert_eq!(wait_in_text(&format!("retry in {endless} h")), Some(Duration::MAX));
        assert_eq!(
            wait_in_text(&format!("retry in {endless}s")),
            Some(Duration::from_secs(u64::MAX))
        );
    }

    #[test]
    fn anything_else_is_not_a_wait() {
        for text in [
            "",
            "retry",
            "8s",
            "after 8s",
            "retry after 8",
            "retry after 8 retries",
            "retry after 8.s",
            "retry after .5s",
            "retry after 1.5.0 seconds",
            "retry after 1,000 ms",
            "retry after 5-10 seconds",
            "retry after -8 seconds",
            "retry after −8 seconds",
            "retry after +8s",
            "retry after 0x10s",
            "retry after 1e3 s",
            "retry after ٣ seconds",
            "retry after ８s",
            "retry after 8秒",
            "retry after 8s秒",
            "retry after 8s4",
            "retry after 8s_max",
            "retry after 8 minsk",
            "retry after 8 parsecs",
            "retry after 0 seconds",
            "retry after 8 seconds ago",
            "the last try was made; after 8s it ended",
            "We try. It ends in 8s",
            "retry failed after 30s",
            "wait timed out after 30s",
            "retrying in 8s",
            "unavailable for 8s",
            "not available for 8s",
            "no upstream is available after 8s",
            "503: no upstream available for 30s",
            "503: retry limit exceeded after 30s",
            "retries exhausted; retry limit reached after 30s",
            "the wait ended after 30s",
            "503 on try 3 after 20s",
            "retry #2 for 20s",
            "429 (total wait 20s)",
            "total wait: 20s",
            "max wait 20s",
            "wait at least, 8s",
            "lock_wait=50s",
            "max_retry_after=1h",
            "user \"try again in 8s\" is unknown",
            "https://h/?retry-in=8s",
            "/try/again in/8s",
        ] {
            assert_millis(text, None);
        }
    }

    #[test]
    fn the_window_is_measured_in_characters() {
        for filler in ["x", "é"] {
            let text = |length: usize| format!("retry {} after 8s", filler.repeat(length));
            assert_millis(&text(52), Some(8_000));
            assert_millis(&text(53), None);
        }
    }

    #[test]
    fn the_last_of_several_waits_counts() {
        assert_millis("503, retry in 1s\n503, retry in 2s\n429: try again in 30s", Some(30_000));
        assert_millis("try again in 8s; retry after 0 seconds", Some(8_000));
    }

    #[test]
    fn a_cut_text_states_its_wait_or_none() {
        let text = "429: please try again in 8 minutes, 30 seconds";
        for (end, _) in text.char_indices() {
            let cut = wait_in_text(&text[..end]);
            assert!(cut.is_none_or(|wait| wait.as_secs() >= 480), "{}", &text[..end]);
        }
        // The end of what is read.
        let cut = |text: &str, rest: &str| {
            format!("{}{text}{rest}", " ".repeat(LONGEST_TEXT - text.len()))
        };
        assert_millis(&cut("try again in 8m", ""), Some(480_000));
        assert_millis(&cut("try again in 8m", "s"), None);
        assert_millis(&cut("try again in 8m ", "s"), Some(480_000));
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let pieces =
            ["try ", "in ", "wait ", "after:", "8", "s", "m", ".", ",", "é", "µ", " ", "\"", "_"];
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..24 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            let _ = wait_in_text(&text);
        }
    }
}
