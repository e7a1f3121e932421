//! [`Stream`]: what is kept of the output that a command writes to one of its pipes: the beginning
//! and the end, and the number of bytes in between.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Read;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::steps::mask::Masks;
use crate::steps::tap::{Sink, Tapped};

/// The length of each part of an excerpt. There are four: the beginning and the end of each of the
/// two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt(usize);

impl Excerpt {
    /// The default limit, in bytes.
    pub(crate) const DEFAULT: usize = 64 * 1024;
    /// The largest limit.
    pub(crate) const MOST: usize = 1024 * 1024;

    /// Creates an excerpt from the limit for both streams together.
    pub(crate) fn of_both(bytes: usize) -> Self {
        Self(bytes.min(Self::MOST) / 4)
    }

    /// Returns how much of the end of a successful output is kept, for both streams together.
    pub(crate) fn of_success(self) -> usize {
        const MOST: usize = 1024;
        self.0.saturating_mul(4).min(MOST)
    }

    /// The limit for the beginning and for the end of a stream.
    pub(super) const fn part(self) -> usize {
        self.0
    }
}

impl Default for Excerpt {
    fn default() -> Self {
        Self::of_both(Self::DEFAULT)
    }
}

/// The number of further bytes to keep, so that no character is cut in the middle.
const LONGEST_CHARACTER: usize = 4;

/// The beginning and the end of a stream, each with a margin, so that half a secret is not mistaken
/// for ordinary text.
pub(crate) struct Stream {
    head: Vec<u8>,
    longest_head: usize,
    /// The end of what follows the head.
    tail: VecDeque<u8>,
    longest_tail: usize,
    /// The number of bytes omitted between the two.
    dropped: usize,
    tapped: Option<Tapped>,
}

impl Stream {
    /// Keeps this many bytes of the beginning and of the end.
    pub(crate) fn new(head: usize, tail: usize, masks: &Masks) -> Self {
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

    /// Copies the whole stream to these sinks as well.
    pub(super) fn tapped(mut self, masks: &Masks, sinks: Vec<Sink>) -> Self {
        self.tapped = (!sinks.is_empty()).then(|| Tapped::new(masks, sinks));
        self
    }

    /// Reads a stream to its end; a read error counts as the end.
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

    /// Reads a stream to its end; a read error counts as the end.
    pub(crate) fn read_blocking(&mut self, mut stream: impl Read) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
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

    /// The beginning, secrets included, without trailing newlines.
    pub(super) fn beginning(&self, masks: &Masks, longest: usize) -> String {
        let text = String::from_utf8_lossy(&self.head);
        let text = &text[..masks.cut(&text, longest)];
        without_newlines(text).to_owned()
    }

    /// The end, masked.
    pub(crate) fn end(&self, masks: &Masks, longest: usize) -> String {
        let text = self.last();
        let text = without_newlines(&text);
        without_nul(&masks.part(text, text.len().saturating_sub(longest)..text.len()))
    }

    /// The beginning and the end, and how much is omitted in between.
    pub(super) fn excerpt(&self, length: Excerpt, masks: &Masks) -> String {
        let last = self.last();
        if self.dropped == 0 {
            return excerpt(&last, length, masks);
        }
        let first = String::from_utf8_lossy(&self.head);
        let whole = self.head.len() + self.dropped + self.tail.len();
        joined(&first, &last, whole, length, masks)
    }

    /// The whole stream if all of it was kept, otherwise its end.
    fn last(&self) -> Cow<'_, str> {
        if self.dropped == 0 && self.tail.is_empty() {
            return String::from_utf8_lossy(&self.head);
        }
        let mut bytes = if self.dropped == 0 { self.head.clone() } else { Vec::new() };
        bytes.extend(&self.tail);
        Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The beginning and the end of a text, and how much is omitted in between; the whole text if it is
/// short enough.
pub(super) fn excerpt(text: &str, length: Excerpt, masks: &Masks) -> String {
    if text.len() <= 2 * length.part() {
        return without_nul(without_newlines(&masks.masked(text)));
    }
    joined(text, text, text.len(), length, masks)
}

/// The end of two texts joined, skipping blank ones.
pub(crate) fn end_of_both(first: &str, second: &str, longest: usize) -> String {
    let both = [first, second].into_iter().filter(|text| !text.trim().is_empty());
    let both = both.collect::<Vec<_>>().join("\n");
    let begin = both.len().saturating_sub(longest);
    let begin = (begin..both.len()).find(|&at| both.is_char_boundary(at));
    begin.map_or_else(String::new, |begin| both[begin..].to_owned())
}

fn joined(first: &str, last: &str, whole: usize, length: Excerpt, masks: &Masks) -> String {
    let part = length.part();
    if part == 0 {
        return String::new();
    }
    let boundary = |text: &str, at: usize| {
        (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
    };
    let end = boundary(first, part);
    let begin = boundary(last, last.len().saturating_sub(part));
    let left_out = whole.saturating_sub(end + (last.len() - begin));
    let (first, last) = (masks.part(first, 0..end), masks.part(last, begin..last.len()));
    let text = format!("{first}\n[… {left_out} bytes omitted …]\n{last}");
    without_nul(without_newlines(&text))
}

fn without_newlines(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// Replaces NUL, which has no place in a report, a list or a variable.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: usize = Excerpt::DEFAULT / 4;
    const LENGTH: Excerpt = Excerpt(PART);

    fn read(parts: &[&[u8]], head: usize, masks: &Masks) -> Stream {
        let mut stream = Stream::new(head, PART, masks);
        for part in parts {
            stream.take(part);
        }
        stream
    }

    #[test]
    fn an_excerpt_states_the_omitted_length() {
        let masks = Masks::default();
        assert_eq!(read(&[b"a\nb\n"], PART, &masks).excerpt(LENGTH, &masks), "a\nb");
        for head in [PART, 4 * PART] {
            for most in [2 * PART, 2 * PART + 9, 3 * PART, 20 * PART] {
                let text: String = ('a'..='z').cycle().take(most).collect();
                let parts: Vec<_> = text.as_bytes().chunks(1_000).collect();
                let excerpt = read(&parts, head, &masks).excerpt(LENGTH, &masks);
                if most == 2 * PART {
                    assert_eq!(excerpt, text);
                } else {
                    let left_out = most - 2 * PART;
                    let (first, last) = (&text[..PART], &text[most - PART..]);
                    let expected = format!("{first}\n[… {left_out} bytes omitted …]\n{last}");
                    assert_eq!(excerpt, expected, "{head}, {most}");
                }
            }
        }
    }

    #[test]
    fn an_excerpt_is_as_long_as_it_is_to_be() {
        let masks = Masks::default();
        let stream = read(&["x".repeat(40_000).as_bytes()], PART, &masks);
        for (most, length) in [(64, 64 / 2), (4_096, 2_048), (0, 0)] {
            let excerpt = stream.excerpt(Excerpt::of_both(most), &masks);
            assert_eq!(excerpt.matches('x').count(), length, "{most}");
        }
        assert_eq!(stream.excerpt(Excerpt::of_both(0), &masks), "");
        assert_eq!(Excerpt::of_both(usize::MAX).part(), Excerpt::MOST / 4);
    }

    #[test]
    fn characters_and_secrets_are_never_cut_in_the_middle() {
        let secret = "gehäim";
        let masks = Masks::new([secret.to_owned()]);
        for shift in 0..20 {
            let text = format!("{}{}", "x".repeat(shift), secret.repeat(9 * PART / secret.len()));
            let parts: Vec<_> = text.as_bytes().chunks(777).collect();
            let stream = read(&parts, PART, &masks);
            for shown in [stream.excerpt(LENGTH, &masks), stream.end(&masks, 1_000)] {
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
