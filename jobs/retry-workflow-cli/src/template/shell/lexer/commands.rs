//! Commands: operators, redirections and lists, and how they begin and end.

use super::{CONTINUED, Context, Lexer};
use crate::template::shell::command_list::{Commands, Redirection, UNUSUAL_CASE, Within, WordRole};
use crate::template::shell::variables;
use crate::template::shell::word::Value;

impl Lexer<'_> {
    pub(super) fn in_commands(&mut self, next: char) {
        match next {
            '\\' => {
                if self.rest().starts_with("\\\n") {
                    self.continued();
                    return;
                }
                let pair = self.copy_pair();
                let word = self.commands().word();
                word.quoted = true;
                word.text.push_str(&pair[1..]);
            }
            '\'' => self.single(),
            '"' => {
                self.copy(1);
                self.commands().word().quoted = true;
                self.stack.push(Context::Double);
            }
            '`' => self.backtick(),
            '$' => self.dollar(false),
            '#' if self.commands().word.is_none() => {
                let end = self.rest().find('\n').unwrap_or(self.rest().len());
                self.copy(end);
            }
            '\n' => {
                self.copy(1);
                self.commands().newline();
            }
            ' ' | '\t' => {
                self.copy(1);
                self.commands().end_word();
            }
            ';' | '&' | '|' => self.operator(),
            '<' | '>' => self.redirection(),
            '(' => self.open(),
            ')' => self.closed(),
            other => {
                let word = self.commands().word();
                match other {
                    '*' | '?' | '[' => word.pattern = true,
                    '{' => word.brace = true,
                    ',' | '.' => word.braces |= word.brace,
                    '=' if word.assigns.is_none()
                        && !word.quoted
                        && !word.expands
                        && variables::is_name(&word.text) =>
                    {
                        word.assigns = Some(word.text.len());
                    }
                    _ => {}
                }
                self.word(other.len_utf8());
            }
        }
    }

    /// `\` at the end of a line: the shell removes both before it reads anything else.
    pub(super) fn continued(&mut self) {
        let operator = |c: char| "<>&|;()".contains(c);
        let before = self.text[..self.at].trim_end_matches("\\\n");
        let after = self.rest().trim_start_matches("\\\n");
        if before.ends_with(operator) && after.starts_with(operator) {
            self.refuse_all(CONTINUED);
        }
        self.copy_pair();
    }

    pub(super) fn operator(&mut self) {
        let rest = self.rest();
        self.commands().end_word();
        if let WordRole::Pattern { .. } = self.commands().role {
            self.copy(1);
            if !rest.starts_with('|') || rest.starts_with("||") {
                self.refuse_all(UNUSUAL_CASE);
            }
            return;
        }
        if rest.starts_with("&>") {
            self.copy(1);
            self.commands().has_ambiguous_redirect = true;
            return;
        }
        let ends_case = rest.starts_with(";;") || rest.starts_with(";&");
        let two = ends_case || ["||", "&&", "|&"].iter().any(|sign| rest.starts_with(sign));
        let signs = if rest.starts_with(";;&") { 3 } else { 1 + usize::from(two) };
        self.copy(signs);
        let commands = self.commands();
        commands.end_command();
        if ends_case && commands.cases > 0 {
            commands.role = WordRole::Pattern { first: true };
        }
    }

    pub(super) fn redirection(&mut self) {
        if let WordRole::Pattern { .. } = self.commands().role {
            self.refuse_all(UNUSUAL_CASE);
        }
        let rest = self.rest();
        let signs = rest.find(|c| !"<>&|".contains(c)).unwrap_or(rest.len());
        let commands = self.commands();
        if signs == 1 && rest[1..].starts_with('(') {
            // `<(…)` is a word.
            let word = commands.word();
            word.expands = true;
            self.word(2);
            self.nest(Within::Substitution);
            return;
        }
        // A file descriptor, as in `2>`.
        if commands.word.as_ref().is_some_and(|word| {
            word.is_fixed() && !word.quoted && word.text.bytes().all(|b| b.is_ascii_digit())
        }) {
            commands.word = None;
        } else if let Some(word) = &mut commands.word {
            // `{name}>` is a descriptor in `bash`, but a word in `dash`.
            word.braces |= word.brace;
        }
        commands.end_word();
        if rest.starts_with("<<") && !rest.starts_with("<<<") {
            self.refuse_all("a here-document");
            // Its body does not follow the rules of commands.
            self.copy(rest.len());
            return;
        }
        let redirection = if rest.starts_with("<<<") {
            Redirection::HereString
        } else if rest[..signs].contains('&') {
            Redirection::Descriptor
        } else {
            Redirection::File
        };
        self.commands().redirection = Some(redirection);
        self.copy(signs);
    }

    pub(super) fn open(&mut self) {
        let rest = self.rest();
        let commands = self.commands();
        match commands.role {
            WordRole::Pattern { first: true } if commands.word.is_none() => {
                commands.role = WordRole::Pattern { first: false };
                self.copy(1);
                return;
            }
            WordRole::Pattern { .. } => {
                self.refuse_all(UNUSUAL_CASE);
                self.copy(1);
                return;
            }
            _ => {}
        }
        if rest.starts_with("()") {
            // A function definition.
            commands.end_command();
            self.copy(2);
        } else if commands.word.is_some() || !commands.words.is_empty() {
            // `x=(…)` and `@(…)` of `bash`.
            self.refuse_all("an array or a `(` inside a word");
            self.word(1);
        } else {
            commands.end_command();
            if rest.starts_with("((") {
                self.refuse_all("`((…))`");
            }
            self.copy(1);
            self.nest(Within::Parentheses);
        }
    }

    pub(super) fn closed(&mut self) {
        self.copy(1);
        let commands = self.commands();
        commands.end_word();
        if let WordRole::Pattern { .. } = commands.role {
            commands.role = WordRole::Start;
            return;
        }
        commands.end_command();
        if commands.within != Within::Text {
            self.close();
        }
    }

    /// Begins a nested list of commands.
    pub(super) fn nest(&mut self, within: Within) {
        // `$(` or `<(` has already been read.
        let before = match within {
            Within::Substitution => self.commands().word().text.len().saturating_sub(2),
            Within::Text | Within::Parentheses => 0,
        };
        let commands = Commands::inside(within, before);
        self.stack.push(Context::Commands(Box::new(commands)));
    }

    /// Ends a nested list of commands.
    pub(super) fn close(&mut self) {
        let Some(Context::Commands(commands)) = self.stack.pop() else { return };
        let (within, before, holds) =
            (commands.within, commands.before, commands.first_value.clone());
        self.gather(*commands);
        let Some(held) = holds else { return };
        let outer = self.commands();
        outer.first_value.get_or_insert_with(|| held.clone());
        if within == Within::Substitution {
            outer.word().values.push(Value { number: None, before, ..held });
        }
    }
}
