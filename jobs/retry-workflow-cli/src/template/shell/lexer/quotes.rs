//! Single and double quotes.

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
            }
            '"' => {
                self.copy(1);
                self.stack.pop();
            }
            '`' => self.backtick(),
            '$' => self.dollar(true),
            other => self.word(other.len_utf8()),
        }
    }
}
