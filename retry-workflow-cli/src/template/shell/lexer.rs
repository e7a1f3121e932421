//! As much of the grammar of `sh` as it takes to know how each place is quoted.
//!
//! Where this and a shell might disagree it gives up, and refuses the placeholders from
//! there on: a refused file is a nuisance, a wrong quote an open door.

use super::words::{Command, Fed, Within};
use super::{Script, variable};
use crate::template::placeholder::{Braced, Fault, Offers, braced, never_closed};

const UNCERTAIN: &str = "in or after a `case` that `time` or `function` stands before";

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    offers: Offers<'a>,
    script: Script,
    faults: Vec<Fault>,
    stack: Vec<Context>,
    heredocs: Vec<Heredoc>,
    /// Why the quoting is not certain any more.
    lost: Option<&'static str>,
}

enum Context {
    Command(Box<Command>),
    Double,
    /// `${NAME…}`, and whether it is inside double quotes.
    Expansion {
        double: bool,
    },
    /// `$((…))` or `((…))`, with so many parentheses open.
    Arithmetic {
        open: usize,
    },
}

struct Heredoc {
    delimiter: String,
    /// `<<-`.
    tabs: bool,
    quoted: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, offers: Offers<'a>) -> Self {
        Self {
            text,
            at: 0,
            offers,
            script: Script { text: String::with_capacity(text.len()), values: Vec::new() },
            faults: Vec::new(),
            stack: vec![Context::Command(Box::default())],
            heredocs: Vec::new(),
            lost: None,
        }
    }

    pub(super) fn run(mut self) -> Result<Script, Vec<Fault>> {
        while let Some(next) = self.rest().chars().next() {
            match self.stack.last() {
                Some(Context::Double) => self.in_double(next),
                Some(Context::Expansion { double }) => self.in_expansion(next, *double),
                Some(Context::Arithmetic { .. }) => self.in_arithmetic(next),
                Some(Context::Command(_)) | None => self.in_command(next),
            }
        }
        while let Some(context) = self.stack.pop() {
            if let Context::Command(mut command) = context {
                command.end_command();
                self.faults.append(&mut command.faults);
            }
        }
        self.faults.sort_by_key(|fault| fault.at);
        if self.faults.is_empty() { Ok(self.script) } else { Err(self.faults) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The commands that the lexer is in, quoted or not.
    fn command(&mut self) -> &mut Command {
        let found = self.stack.iter().rposition(|context| matches!(context, Context::Command(_)));
        let Some(Context::Command(command)) = found.and_then(|at| self.stack.get_mut(at)) else {
            unreachable!("the text itself is a list of commands, and stays on the stack");
        };
        command
    }

    /// Copies so many bytes.
    fn copy(&mut self, bytes: usize) -> &'a str {
        let part = &self.rest()[..bytes];
        self.script.text.push_str(part);
        self.at += bytes;
        part
    }

    /// Copies a character, and the one after it.
    fn copy_pair(&mut self) -> &'a str {
        let bytes = self.rest().chars().take(2).map(char::len_utf8).sum();
        self.copy(bytes)
    }

    /// Copies part of a word.
    fn word(&mut self, bytes: usize) {
        let part = self.copy(bytes);
        self.command().part(part);
        if !self.heredocs.is_empty() && part.contains('\n') {
            self.lose("after a here-document whose line goes on in quotes");
        }
    }

    fn lose(&mut self, why: &'static str) {
        self.lost.get_or_insert(why);
    }

    fn in_command(&mut self, next: char) {
        match next {
            '\\' => {
                let pair = self.copy_pair();
                if pair != "\\\n" {
                    self.command().quoted = true;
                    self.command().part(&pair[1..]);
                }
            }
            '\'' => self.single(),
            '"' => {
                self.copy(1);
                self.command().quoted = true;
                self.command().part("");
                self.stack.push(Context::Double);
            }
            '`' => self.backticks(),
            '$' => self.dollar(false),
            '#' if self.command().word.is_none() => {
                let end = self.rest().find('\n').unwrap_or(self.rest().len());
                self.copy(end);
            }
            '\n' => {
                self.copy(1);
                let command = self.command();
                command.end_word();
                // `in` may stand on the next line.
                if command.words.first().is_none_or(|first| first != "case") {
                    command.end_pipeline();
                }
                self.heredoc_bodies();
            }
            ' ' | '\t' => {
                self.copy(1);
                self.command().end_word();
            }
            ';' | '&' | '|' => self.operator(),
            '<' | '>' => self.redirection(),
            '(' => self.open(),
            ')' => {
                self.copy(1);
                let command = self.command();
                if command.pattern {
                    command.word = None;
                    command.quoted = false;
                    command.pattern = false;
                } else {
                    command.end_command();
                    if command.within != Within::Text {
                        self.close();
                    }
                }
            }
            other => self.word(other.len_utf8()),
        }
    }

    fn operator(&mut self) {
        let rest = self.rest();
        let ends_case = rest.starts_with(";;") || rest.starts_with(";&");
        let pipes = rest.starts_with('|') && !rest.starts_with("||");
        let two = ends_case || ["||", "&&", "|&"].iter().any(|sign| rest.starts_with(sign));
        self.copy(if two { 2 } else { 1 });
        let command = self.command();
        if pipes && !command.pattern {
            command.pipe();
        } else {
            command.end_pipeline();
        }
        command.pattern |= ends_case && command.cases > 0;
    }

    fn redirection(&mut self) {
        let command = self.command();
        // The number of a file, as in `2>`.
        if !command.quoted
            && command.word.as_ref().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()))
        {
            command.word = None;
        }
        command.end_word();
        command.redirection = true;
        let rest = self.rest();
        if rest.starts_with("<<") && !rest.starts_with("<<<") {
            self.heredoc();
        } else {
            let signs = rest.find(|c| !"<>&|".contains(c)).unwrap_or(rest.len());
            if signs == 1 && rest[1..].starts_with('(') {
                // `<(…)`, a word.
                self.command().redirection = false;
                self.word(2);
                self.nest(Within::Substitution);
                return;
            }
            self.command().here_string = rest.starts_with("<<<");
            self.copy(signs);
        }
    }

    fn open(&mut self) {
        if self.command().pattern {
            self.copy(1);
        } else if self.rest().starts_with("((") {
            self.copy(2);
            self.stack.push(Context::Arithmetic { open: 2 });
        } else {
            self.command().end_command();
            self.copy(1);
            self.nest(Within::Parentheses);
        }
    }

    /// Begins commands that stand in others.
    fn nest(&mut self, within: Within) {
        let piped_into = self.command().upstream.clone();
        let upstream = piped_into.clone();
        let command = Command { within, upstream, piped_into, ..Command::default() };
        self.stack.push(Context::Command(Box::new(command)));
    }

    /// Ends them.
    fn close(&mut self) {
        if let Some(Context::Command(mut command)) = self.stack.pop() {
            self.faults.append(&mut command.faults);
            if command.uncertain {
                self.lose(UNCERTAIN);
            }
            if let Some(value) = &command.any {
                self.command().fed(value);
            }
        }
    }

    /// Why no value may stand here.
    fn refuses(&self) -> Option<String> {
        let mut commands = self.stack.iter().rev().filter_map(|context| match context {
            Context::Command(command) => Some(&**command),
            _ => None,
        });
        if commands.clone().any(|command| command.uncertain) {
            return Some(format!(
                "how it is quoted is not certain {UNCERTAIN}: put it before that"
            ));
        }
        let mut inner = commands.next()?;
        if let Some(why) = inner.refuses() {
            return Some(why);
        }
        for command in commands {
            // Of what is in parentheses, nothing becomes part of a word.
            if inner.within == Within::Substitution
                && let Some(why) = command.refuses_output()
            {
                return Some(why);
            }
            inner = command;
        }
        None
    }

    fn single(&mut self) {
        self.command().quoted = true;
        self.command().part("");
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

    fn in_double(&mut self, next: char) {
        match next {
            '\\' => {
                let pair = self.copy_pair();
                self.command().part(pair);
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

    fn dollar(&mut self, double: bool) {
        let rest = self.rest();
        let (before, after) = if double { ("", "") } else { ("\"", "\"") };
        if rest.starts_with("${") {
            if !self.placeholder(before, after) {
                self.word(2);
                self.stack.push(Context::Expansion { double });
            }
        } else if rest.starts_with("$((") {
            self.word(3);
            self.stack.push(Context::Arithmetic { open: 2 });
        } else if rest.starts_with("$(") {
            self.word(2);
            self.nest(Within::Substitution);
        } else if rest.starts_with("$'") && !double {
            self.lose("after a `$'…'`, which not every shell reads alike");
            self.word(1);
        } else if rest.starts_with("$$") {
            self.word(2);
        } else {
            self.word(1);
        }
    }

    fn in_expansion(&mut self, next: char, double: bool) {
        const WHY: &str = "after quotes inside `${…}`, which not every shell reads alike";
        match next {
            '}' => {
                self.word(1);
                self.stack.pop();
            }
            '\\' => {
                self.copy_pair();
            }
            '"' | '\'' => {
                if double {
                    self.lose(WHY);
                    self.word(1);
                } else if next == '"' {
                    self.word(1);
                    self.stack.push(Context::Double);
                    self.lose(WHY);
                } else {
                    let end = self.rest()[1..].find('\'').map_or(self.rest().len(), |at| at + 2);
                    self.refuse_within(end, "inside `${…}` of the shell");
                    self.word(end);
                }
            }
            '`' => self.backticks(),
            '$' if self.rest().starts_with("${") => {
                if !self.refused_here("inside another `${…}`: give it to a variable first") {
                    self.word(2);
                    self.stack.push(Context::Expansion { double });
                }
            }
            '$' => self.dollar(double),
            other => self.word(other.len_utf8()),
        }
    }

    fn in_arithmetic(&mut self, next: char) {
        let Some(Context::Arithmetic { open }) = self.stack.last_mut() else { return };
        match next {
            '(' => *open += 1,
            ')' => *open -= 1,
            _ => {}
        }
        let closed = *open == 0;
        if "'\"`\\".contains(next) {
            self.lose("after quotes inside arithmetic");
        }
        if self.rest().starts_with("${")
            && self.refused_here(
                "inside arithmetic, which reads it as code: check it with `case` and give it to a \
                 variable first",
            )
        {
            return;
        }
        self.word(next.len_utf8());
        if closed {
            self.stack.pop();
        }
    }

    /// Everything up to the backtick that closes this one.
    fn backticks(&mut self) {
        let rest = self.rest();
        let mut escaped = false;
        let inside = rest[1..].find(|c| {
            let closes = c == '`' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let end = inside.map_or(rest.len(), |at| at + 2);
        self.refuse_within(end, "inside backticks: write `$( … )` instead of them");
        self.word(end);
    }

    /// Refuses the placeholders in the next bytes.
    fn refuse_within(&mut self, bytes: usize, place: &str) {
        let (begin, end) = (self.at, self.at + bytes);
        while let Some(at) = self.text.get(self.at..end).and_then(|text| text.find("${")) {
            self.at += at;
            if !self.fault_here(place) {
                self.at += 2;
            }
        }
        self.at = begin;
    }

    /// Refuses the placeholder that stands here, if there is one, and leaves it out.
    fn refused_here(&mut self, place: &str) -> bool {
        self.fault_here(place)
    }

    fn fault_here(&mut self, place: &str) -> bool {
        let rest = self.rest();
        let Some(len) = rest.find('}') else { return false };
        let message = match braced(&rest[2..len], self.at, self.offers) {
            Ok(Braced::Shell) => return false,
            Ok(Braced::Placeholder(placeholder)) => {
                format!("`{}` cannot stand {place}", placeholder.written)
            }
            Err(message) => message,
        };
        self.faults.push(Fault { at: self.at, part: rest[..=len].to_owned(), message });
        self.at += len + 1;
        true
    }

    /// Puts a reference in the place of the placeholder that stands here; `false` if this is
    /// an expansion of the shell's own.
    fn placeholder(&mut self, before: &str, after: &str) -> bool {
        let rest = self.rest();
        let Some(len) = rest.find('}') else {
            self.faults.push(never_closed(self.text, self.at));
            self.at = self.text.len();
            return true;
        };
        let part = rest[..=len].to_owned();
        let at = self.at;
        let placeholder = match braced(&rest[2..len], self.at, self.offers) {
            Ok(Braced::Shell) => return false,
            Ok(Braced::Placeholder(placeholder)) => placeholder,
            Err(message) => {
                self.faults.push(Fault { at, part, message });
                self.at += len + 1;
                return true;
            }
        };
        self.at += len + 1;
        let refused = match self.lost {
            Some(why) => Some(format!("how it is quoted is not certain {why}: put it before that")),
            None => self.refuses(),
        };
        if let Some(why) = refused {
            let message = format!("`{part}` cannot stand here: {why}");
            self.faults.push(Fault { at, part, message });
            return true;
        }
        self.command().fed(&Fed { at, part });
        let values = &mut self.script.values;
        let known = values.iter().position(|known| known.meaning == placeholder.meaning);
        let number = known.unwrap_or_else(|| {
            values.push(placeholder);
            values.len() - 1
        });
        let reference = format!("{before}${{{}}}{after}", variable(number));
        self.script.text.push_str(&reference);
        self.command().part(&reference);
        true
    }

    /// `<<` and the word that ends the here-document.
    fn heredoc(&mut self) {
        const WHY: &str = "after a here-document like this one";

        let tabs = self.rest().starts_with("<<-");
        self.copy(if tabs { 3 } else { 2 });
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.copy(blanks);
        let rest = self.rest();
        let end = rest.find([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']);
        let written = &rest[..end.unwrap_or(rest.len())];
        let bare = written.strip_prefix('\\').or_else(|| {
            let quote = written.chars().next().filter(|c| "'\"".contains(*c))?;
            written.strip_prefix(quote)?.strip_suffix(quote)
        });
        let delimiter = bare.unwrap_or(written);
        let plain = |c: char| c.is_alphanumeric() || "_.-!".contains(c);
        // In a substitution shells differ in where the text begins.
        let nested = self.stack.iter().any(|context| match context {
            Context::Command(command) => command.within == Within::Substitution,
            _ => true,
        });
        if nested || delimiter.is_empty() || !delimiter.chars().all(plain) {
            self.lose(WHY);
            return;
        }
        self.heredocs.push(Heredoc {
            delimiter: delimiter.to_owned(),
            tabs,
            quoted: bare.is_some(),
        });
        self.word(written.len());
    }

    fn heredoc_bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    break;
                }
                let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
                let line = rest[..end].trim_end_matches('\n');
                let line = if heredoc.tabs { line.trim_start_matches('\t') } else { line };
                if line == heredoc.delimiter {
                    self.copy(end);
                    break;
                }
                if !heredoc.quoted && line.ends_with('\\') {
                    self.lose("after a here-document with a `\\` at the end of a line");
                }
                self.refuse_within(
                    end,
                    "inside a here-document: write `printf '%s\\n' ${item.id} | …` instead of it",
                );
                self.copy(end);
            }
        }
    }
}
