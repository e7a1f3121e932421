//! [`Stream`]: what a command writes to one of its pipes, as far as that is kept: the beginning
//! and the end, and how much is between.

use std::borrow::Cow;
use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::steps::mask::Masks;
use crate::steps::tap::{Sink, Tapped};

/// An excerpt has so much of the beginning, and as much of the end.
pub(super) const PART: usize = 16 * 1024;
/// What is cut in the middle of a character is no character.
const LONGEST_CHARACTER: usize = 4;

/// The beginning of a stream and its end, each with a margin, so that no half of a secret is
/// taken for something else.
pub(super) struct Stream {
    head: Vec<u8>,
    longest_head: usize,
    /// The last of what follows the head.
    tail: VecDeque<u8>,
    longest_tail: usize,
    /// So many bytes between the two are not kept.
    dropped: usize,
    tapped: Option<Tapped>,
}

impl Stream {
    /// Keeps so much of the beginning, and so much of the end.
    pub(super) fn new(head: usize, tail: usize, masks: &Masks) -> Self {
        let margin = masks.margin().max(LONGEST_CHARACTER);
        Self {
            head: Vec::new(),
            longest_head: head + margin,
            tail: VecDeque::new(),
            longest_tail: tail + margin,
            dropped: 0,
            tapped: None,
        }
    }

    /// All of it goes there, too.
    pub(super) fn tapped(mut self, masks: &Masks, sinks: Vec<Sink>) -> Self {
        self.tapped = (!sinks.is_empty()).then(|| Tapped::new(masks, sinks));
        self
    }

    /// Reads a stream to its end; a broken pipe is one.
    pub(super) async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            if let Some(tapped) = &mut self.tapped {
                tapped.take(&buffer[..read]);
            }
            self.take(&buffer[..read]);
        }
    }

    fn take(&mut self, part: &[u8]) {
        let room = self.longest_head.saturating_sub(self.head.len());
        let (first, rest) = part.split_at(part.len().min(room));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.longest_tail);
        self.tail.drain(..over);
        self.dropped += over;
    }

    /// The first of it, with its secrets, without the newlines at its end.
    pub(super) fn beginning(&self, masks: &Masks, longest: usize) -> String {
        let text = String::from_utf8_lossy(&self.head);
        let text = &text[..masks.cut(&text, longest)];
        without_newlines(text).to_owned()
    }

    /// The last of it.
    pub(super) fn end(&self, masks: &Masks, longest: usize) -> String {
        let text = self.last();
        let text = without_newlines(&text);
        without_nul(&masks.part(text, text.len().saturating_sub(longest)..text.len()))
    }

    /// The first and the last of it, and how much is left out between.
    pub(super) fn excerpt(&self, masks: &Masks) -> String {
        let last = self.last();
        if self.dropped == 0 {
            return excerpt(&last, masks);
        }
        let first = String::from_utf8_lossy(&self.head);
        let whole = self.head.len() + self.dropped + self.tail.len();
        joined(&first, &last, whole, masks)
    }

    /// All of it, or what is kept of its end.
    fn last(&self) -> Cow<'_, str> {
        if self.dropped == 0 && self.tail.is_empty() {
            return String::from_utf8_lossy(&self.head);
        }
        let mut bytes = if self.dropped == 0 { self.head.clone() } else { Vec::new() };
        bytes.extend(&self.tail);
        Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The first and the last of a text, and how much is left out between; all of it where that is no
/// more.
pub(super) fn excerpt(text: &str, masks: &Masks) -> String {
    if text.len() <= 2 * PART {
        return without_nul(without_newlines(&masks.masked(text)));
    }
    joined(text, text, text.len(), masks)
}

fn joined(first: &str, last: &str, whole: usize, masks: &Masks) -> String {
    let boundary = |text: &str, at: usize| {
        (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
    };
    let end = boundary(first, PART);
    let begin = boundary(last, last.len().saturating_sub(PART));
    let left_out = whole.saturating_sub(end + (last.len() - begin));
    let (first, last) = (masks.part(first, 0..end), masks.part(last, begin..last.len()));
    let text = format!("{first}\n[… {left_out} bytes are left out here …]\n{last}");
    without_nul(without_newlines(&text))
}

fn without_newlines(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// No command's business in a report, a list or a variable.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&[u8]], head: usize, masks: &Masks) -> Stream {
        let mut stream = Stream::new(head, PART, masks);
        for part in parts {
            stream.take(part);
        }
        stream
    }

    #[test]
    fn an_excerpt_says_how_much_is_left_out() {
        let masks = Masks::default();
        assert_eq!(read(&[b"a\nb\n"], PART, &masks).excerpt(&masks), "a\nb");
        for head in [PART, 4 * PART] {
            for most in [2 * PART, 2 * PART + 9, 3 * PART, 20 * PART] {
                let text: String = ('a'..='z').cycle().take(most).collect();
                let parts: Vec<_> = text.as_bytes().chunks(1_000).collect();
                let excerpt = read(&parts, head, &masks).excerpt(&masks);
                if most == 2 * PART {
                    assert_eq!(excerpt, text);
                } else {
                    let left_out = most - 2 * PART;
                    let (first, last) = (&text[..PART], &text[most - PART..]);
                    let expected =
                        format!("{first}\n[… {left_out} bytes are left out here …]\n{last}");
                    assert_eq!(excerpt, expected, "{head}, {most}");
                }
            }
        }
    }

    #[test]
    fn characters_and_secrets_are_never_cut_in_the_middle() {
        let secret = "gehäim";
        let masks = Masks::new([secret.to_owned()]);
        for shift in 0..20 {
            let text = format!("{}{}", "x".repeat(shift), secret.repeat(9 * PART / secret.len()));
            let parts: Vec<_> = text.as_bytes().chunks(777).collect();
            let stream = read(&parts, PART, &masks);
            for shown in [stream.excerpt(&masks), stream.end(&masks, 1_000)] {
                let left = shown.split("[…").map(|part| part.rsplit("…]").next().unwrap());
                let left: String = left.collect();
                assert!(left.chars().all(|c| "x*\n".contains(c)), "{shift}: {left}");
            }
        }
    }

    #[test]
    fn the_end_of_a_long_stream_is_its_own() {
        let masks = Masks::default();
        let text = format!("{}end\n", "x".repeat(10 * PART));
        assert!(read(&[text.as_bytes()], PART, &masks).end(&masks, 100).ends_with("xend"));
        assert_eq!(read(&[b"a\0b\n"], PART, &masks).end(&masks, 100), "a\u{fffd}b");
    }
}
