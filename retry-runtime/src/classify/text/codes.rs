//! Codes, where the text says that they are codes: HTTP statuses, SQLSTATEs, the numbers
//! of `MySQL`.

use core::ops::Range;

use super::Meaning;
use super::phrases::{OTHER_CODES, REASONS, STATUS_FILLERS, STATUS_WORDS, UNITS};
use crate::base::text::words::{Quoted, Word, Words, cut, ends, find, has, is_word_char, starts};
use crate::classify::{Class, sqlstate, status};

/// The class of the first HTTP status that the text names: empty for 4xx, `None` without one.
#[cfg(feature = "tonic")]
pub(in crate::classify) fn status_code(text: &str) -> Option<Class> {
    let words = Words::split(text);
    let code = (0..words.list.len()).find_map(|at| words.status_at(at))?;
    (code >= 400).then(|| status(code))
}

/// Returns where the text names HTTP statuses of failures, in bytes, except in quotes: what a
/// signature must not fold.
pub fn statuses(text: &str) -> Vec<Range<usize>> {
    let words = Words::split(text);
    let is_failure = |at: &usize| {
        words.word(*at).quoted == Quoted::No
            && words.status_at(*at).is_some_and(|code| (400..600).contains(&code))
    };
    let found = (0..words.list.len()).filter(is_failure);
    found.map(|at| words.word(at).start..words.word(at).end).collect()
}

impl Words<'_> {
    /// Finds the code at this word, if it is one.
    pub(super) fn find_code(&self, at: usize, find: &mut impl FnMut(usize, Meaning)) {
        if let Some(code) = self.status_at(at) {
            let class = status(code);
            if !class.is_empty() {
                find(at + 1, Meaning::Failure { class, is_event: false });
            } else if refuses(code) {
                find(at + 1, Meaning::ClientError);
            }
        }
        match self.smtp_at(at) {
            Some(true) => {
                find(at + 1, Meaning::Failure { class: Class::SERVER_ERROR, is_event: false });
            }
            Some(false) => find(at + 1, Meaning::Refusal { is_final: true }),
            None => {}
        }
        match self.json_rpc_at(at) {
            Some(class) if class.is_empty() => find(at + 1, Meaning::Refusal { is_final: false }),
            Some(class) => find(at + 1, Meaning::Failure { class, is_event: false }),
            None => {}
        }
        if self.is_lock_file(at) {
            find(at + 2, Meaning::Failure { class: Class::CONFLICT, is_event: true });
        }
        if self.is_redirect(at) {
            find(at + 1, Meaning::Failure { class: Class::SERVER_ERROR, is_event: false });
        }
        match self.sql_at(at) {
            Some(class) if class.is_empty() => find(at + 1, Meaning::Refusal { is_final: true }),
            Some(class) => find(at + 1, Meaning::Failure { class, is_event: false }),
            None => {}
        }
    }

    /// Returns whether the reply of a mail server at `at` passes: `450 4.2.0 …` does, `550 5.1.1 …`
    /// does not.
    fn smtp_at(&self, at: usize) -> Option<bool> {
        let word = self.word(at);
        let digits: [u8; 3] = word.text.as_bytes().try_into().ok()?;
        let mut after = self.after(at).strip_prefix([' ', '-'])?.bytes();
        let is_enhanced = after.next() == Some(digits[0])
            && after.next() == Some(b'.')
            && after.next().is_some_and(|digit| digit.is_ascii_digit());
        match digits[0] {
            _ if !is_enhanced || !digits.iter().all(u8::is_ascii_digit) => None,
            b'4' => Some(true),
            b'5' => Some(false),
            _ => None,
        }
    }

    /// Returns the class of the JSON-RPC code at `at`: `-32603`. The message decides for -32000.
    fn json_rpc_at(&self, at: usize) -> Option<Class> {
        let word = self.word(at);
        let before = self.before(at).strip_suffix(['-', '−'])?;
        if ends(before, is_word_char) {
            return None;
        }
        match word.text {
            "32005" => Some(Class::RATE_LIMIT),
            "32603" => Some(Class::SERVER_ERROR),
            "32700" | "32600" | "32601" | "32602" => Some(Class::empty()),
            _ => None,
        }
    }

    /// Returns whether another process holds a lock file: "'.git/index.lock': File exists".
    fn is_lock_file(&self, at: usize) -> bool {
        let before = self.before(at).trim_end_matches([' ', ':', '\'', '"', '`']);
        self.word(at).is("file")
            && before.strip_suffix("lock").is_some_and(|before| before.ends_with('.'))
            && self.word(at + 1).is("exists")
    }

    /// Returns whether a node of a Redis cluster names another one: "MOVED 3999 127.0.0.1:6381".
    fn is_redirect(&self, at: usize) -> bool {
        let is_slot = |word: &Word<'_>| word.text.parse().is_ok_and(|slot: u16| slot < 16_384);
        let is_address = || {
            let after = self.after(at + 1).trim_start();
            cut(after, 0, find(after, 0, char::is_whitespace))
                .rsplit_once(':')
                .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
        };
        self.word(at).is_in("moved ask")
            && matches!(self.glue(at + 1), " " | ": ")
            && is_slot(self.word(at + 1))
            && is_address()
    }

    /// The HTTP status at `at`, if the word there is one.
    pub(super) fn status_at(&self, at: usize) -> Option<u16> {
        let word = self.word(at);
        if word.text.len() != 3 || !word.text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let code = word.text.parse().ok()?;
        let counts_things = self.is_close(at + 1) && self.word(at + 1).is_in(UNITS);
        let is_status = !self.is_part_of_number(at)
            && !counts_things
            && (self.is_called_status(at) || self.has_reason(at));
        is_status.then_some(code)
    }

    /// Returns the class of the SQLSTATE at `at`, if the word there is one.
    fn sql_at(&self, at: usize) -> Option<Class> {
        let word = self.word(at);
        let is_state = word.text.len() == 5
            && word.text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
            && word.text.bytes().any(|b| b.is_ascii_digit());
        if !is_state {
            return None;
        }
        let before = |back| self.word(at.wrapping_sub(back));
        let number = |word: &Word<'_>| {
            if word.text.len() == 4 { word.text.parse::<u16>().ok() } else { None }
        };
        // "1213 (40001)", "ERROR 1213 (40001)"; "ERROR 40001 (1213)"
        let is_error = before(1).is("error") && self.is_close(at);
        let mysql = match self.glue(at) {
            " (" if self.ends_clause(at + 1) => number(before(1)),
            _ if is_error && self.glue(at + 1) == " (" => number(self.word(at + 1)),
            _ => None,
        };
        if let Some(number) = mysql {
            return sqlstate::mysql(number, word.text);
        }
        // "SQLSTATE 40P01", "SQLSTATE[40001]", "SQLState: 40001", "SQL state: 40001", and psql's
        // verbose form: "ERROR:  40001: could not serialize"
        let joined = before(1).is("sqlstate");
        let apart = before(1).is("state") && before(2).is("sql");
        let code_of_state = before(1).is("code") && before(2).is_in("sqlstate state");
        let psql = before(1).is_in("ERROR FATAL")
            && self.glue(at) == ":  "
            && self.glue(at + 1).starts_with(": ");
        (joined || apart || code_of_state || psql).then(|| sqlstate::sqlstate(word.text))?
    }

    /// Returns whether a text or a clause ends in front of this word: "1213 (40001): Deadlock
    /// found".
    fn ends_clause(&self, at: usize) -> bool {
        let glue = if at < self.list.len() { self.glue(at) } else { self.after(at - 1) };
        let after = glue.trim_start_matches(')');
        after.is_empty() || after.starts_with([':', ' ', '\n'])
    }

    fn is_part_of_number(&self, at: usize) -> bool {
        let (before, after) = (self.before(at), self.after(at));
        let digit_before = before
            .strip_suffix(['.', ','])
            .is_some_and(|before| ends(before, |c| c.is_ascii_digit()));
        let digit_after = after
            .strip_prefix(['.', ',', ':'])
            .is_some_and(|after| starts(after, |c| c.is_ascii_digit()));
        let sign = before.ends_with(['$', '#', '+', '@'])
            || before.strip_suffix('-').is_some_and(|before| ends(before, char::is_whitespace));
        digit_before || digit_after || sign || after.starts_with(['%', '_'])
    }

    /// Returns whether the words before the number say that it is a status.
    fn is_called_status(&self, at: usize) -> bool {
        let is_plain = |glue: &str| {
            !glue.contains([',', ';', '{', '}', ')'])
                && !"==|!=|<=|>=| < | > |. ".split('|').any(|part| has(glue, part))
        };
        let before = |back| self.word(at.wrapping_sub(back));
        let other_code = (1..=3).map(before).any(|word| word.is_in(OTHER_CODES));
        if other_code || !is_plain(self.glue(at)) {
            return false;
        }

        // "Error 429", "server error (503)", "error code: 502", `"code":503`
        let (word, second) = (before(1), before(2));
        if word.is("error") && matches!(self.glue(at), " " | " (" | " [" | "(" | "_" | "-") {
            // SMTP has codes of its own: "transient error (450)".
            let is_smtp = second.is_in("transient permanent");
            return !is_smtp && !self.has_place(at, at + 1);
        }
        // curl, and git, which runs it: "The requested URL returned error: 503"; "API Error: 529".
        let answers = "returned api http server request";
        if word.is("error") && second.is_in(answers) {
            return true;
        }
        let is_of_response = second.is_in("error response");
        if word.is("code") && (is_of_response || self.glue(at).starts_with('"')) {
            return true;
        }
        let speaks = "returned replied answered sent";
        let peers = "server api upstream endpoint service backend gateway proxy";
        if word.is_in(speaks) && second.is_in(peers) {
            return true;
        }

        // "HTTP/1.1 503", "HTTP response code: 503", "status was 503"
        for back in 1..=6 {
            let word = before(back);
            if word.is_in(STATUS_WORDS) {
                return true;
            }
            let version = word.text.len() == 1 && word.is_number();
            let passes = word.is_in(STATUS_FILLERS) || version;
            if !passes || !is_plain(self.glue(at - back)) {
                break;
            }
        }
        false
    }

    /// Returns whether the number is followed by a reason phrase that belongs to a status.
    fn has_reason(&self, at: usize) -> bool {
        let glue = self.glue(at + 1);
        let separated = !glue.contains([';', ',', '(', '\n']) && !has(glue, ". ");
        separated && REASONS.split('|').any(|reason| self.phrase_end(reason, at + 1).is_some())
    }
}

/// Returns whether the same call fails again after this status: 4xx, 501 and 505. Conflicts, locks,
/// "too early" and the like need not, and SMTP says 421 and 451 of a trouble that passes.
const fn refuses(code: u16) -> bool {
    matches!(code, 400..=499 | 501 | 505)
        && !matches!(code, 408 | 409 | 421 | 423 | 425 | 429 | 451)
}
