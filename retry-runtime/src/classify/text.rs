//! The class of an error that is known only by its text.
//!
//! The text is read as words, not as a sequence of characters: "1500ms" contains no "500", and
//! `timeout_ms` is one name. Words that also name a setting ("timeout", "rate limit") do not count
//! where the text is about the setting, and names that the text quotes (`user "timeout"`) do not
//! count at all.
//!
//! A phrase of the vocabulary may have gaps, name a kind of word ("could not", a peer), and stand
//! at the beginning or the end of a clause.
//!
//! The text is also read in parts, `a: b: c`, from the outside to the inside. A refusal
//! ("permission denied", a 4xx status) silences its own part and those before it; a part behind it
//! overrules it only with an event ("connection reset") in its own words.

mod codes;
mod connect;
mod phrases;

use self::phrases::{
    ALLOWANCES, CANNOT, ERROR_ENDINGS, FILLERS, KINDS, PEERS, PLACES, Phrase, PhraseMeaning,
    SETTING_AFTER, SETTING_BEFORE, SETTING_LABEL, Sense, THING_AFTER,
};
use super::Class;
use crate::base::quota_code::quota_code;
use crate::base::text::words::{Quoted, Word, Words, is_word_char, starts, step};

#[cfg(feature = "tonic")]
pub(super) use self::codes::status_code;
pub use self::codes::statuses;
pub(super) use self::connect::denies_connect;

/// Returns what kind of failure a text describes; for errors that are only text.
///
/// Recognises the messages of common clients and servers: operating systems, HTTP and gRPC,
/// databases, cloud APIs, the runtimes of other languages. Addresses (`https://…`, `/paths`) are
/// skipped, and so is everything past the first 16 KiB.
///
/// A refusal outweighs what else the text says, and what it quotes as a name says nothing. A code
/// of a quota that waiting does not renew, such as `insufficient_quota`, is a refusal too.
///
/// ```
/// use retry_runtime::{Class, classify};
///
/// assert_eq!(classify::text("HTTP/1.1 503 Service Unavailable"), Class::SERVER_ERROR);
/// assert_eq!(classify::text("deadlock detected"), Class::CONFLICT);
/// assert_eq!(classify::text("read 500 rows, then an invalid row"), Class::empty());
/// assert_eq!(classify::text("invalid value for field timeout_ms"), Class::empty());
/// assert_eq!(classify::text("could not connect: permission denied"), Class::empty());
/// assert_eq!(classify::text("database \"timeout\" does not exist"), Class::empty());
/// ```
pub fn text(text: &str) -> Class {
    read(text).unwrap_or_default()
}

/// Returns the meaning of a text: a class, an empty one if it refuses, or nothing.
pub(super) fn read(text: &str) -> Option<Class> {
    let words = Words::split(text);
    if quota_code(words.text).is_some() {
        return Some(Class::empty());
    }
    let findings = words.findings();
    let class = weigh(&findings)?;
    Some(if connect::is_connect(&words, &findings) { class | Class::CONNECT } else { class })
}

/// Something that a text says.
#[derive(Debug)]
struct Finding {
    /// The words that say it.
    from: usize,
    to: usize,
    /// The part that it stands in.
    part: usize,
    meaning: Meaning,
}

impl Finding {
    fn is_failure(&self) -> bool {
        step();
        matches!(self.meaning, Meaning::Failure { .. })
    }
}

#[derive(Debug)]
enum Meaning {
    /// A failure that passes. An event, in the text's own words, overrules refusals before it.
    Failure { class: Class, is_event: bool },
    /// A failure that lasts, in words or as a code. If it is final, nothing overrules it.
    Refusal { is_final: bool },
    /// An HTTP status that is a failure of the caller.
    ClientError,
}

/// Returns the class that follows from the findings, which are in the order of their first words.
fn weigh(findings: &[Finding]) -> Option<Class> {
    let refusals = refusals(findings);
    if refusals.iter().any(|refusal| matches!(refusal.meaning, Meaning::Refusal { is_final: true }))
    {
        return Some(Class::empty());
    }
    let last_refusal = refusals.iter().map(|refusal| refusal.part).max();
    let only_status =
        refusals.iter().all(|refusal| matches!(refusal.meaning, Meaning::ClientError));

    let class = findings.iter().fold(Class::empty(), |class, finding| match finding.meaning {
        Meaning::Failure { class: found, is_event } => {
            let counts = last_refusal.is_none_or(|last| {
                // GitHub's rate limits are 403s, the rate limits of AWS 400s.
                let is_rate_limit = only_status && found.contains(Class::RATE_LIMIT);
                (is_event && finding.part > last) || is_rate_limit
            });
            if counts { class | found } else { class }
        }
        _ => class,
    });
    match last_refusal {
        None if class.is_empty() => None,
        _ => Some(class.settled()),
    }
}

/// Returns the refusals that are not part of a failure: "no such host" is a failure of the network,
/// though it begins with "no such". Looks at each finding once.
fn refusals(findings: &[Finding]) -> Vec<&Finding> {
    let mut refusals = Vec::new();
    // The end of the longest failure so far.
    let mut failed_to = 0;
    for at_one_word in findings.chunk_by(|one, other| one.from == other.from) {
        let failures = at_one_word.iter().filter(|finding| finding.is_failure());
        failed_to = failures.map(|failure| failure.to).fold(failed_to, usize::max);
        refusals.extend(at_one_word.iter().filter(|finding| match finding.meaning {
            Meaning::Failure { .. } => false,
            Meaning::Refusal { .. } => finding.to > failed_to,
            Meaning::ClientError => true,
        }));
    }
    refusals
}

impl Words<'_> {
    /// All that the text says.
    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for at in 0..self.list.len() {
            self.find_at(at, &mut findings);
        }
        findings
    }

    /// Adds what the text says at this word.
    fn find_at(&self, at: usize, findings: &mut Vec<Finding>) {
        let word = self.word(at);
        let quoted = word.quoted;
        if quoted == Quoted::Name {
            return;
        }
        let mut find = |to: usize, meaning: Meaning| {
            let part = self.word(to - 1).part;
            findings.push(Finding { from: at, to, part, meaning });
        };
        let letter = word.text.bytes().next().unwrap_or_default().to_ascii_lowercase();
        let kinds = KINDS.split(' ').filter(|kind| self.token_end(kind, at).is_some());
        let initials = core::iter::once(letter).chain(kinds.map(phrases::initial));
        for phrase in initials.flat_map(phrases::beginning_with) {
            if let Some(end) = phrase.end_at(self, at) {
                let is_event = phrase.sense == Sense::Event && quoted == Quoted::No;
                find(
                    end,
                    match phrase.says {
                        PhraseMeaning::Failure(class) => Meaning::Failure { class, is_event },
                        PhraseMeaning::Refusal => Meaning::Refusal { is_final: false },
                        PhraseMeaning::FinalRefusal => Meaning::Refusal { is_final: true },
                        PhraseMeaning::CallerRefusal => Meaning::ClientError,
                    },
                );
            }
        }
        if let Some(end) = self.sending_end(at) {
            find(end, Meaning::Failure { class: Class::NETWORK, is_event: false });
        }
        self.find_code(at, &mut find);
    }
}

/// The rules that read a class off the words of a text.
impl Words<'_> {
    /// Returns the end of the words of `phrase` at `at`; `None` if they are not there.
    fn phrase_end(&self, phrase: &str, at: usize) -> Option<usize> {
        self.rest_end(phrase, at, Gap::Start)
    }

    /// Returns the end of the rest of a phrase, which begins at `next` or behind the gap there.
    fn rest_end(&self, phrase: &str, next: usize, gap: Gap) -> Option<usize> {
        let (expected, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
        match expected {
            // "undefined: x"
            "" if gap == Gap::Punctuation => self.glue(next).starts_with(':').then_some(next),
            "" => Some(next),
            "~" => self.rest_end(rest, next, Gap::Fillers),
            "*" => self.rest_end(rest, next, Gap::Words),
            ":" => self.rest_end(rest, next, Gap::Punctuation),
            // A clause begins where the word before it is not close.
            "^" | "$" if next != 0 && next < self.list.len() && self.is_close(next) => None,
            "^" | "$" => self.rest_end(rest, next, gap),
            _ => (next..=next + gap.most_words())
                .take_while(|&at| self.is_within(gap, next, at))
                .find_map(|at| self.rest_end(rest, self.token_end(expected, at)?, Gap::None)),
        }
    }

    /// Returns whether a gap that begins at `from` may reach from the word before `at` to `at`.
    fn is_within(&self, gap: Gap, from: usize, at: usize) -> bool {
        if at >= self.list.len() {
            return false;
        }
        let before = self.word(at.wrapping_sub(1));
        match gap {
            Gap::Start | Gap::Punctuation => true,
            Gap::Words => self.word(at).part == before.part,
            Gap::None => self.is_close(at),
            Gap::Fillers => self.is_close(at) && (at == from || adds_nothing(before)),
        }
    }

    /// Returns the end of the word at `at` if it is `expected`, or of that kind.
    fn token_end(&self, expected: &str, at: usize) -> Option<usize> {
        step();
        let word = self.word(at);
        let is_found = match expected {
            "#" => word.is_number(),
            "@peer" => word.is_in(PEERS),
            "@allowance" => word.is_in(ALLOWANCES),
            "@cannot" => {
                let is_next = |second| self.is_close(at + 1) && self.word(at + 1).is(second);
                return CANNOT.split('|').find_map(|cannot| match cannot.split_once(' ') {
                    None => word.is(cannot).then_some(at + 1),
                    Some((first, second)) => (word.is(first) && is_next(second)).then_some(at + 2),
                });
            }
            _ => word.is(expected),
        };
        is_found.then_some(at + 1)
    }

    /// Returns the end of reqwest's words at `at`, which leave out their cause. Over `https` the
    /// cause may be a certificate.
    fn sending_end(&self, at: usize) -> Option<usize> {
        let end = self.phrase_end("error sending request", at)?;
        let is_https = self.after(end - 1).starts_with(" for url (https:");
        (!is_https).then_some(end)
    }

    /// Returns whether the words `from..to` stand beside a place in a file: "in column 3", "line
    /// 9:".
    fn has_place(&self, from: usize, to: usize) -> bool {
        let is_place = |at: usize| self.word(at).is_in(PLACES) && self.word(at + 1).is_number();
        (to..to + 4).any(is_place) || from.checked_sub(2).is_some_and(is_place)
    }

    /// Returns whether the words `from..to` are a whole identifier, or the part of one that
    /// determines its meaning: `ConnectTimeout`, `ERR_CONNECTION_RESET`, but not `timeout_ms`.
    fn is_head(&self, from: usize, to: usize, sense: Sense) -> bool {
        let mut last = to;
        while self.is_joined(last) {
            let word = self.word(last);
            // `FLOOD_WAIT_42`: an amount.
            let is_amount =
                sense != Sense::Noun && word.text.bytes().all(|byte| byte.is_ascii_digit());
            if !is_amount && !word.is_in(ERROR_ENDINGS) {
                return false;
            }
            last += 1;
        }
        let mut first = from;
        while self.is_joined(first) {
            first -= 1;
        }
        // The name of a test.
        if first < from && self.word(first).is("test") {
            return false;
        }
        let named_error = last > to;
        let capitalised = starts(self.word(first).text, |c| c.is_ascii_uppercase());
        first == from || named_error || capitalised || sense != Sense::Noun
    }

    /// Returns whether the words `from..to` name a setting rather than an event.
    fn is_setting(&self, from: usize, to: usize) -> bool {
        let (before, after) = (self.before(from), self.after(to - 1));
        let unquoted = after.trim_start_matches(['"', '\'', '`']);
        let quoted = unquoted.len() < after.len();
        let is_key = unquoted.starts_with('=') || (quoted && unquoted.starts_with(':'));
        let lower = starts(self.word(from).text, char::is_lowercase);
        let dotted_before = before.ends_with('.');
        let is_joined_by =
            |sign| after.strip_prefix(sign).is_some_and(|after| starts(after, is_word_char));
        let dotted_after = is_joined_by('.');
        // Rust libraries quote names in this way, and nothing else.
        let is_name = before.ends_with('`') && after.starts_with('`');
        // `timeout-consumers` is the name of something.
        let is_compound = lower && is_joined_by('-');
        let is_option = before.ends_with("--");
        if is_key
            || is_name
            || is_compound
            || is_option
            || (lower && (dotted_before || dotted_after))
        {
            return true;
        }

        for at in (from.saturating_sub(3)..from).rev() {
            let word = self.word(at);
            if !self.is_close(at + 1) {
                if word.is_in(SETTING_LABEL) {
                    return true;
                }
                break;
            }
            if word.is_in(SETTING_BEFORE) {
                return true;
            }
        }
        (to..self.list.len().min(to + 3))
            .take_while(|&at| self.is_close(at) || self.glue(at).trim() == ":")
            .any(|at| self.word(at).is_in(SETTING_AFTER))
    }
}

impl Phrase {
    /// Returns where the phrase, found at `at`, ends; `None` if it is not there, or means nothing
    /// there.
    fn end_at(&self, words: &Words<'_>, at: usize) -> Option<usize> {
        let end = words.phrase_end(self.words, at)?;
        let is_head = || words.is_head(at, end, self.sense);
        let counts = match self.sense {
            Sense::Anywhere => true,
            // "connection reset token": a thing.
            Sense::Event => {
                is_head() && !(words.is_close(end) && words.word(end).is_in(THING_AFTER))
            }
            Sense::Noun => is_head() && !words.is_setting(at, end),
            Sense::Eof => is_head() && !words.is_setting(at, end) && !words.has_place(at, end),
            Sense::Name => is_head() && (at + 1..end).all(|at| words.is_joined(at)),
            Sense::Capitals => {
                is_head() && words.word(at).text.bytes().all(|byte| byte.is_ascii_uppercase())
            }
        };
        counts.then_some(end)
    }
}

/// The words and the punctuation that may stand in front of a word of a phrase.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Anything: the phrase begins.
    Start,
    None,
    /// Any punctuation, and no word.
    Punctuation,
    /// Words that add nothing.
    Fillers,
    /// Any words of the same part.
    Words,
}

impl Gap {
    const fn most_words(self) -> usize {
        match self {
            Self::Fillers | Self::Words => LONGEST_GAP,
            Self::Start | Self::None | Self::Punctuation => 0,
        }
    }
}

/// The most words of a gap. With this limit, the time grows linearly with the text.
const LONGEST_GAP: usize = 8;

/// Returns whether the word is a filler or an amount: "the deadline of 5s has passed".
fn adds_nothing(word: &Word<'_>) -> bool {
    word.is_in(FILLERS) || word.is_number()
}

#[cfg(test)]
mod tests;
