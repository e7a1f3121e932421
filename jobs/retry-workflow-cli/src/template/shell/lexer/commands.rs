//! Commands: operators, redirections and lists, and how they begin and end.

use super::{CONTINUED, Context, Lexer};
use crate::template::shell::command_list::{Commands, Redirection, Within, WordRole};
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
            '`' => self.backticks(),
            '$' => self.dollar(false),
            '#' if self.commands().word.is_none() => {
                let end = self.rest().find('\n').unwrap_or(self.rest().len());
                if self.commands().role == WordRole::Condition {
                    self.mark_uncertain("after a `#` inside `[[ … ]]`");
                }
                self.copy(end);
            }
            '\n' => {
                self.copy(1);
                self.commands().newline();
                self.heredoc_bodies();
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
            self.mark_uncertain(CONTINUED);
        }
        self.copy_pair();
    }

    pub(super) fn operator(&mut self) {
        let rest = self.rest();
        self.commands().end_word();
        let place = self.commands().role;
        if let WordRole::Pattern { .. } = place {
            self.copy(1);
            if !rest.starts_with('|') || rest.starts_with("||") {
                self.mark_uncertain("after a pattern like this one");
            }
            return;
        }
        if place == WordRole::Condition {
            self.copy(1);
            if !rest.starts_with("&&") && !rest.starts_with("||") {
                self.mark_uncertain("after an operator like this one inside `[[ … ]]`");
            } else {
                self.copy(1);
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
        match self.commands().role {
            WordRole::Pattern { .. } | WordRole::Condition => {
                self.mark_uncertain("after a `<` or `>` like this one");
            }
            _ => {}
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
            self.heredoc();
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
            WordRole::Pattern { .. } | WordRole::Condition => {
                self.copy(1);
                self.mark_uncertain("after a `(` like this one");
                return;
            }
            _ => {}
        }
        if rest.starts_with("()") {
            // A function definition.
            commands.end_command();
            self.copy(2);
        } else if commands.word.is_some() || commands.has_words() {
            self.list();
        } else if rest.starts_with("((") {
            if commands.role != WordRole::Start {
                self.mark_uncertain("after a `((` like this one");
            }
            self.copy(2);
            let word = String::new();
            self.stack.push(Context::Arithmetic { open: 2, command: true, word });
        } else {
            commands.end_command();
            self.copy(1);
            self.nest(Within::Parentheses);
        }
    }

    /// `x=(…)` and `@(…)` of `bash`, up to the end if that is certain.
    pub(super) fn list(&mut self) {
        let rest = self.rest();
        let end = rest.find(')').map(|end| end + 1);
        let plain = |c: char| c.is_alphanumeric() || " _-./:,=+@%\"'$*|{}".contains(c);
        let Some(end) = end.filter(|end| rest[1..end - 1].chars().all(plain)) else {
            self.mark_uncertain("after a `(` like this one");
            self.word(1);
            return;
        };
        let balanced = |quote| rest[..end].matches(quote).count() % 2 == 0;
        if !balanced('"') || !balanced('\'') {
            self.mark_uncertain("after a `(` like this one");
        }
        self.refuse_within(end, "in an array: arrays are known to `bash`, not to `sh`");
        let word = self.commands().word();
        word.expands = true;
        word.unquoted_expansion = true;
        self.word(end);
    }

    pub(super) fn closed(&mut self) {
        self.copy(1);
        let commands = self.commands();
        commands.end_word();
        match commands.role {
            WordRole::Pattern { .. } => commands.role = WordRole::Start,
            WordRole::Condition => commands.mark_uncertain("after a `)` inside `[[ … ]]`"),
            _ => {
                commands.end_command();
                if commands.within != Within::Text {
                    self.close();
                }
            }
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
