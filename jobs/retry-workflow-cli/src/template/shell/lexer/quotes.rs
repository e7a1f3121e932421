//! Quotes: single, double, and `$'…'`.

use super::Lexer;

impl Lexer<'_> {
    pub(super) fn single(&mut self) {
        self.commands().word().quoted = true;
        self.copy(1);
        loop {
            let rest = self.rest();
            match rest.find(['\'', '$']) {
                None => {
                    self.copy(rest.len());
                    return;
                }
                Some(at) if rest[at..].starts_with('\'') => {
                    self.word(at);
                    self.copy(1);
                    return;
                }
                Some(at) => {
                    self.word(at);
                    if !self.rest().starts_with("${") || !self.placeholder("'\"", "\"'") {
                        self.word(1);
                    }
                }
            }
        }
    }

    pub(super) fn in_double(&mut self, next: char) {
        match next {
            '\\' => {
                let pair = self.copy_pair();
                let part = match pair {
                    "\\\n" => "",
                    "\\$" | "\\`" | "\\\"" | "\\\\" => &pair[1..],
                    _ => pair,
                };
                self.commands().word().text.push_str(part);
                if pair == "\\\n" && !self.heredocs.is_empty() {
                    self.mark_uncertain("after a here-document whose line continues in quotes");
                }
            }
            '"' => {
                self.copy(1);
                self.stack.pop();
            }
            '`' => self.backticks(),
            '$' => self.dollar(true),
            other => self.word(other.len_utf8()),
        }
    }

    /// `$'…'`, if all shells agree on where it ends.
    pub(super) fn escaped(&mut self) {
        let rest = self.rest();
        let end = rest[2..].find('\'').map(|at| at + 3);
        let Some(end) = end.filter(|end| !rest[..*end].contains('\\')) else {
            let inside = &rest[2..end.map_or(rest.len(), |end| end - 1)];
            let mut odd = false;
            for c in inside.chars() {
                odd = c == '\\' && !odd;
            }
            match end {
                Some(end) if !odd && !self.commands().names() => {
                    self.expands(true);
                    self.refuse_within(end, "inside `$'…'`, which `sh` does not know");
                    self.word(end);
                }
                _ => {
                    self.mark_uncertain("after a `$'…'`, which shells read differently");
                    self.word(1);
                }
            }
            return;
        };
        self.refuse_within(end, "inside `$'…'`, which `sh` does not know");
        self.commands().word().quoted = true;
        self.copy(2);
        self.word(end - 3);
        self.copy(1);
    }
}
