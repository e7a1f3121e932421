//! The location of a mistake in a file, and its picture: the line, a caret, and what to write
//! instead.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use retry_rules::suggest::shortened_values;
use retry_workflow::sanitize::{Lines, OneLine};

/// A file's text and path.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The number of lines, and of characters of the first line, before this text: of a large
    /// input, only the part that is shown is kept.
    pub(crate) before: (usize, usize),
}

/// A range of a file's text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceSpan {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl SourceSpan {
    pub(crate) fn new(start: usize, len: usize) -> Self {
        Self { start, end: start.saturating_add(len) }
    }
}

/// A single mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) message: String,
    pub(crate) span: Option<SourceSpan>,
    /// The keys that are known where an unknown one is.
    pub(crate) known: Vec<String>,
}

impl Mistake {
    pub(crate) fn at(span: impl Into<Option<SourceSpan>>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span: span.into(), known: Vec::new() }
    }
}

/// The mistakes in a workflow file, or in the input that it names.
///
/// The formatted text is ready to be shown: each mistake with its location, the line itself and
/// what to write instead. `{:#}` omits the first `error: `.
///
/// ```text
/// error: unknown placeholder `${itm.id}`: did you mean `${item.id}`?
///   --> job.yml:14:22
///    |
/// 14 |     - shell: "./process.sh ${itm.id}"
///    |                            ^^^^^^^^^
/// ```
#[derive(Clone, Debug)]
pub struct FileError {
    source: Arc<Source>,
    mistakes: Vec<Mistake>,
}

impl FileError {
    pub(crate) fn new(source: Arc<Source>, mut mistakes: Vec<Mistake>) -> Self {
        // Sorted by position; mistakes about the whole file come first.
        mistakes.sort_by_key(|mistake| mistake.span.map_or(0, |span| span.start));
        for Mistake { message, .. } in &mut mistakes {
            let short = shortened_values(message);
            // Only a whole text can be written.
            let cut = short.split_once(": write ").filter(|(_, cure)| !message.ends_with(cure));
            *message = cut.map_or(&*short, |(what, _)| what).to_owned();
        }
        mistakes.dedup();
        Self { source, mistakes }
    }

    /// An error with a single mistake.
    pub(crate) fn at(
        source: &Arc<Source>,
        span: impl Into<Option<SourceSpan>>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Arc::clone(source), vec![Mistake::at(span, message)])
    }

    /// An error about the file as a whole.
    pub(crate) fn whole(path: &Path, message: impl Into<String>) -> Self {
        let source = Source { path: path.to_owned(), text: String::new(), before: (0, 0) };
        Self::at(&Arc::new(source), None, message)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// Returns how many mistakes there are; at least 1.
    pub fn count(&self) -> usize {
        self.mistakes.len()
    }

    /// Each mistake without its picture: line and column (from 1) if they are known, and the
    /// message.
    pub fn mistakes(&self) -> impl Iterator<Item = (Option<(usize, usize)>, &str)> {
        self.mistakes.iter().map(|mistake| {
            let at = mistake.span.map(|span| {
                let line = Line::around(&self.source, span);
                (line.number, line.column)
            });
            (at, mistake.message.as_str())
        })
    }

    /// The keys that a workflow file may have in the place of each unknown one.
    ///
    /// ```
    /// use retry_workflow_cli::WorkflowFile;
    ///
    /// let error = WorkflowFile::parse("job.yml", "comands: [echo]").unwrap_err();
    /// assert!(error.known_keys().any(|keys| keys.contains(&"commands".to_owned())));
    /// ```
    pub fn known_keys(&self) -> impl Iterator<Item = &[String]> {
        self.mistakes.iter().map(|mistake| &*mistake.known).filter(|known| !known.is_empty())
    }
}

impl std::error::Error for FileError {}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            if index > 0 || !f.alternate() {
                f.write_str("error: ")?;
            }
            // A message may quote the file, in which an escape can produce any character.
            Lines(&mistake.message).fmt(f)?;
            let path = self.source.path.display().to_string();
            let path = OneLine(&path);
            match mistake.span {
                Some(span) => Line::around(&self.source, span).draw(f, &path)?,
                None => write!(f, "\n --> {path}")?,
            }
        }
        Ok(())
    }
}

/// The line in which a span begins.
struct Line<'a> {
    number: usize,
    /// In characters, from 1.
    column: usize,
    before: &'a str,
    marked: &'a str,
    after: &'a str,
}

/// Longer lines are cut: a file may be a single line of a megabyte.
const WIDEST: usize = 120;

impl<'a> Line<'a> {
    fn around(source: &'a Source, span: SourceSpan) -> Self {
        let Source { text, before: (lines, characters), .. } = source;
        let boundary = |at: usize| {
            let at = at.min(text.len());
            (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
        };
        let start = boundary(span.start);
        let (begin, number) = match text[..start].rfind('\n') {
            Some(at) => (at + 1, text[..start].matches('\n').count() + 1),
            None => (0, 1),
        };
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = boundary(span.end).clamp(start, line_end);
        let left_out = if begin == 0 { *characters } else { 0 };
        Self {
            number: number + lines,
            column: text[begin..start].chars().count() + 1 + left_out,
            before: &text[begin..start],
            marked: text[start..end].trim_end(),
            after: text[end..line_end].trim_end(),
        }
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>, path: &dyn fmt::Display) -> fmt::Result {
        let Self { number, column, .. } = *self;
        let width = number.to_string().len();
        let long = self.before.chars().count() > WIDEST;
        let before: String = if long {
            let skipped = self.before.chars().count() - WIDEST / 2;
            std::iter::once('…').chain(self.before.chars().skip(skipped)).collect()
        } else {
            self.before.to_owned()
        };
        let marked: String = self.marked.chars().take(WIDEST).collect();
        let after: String = self.after.chars().take(WIDEST).collect();
        let carets = "^".repeat(marked.chars().count().max(1));
        // Keep tabs, so that the caret is aligned.
        let pad: String = before.chars().map(|c| if c == '\t' { c } else { ' ' }).collect();
        // A control character would move a terminal's cursor.
        let moves = |c: char| c.is_control() && c != '\t';
        let line = format!("{before}{marked}{after}").replace(moves, "\u{fffd}");
        write!(
            f,
            "\n{:width$}--> {path}:{number}:{column}\n{:width$} |\n{number} | {line}\n{:width$} | {pad}{carets}",
            "", "", ""
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, marked: &str) -> String {
        let span = SourceSpan::new(text.find(marked).unwrap(), marked.len());
        let source = Source { path: "job.yml".into(), text: text.to_owned(), before: (0, 0) };
        FileError::new(Arc::new(source), vec![Mistake::at(span, "wrong")]).to_string()
    }

    #[test]
    fn columns_are_characters_and_tabs_stay_tabs() {
        assert_eq!(
            drawn("a: 1\n\tä: wrong # c\r\n", "wrong"),
            "error: wrong\n --> job.yml:2:5\n  |\n2 | \tä: wrong # c\n  | \t   ^^^^^"
        );
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_mistake() {
        let text = format!("{}wrong{}", "x".repeat(100_000), "y".repeat(100_000));
        let drawn = drawn(&text, "wrong");
        assert!(drawn.len() < 1_000, "{drawn}");
        assert!(drawn.contains("job.yml:1:100001") && drawn.contains("wrong"), "{drawn}");
    }

    #[test]
    fn control_sequences_are_not_displayed() {
        assert!(!drawn("a: \u{1b}[2J wrong", "wrong").contains('\u{1b}'));
    }

    #[test]
    fn a_span_outside_the_text_does_not_panic() {
        let source = Source { path: "job.yml".into(), text: "ä".to_owned(), before: (0, 0) };
        let mistake = Mistake::at(SourceSpan::new(1, usize::MAX), "");
        assert!(FileError::new(Arc::new(source), vec![mistake]).to_string().contains(":1:1"));
    }
}
