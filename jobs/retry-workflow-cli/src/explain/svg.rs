//! [`Svg`]: a picture as text. It does not depend on its style sheet, which only switches to dark
//! colours for readers who prefer them.

use std::fmt::Write as _;

/// The kinds of drawn elements; each has a light and a dark colour.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paint {
    Paper,
    Ink,
    Muted,
    Grid,
    Bar,
    Spread,
    Unsure,
}

impl Paint {
    const ALL: [Self; 7] =
        [Self::Paper, Self::Ink, Self::Muted, Self::Grid, Self::Bar, Self::Spread, Self::Unsure];

    /// The class of an element, and its light and dark colours.
    const fn style(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Paper => ("paper", "#ffffff", "#0d1117"),
            Self::Ink => ("ink", "#1f2328", "#f0f6fc"),
            Self::Muted => ("muted", "#59636e", "#9198a1"),
            Self::Grid => ("grid", "#d1d9e0", "#3d444d"),
            Self::Bar => ("bar", "#0969da", "#4493f8"),
            Self::Spread => ("spread", "#a5cdf7", "#1f4b82"),
            Self::Unsure => ("unsure", "#c8ced5", "#4b535d"),
        }
    }
}

/// The anchor of a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Font {
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) paint: Paint,
    pub(super) anchor: Anchor,
}

impl Font {
    pub(super) const fn new(size: f64, paint: Paint) -> Self {
        Self { size, bold: false, paint, anchor: Anchor::Start }
    }

    pub(super) const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    pub(super) const fn anchor(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }
}

/// A picture that is being built.
#[derive(Debug)]
pub(super) struct Svg(String);

impl Svg {
    pub(super) fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\" \
             font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n",
            escaped(title),
            escaped(description)
        );
        svg.push_str("<style>\n@media (prefers-color-scheme: dark) {\n");
        for paint in Paint::ALL {
            let (class, _, dark) = paint.style();
            // Lines are drawn with `stroke`; everything else is filled.
            let _ = writeln!(
                svg,
                "  .{class} {{ fill: {dark}; }}\n  line.{class} {{ stroke: {dark}; }}"
            );
        }
        svg.push_str("}\n</style>\n");
        let mut svg = Self(svg);
        svg.rect(0.0, 0.0, width, height, 6.0, Paint::Paper);
        svg
    }

    pub(super) fn rect(
        &mut self,
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        radius: f64,
        paint: Paint,
    ) {
        let (class, fill, _) = paint.style();
        let _ = writeln!(
            self.0,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{fill}\"/>",
            number(x),
            number(y),
            number(width),
            number(height),
            number(radius)
        );
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), paint: Paint) {
        let (class, stroke, _) = paint.style();
        let _ = writeln!(
            self.0,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{stroke}\"/>",
            number(from.0),
            number(from.1),
            number(to.0),
            number(to.1)
        );
    }

    pub(super) fn text(&mut self, x: f64, y: f64, font: Font, text: &str) {
        self.turned_text(x, y, font, text, "");
    }

    /// Draws text that reads from bottom to top.
    pub(super) fn upright(&mut self, x: f64, y: f64, font: Font, text: &str) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", number(x), number(y));
        self.turned_text(x, y, font, text, &turn);
    }

    fn turned_text(&mut self, x: f64, y: f64, font: Font, text: &str, turn: &str) {
        let (class, fill, _) = font.paint.style();
        let anchor = match font.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if font.bold { " font-weight=\"600\"" } else { "" };
        let _ = writeln!(
            self.0,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" font-size=\"{}\"{weight}{anchor} fill=\"{fill}\"{turn}>{}</text>",
            number(x),
            number(y),
            number(font.size),
            escaped(text)
        );
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

/// Formats a coordinate to a hundredth of a pixel, without trailing zeros.
pub(super) fn number(number: f64) -> String {
    let digits = format!("{number:.2}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Escapes text for XML, without the characters that XML does not allow at all.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' => safe.push(' '),
            _ if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        let mut svg = Svg::new(10.0, 10.0, "</title><script>", "a & b\u{0}");
        svg.text(1.0, 2.5, Font::new(10.0, Paint::Ink), "\"<b>\"");
        let svg = svg.finish();
        assert!(svg.contains("&lt;/title&gt;&lt;script&gt;") && svg.contains("a &amp; b<"));
        assert!(svg.contains("y=\"2.5\"") && svg.contains("&quot;&lt;b&gt;&quot;"));
    }
}
