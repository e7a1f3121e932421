//! Text from elsewhere (ids, messages, output of commands), made safe for terminals and logs:
//! nothing in it moves the cursor, changes colours or begins a line.
//!
//! ```
//! use retry_workflow::sanitize::{Lines, OneLine};
//!
//! let hostile = "order 7\n\u{1b}[2Jall is well";
//! assert_eq!(OneLine(hostile).to_string(), "order 7\\n\\u{1b}[2Jall is well");
//! assert_eq!(Lines(hostile).to_string(), "order 7\n\\u{1b}[2Jall is well");
//! ```

use std::fmt::{self, Write as _};

/// Displays a text on one line: line ends and tabs are escaped, too.
#[derive(Clone, Copy, Debug)]
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(f, self.0, |_| false)
    }
}

/// Displays a text of several lines: line ends and tabs stay, everything else is escaped.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a>(pub &'a str);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(f, &self.0.replace("\r\n", "\n"), |c| c == '\n' || c == '\t')
    }
}

fn escaped(f: &mut fmt::Formatter<'_>, text: &str, stays: impl Fn(char) -> bool) -> fmt::Result {
    for c in text.chars() {
        match c {
            _ if stays(c) => f.write_char(c)?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            // Backslashes stay, so that Windows paths remain readable. This output is for people;
            // JSON is exact.
            _ if steers(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            _ => f.write_char(c)?,
        }
    }
    Ok(())
}

/// Returns `true` if a character controls a terminal, or changes how the rest of a line looks:
/// control characters, directional marks, line separators, zero-width characters.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_characters_are_left() {
        let hostile = "a\x1b[2J\x07\r\nb\u{9b}31m\u{202e}c\u{2028}\0 can't \"x\" \\";
        assert_eq!(
            OneLine(hostile).to_string(),
            "a\\u{1b}[2J\\u{7}\\r\\nb\\u{9b}31m\\u{202e}c\\u{2028}\\u{0} can't \"x\" \\"
        );
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(Lines("a\r\nb\x1b[0m").to_string(), "a\nb\\u{1b}[0m");
    }
}
