//! Here-documents: their delimiters, and their bodies.

use super::{Braces, Context, Heredoc, Lexer};
use crate::template::parse::{Braced, braced};
use crate::template::shell::command_list::{Redirection, Within, WordRole};

impl Lexer<'_> {
    /// `<<` and the delimiter of the here-document.
    pub(super) fn heredoc(&mut self) {
        const WHY: &str = "after a here-document like this one";

        let tabs = self.rest().starts_with("<<-");
        self.copy(if tabs { 3 } else { 2 });
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.copy(blanks);
        let rest = self.rest();
        let end = rest.find([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']);
        let word = &rest[..end.unwrap_or(rest.len())];
        let bare = word.strip_prefix('\\').or_else(|| {
            let quote = word.chars().next().filter(|c| "'\"".contains(*c))?;
            word.strip_prefix(quote)?.strip_suffix(quote)
        });
        let delimiter = bare.unwrap_or(word);
        let plain = |c: char| c.is_alphanumeric() || "_.-!".contains(c);
        // Inside a substitution, shells differ in where the body begins.
        let nested = self.stack.iter().any(|context| match context {
            Context::Commands(commands) => commands.within == Within::Substitution,
            _ => true,
        });
        if nested || delimiter.is_empty() || !delimiter.chars().all(plain) {
            // Treat the word as an ordinary one, whatever is in it.
            self.mark_uncertain(WHY);
            self.commands().redirection = Some(Redirection::HereString);
            return;
        }
        let begin = self.script.text.len();
        let (delimiter, quoted) = (delimiter.to_owned(), bare.is_some());
        self.copy(word.len());
        let written = begin..self.script.text.len();
        let commands = self.commands();
        if commands.role == WordRole::Start {
            commands.role = WordRole::Words;
        }
        let depth = self.stack.len();
        self.heredocs.push(Heredoc { delimiter, tabs, quoted, written, depth });
    }

    pub(super) fn heredoc_bodies(&mut self) {
        let mut heredocs = std::mem::take(&mut self.heredocs);
        if heredocs.iter().any(|heredoc| heredoc.depth < self.stack.len())
            && self.commands().within == Within::Substitution
        {
            self.mark_uncertain("after a here-document whose line continues in a substitution");
        }
        let mut index = 0;
        while let Some(heredoc) = heredocs.get(index) {
            let mut end = self.at;
            for line in self.rest().split_inclusive('\n') {
                let bare = line.trim_end_matches('\n');
                let bare = if heredoc.tabs { bare.trim_start_matches('\t') } else { bare };
                if bare == heredoc.delimiter {
                    break;
                }
                end += line.len();
            }
            if heredoc.quoted {
                let (written, name) = (heredoc.written.clone(), heredoc.delimiter.clone());
                if self.quoted_body(end) {
                    // The ranges that follow shift by the same distance.
                    let shorter = written.len() - name.len();
                    self.script.text.replace_range(written, &name);
                    for later in &mut heredocs[index + 1..] {
                        later.written.start -= shorter;
                        later.written.end -= shorter;
                    }
                }
            } else {
                self.plain_body(end);
            }
            let delimiter = self.rest().find('\n').map_or(self.rest().len(), |at| at + 1);
            self.copy(delimiter);
            index += 1;
        }
    }

    /// A body in which the shell expands `$`, backquotes and `\`.
    pub(super) fn plain_body(&mut self, end: usize) {
        let body = &self.text[self.at..end];
        if body.lines().any(|line| line.ends_with('\\')) {
            self.mark_uncertain("in or after a here-document with a `\\` at the end of a line");
        }
        if !is_certain(body) {
            self.mark_uncertain("in or after a here-document with a substitution like this one");
        }
        while self.at < end {
            let rest = &self.text[self.at..end];
            if rest.starts_with('\\') {
                self.copy_pair();
            } else if rest.starts_with("$$") {
                self.copy(2);
            } else if rest.starts_with("${") {
                match self.found() {
                    Braces::Shells => {
                        self.copy(2);
                    }
                    Braces::Refused => {}
                    Braces::Value(_, reference) => self.script.text.push_str(&reference),
                }
            } else {
                let next = rest.char_indices().skip(1).find(|(_, c)| "\\$".contains(*c));
                self.copy(next.map_or(rest.len(), |(at, _)| at));
            }
        }
    }

    /// A body in which the shell expands nothing. If it contains placeholders, it becomes a body
    /// with expansion, in which everything else is escaped; returns `true` in that case.
    pub(super) fn quoted_body(&mut self, end: usize) -> bool {
        let body = &self.text[self.at..end];
        let available = self.available;
        let placeholders = body.match_indices("${").any(|(at, _)| {
            let inside =
                body[at..].find('}').map(|len| braced(&body[at + 2..at + len], 0, available));
            !matches!(inside, None | Some(Ok(Braced::Shell)))
        });
        if !placeholders {
            self.copy(end - self.at);
            return false;
        }
        while self.at < end {
            let rest = &self.text[self.at..end];
            if rest.starts_with("${") && rest.contains('}') {
                match self.found() {
                    Braces::Shells => {}
                    Braces::Refused => continue,
                    Braces::Value(_, reference) => {
                        self.script.text.push_str(&reference);
                        continue;
                    }
                }
            }
            if rest.starts_with(['\\', '$', '`']) {
                self.script.text.push('\\');
            }
            let next = rest.char_indices().skip(1).find(|(_, c)| "\\$`".contains(*c));
            self.copy(next.map_or(rest.len(), |(at, _)| at));
        }
        true
    }
}

/// Returns whether all shells agree on the end of each substitution in the unquoted body of a
/// here-document, and no substitution contains a placeholder.
fn is_certain(body: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _.,:/+=%*@-".contains(c);
    let mut rest = body;
    while let Some(at) = rest.find(['\\', '$', '`']) {
        rest = &rest[at..];
        let mut end = 1;
        if rest.starts_with('\\') {
            end += rest.chars().nth(1).map_or(0, char::len_utf8);
        } else if rest.starts_with("$[") {
            return false;
        } else {
            let (open, close) = match rest {
                _ if rest.starts_with('`') => ("`", "`"),
                _ if rest.starts_with("$((") => ("$((", "))"),
                _ if rest.starts_with("$(") => ("$(", ")"),
                // A placeholder or a variable, or an expansion that is as uncertain as a
                // substitution.
                _ if rest.starts_with("${") => ("${", "}"),
                _ => {
                    rest = &rest[1..];
                    continue;
                }
            };
            let Some((inside, _)) = rest[open.len()..].split_once(close) else { return false };
            let braces = |c: char| open == "${" && "[]#?".contains(c) || !c.is_ascii();
            if !inside.chars().all(|c| plain(c) || braces(c)) {
                return false;
            }
            end = open.len() + inside.len() + close.len();
        }
        rest = &rest[end..];
    }
    true
}
