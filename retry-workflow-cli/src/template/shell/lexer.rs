//! As much of the grammar of `sh` as it takes to know how each place is quoted.
//!
//! Where `dash` and `bash` might read it in two ways it gives up, and refuses the placeholders
//! from there on: a refused file is a nuisance, a wrong quote an open door.

use std::ops::Range;

use super::words::{Commands, Place, Redirection, Value, Within};
use super::{Script, reference, variables};
use crate::template::placeholder::{Braced, Fault, Offers, braced, never_closed};

const IN_BACKTICKS: &str = "inside backticks: write `$( … )` instead of them";
const IN_EXPANSION: &str = "inside another `${…}`: give it to a variable first";
const IN_ARITHMETIC: &str = "inside arithmetic, which reads it as code: check it with `case` and \
                             give it to a variable first";
const CONTINUED: &str = "after a line that goes on inside an operator";

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    offers: Offers<'a>,
    script: Script,
    /// The places of the values that were put in.
    placed: Vec<Value>,
    faults: Vec<Fault>,
    stack: Vec<Context>,
    heredocs: Vec<Heredoc>,
    /// Why the quoting is not certain any more.
    lost: Option<&'static str>,
    /// Why no value is safe, wherever it stands.
    spoiled: Option<&'static str>,
}

enum Context {
    Commands(Box<Commands>),
    Double,
    /// `${NAME…}`, and whether it is inside double quotes.
    Expansion {
        double: bool,
    },
    /// `$((…))` or `((…))`, with so many parentheses open.
    Arithmetic {
        open: usize,
        /// `((…))`, which `dash` reads as commands.
        command: bool,
        /// The word that is being read.
        word: String,
    },
}

/// What a `${…}` is.
enum Found {
    /// The shell's own.
    Shells,
    Refused,
    /// With how the script refers to it.
    Value(Value, String),
}

struct Heredoc {
    delimiter: String,
    /// `<<-`.
    tabs: bool,
    quoted: bool,
    /// Where in the script the delimiter stands.
    written: Range<usize>,
    /// How deep in other contexts it began.
    depth: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, offers: Offers<'a>) -> Self {
        let script = Script {
            text: String::with_capacity(text.len()),
            values: Vec::new(),
            targets: Vec::new(),
        };
        Self {
            text,
            at: 0,
            offers,
            script,
            placed: Vec::new(),
            faults: Vec::new(),
            stack: vec![Context::Commands(Box::default())],
            heredocs: Vec::new(),
            lost: None,
            spoiled: None,
        }
    }

    pub(super) fn run(mut self) -> Result<Script, Vec<Fault>> {
        while let Some(next) = self.rest().chars().next() {
            match self.stack.last() {
                Some(Context::Double) => self.in_double(next),
                Some(Context::Expansion { double }) => self.in_expansion(next, *double),
                Some(Context::Arithmetic { .. }) => self.in_arithmetic(next),
                Some(Context::Commands(_)) | None => self.in_commands(next),
            }
        }
        while let Some(context) = self.stack.pop() {
            if let Context::Commands(mut commands) = context {
                commands.end_command();
                self.gather(*commands);
            }
        }
        if let Some(why) = self.spoiled {
            let why = format!("no value is safe {why}");
            self.faults.extend(self.placed.iter().map(|value| value.refused(&why).0));
        }
        self.faults.sort_by_key(|fault| fault.at);
        // One that is refused where it stands is not refused for its command's output as well.
        self.faults.dedup_by_key(|fault| fault.at);
        if self.faults.is_empty() { Ok(self.script) } else { Err(self.faults) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The commands that the lexer is in, quoted or not.
    fn commands(&mut self) -> &mut Commands {
        let found = self.stack.iter().rposition(|context| matches!(context, Context::Commands(_)));
        let Some(Context::Commands(commands)) = found.and_then(|at| self.stack.get_mut(at)) else {
            unreachable!("the text itself is a list of commands, and stays on the stack");
        };
        commands
    }

    /// What is known of commands that have ended.
    fn gather(&mut self, mut commands: Commands) {
        self.faults.append(&mut commands.faults);
        self.script.targets.append(&mut commands.targets);
        self.lost = self.lost.or(commands.lost);
        self.spoiled = self.spoiled.or(commands.spoiled);
    }

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
        self.commands().word().text.push_str(part);
        if !self.heredocs.is_empty() && part.contains('\n') {
            self.lose("after a here-document whose line goes on in quotes");
        }
    }

    fn lose(&mut self, why: &'static str) {
        self.lost.get_or_insert(why);
    }

    /// Why the quoting is not certain where the lexer is.
    fn lost(&self) -> Option<&'static str> {
        self.lost.or_else(|| {
            self.stack.iter().find_map(|context| match context {
                Context::Commands(commands) => commands.lost,
                _ => None,
            })
        })
    }

    fn in_commands(&mut self, next: char) {
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
                if self.commands().place == Place::Condition {
                    self.lose("after a `#` inside `[[ … ]]`");
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

    /// `\` at the end of a line: both are taken out before anything else is read.
    fn continued(&mut self) {
        let operator = |c: char| "<>&|;()".contains(c);
        let before = self.text[..self.at].trim_end_matches("\\\n");
        let after = self.rest().trim_start_matches("\\\n");
        if before.ends_with(operator) && after.starts_with(operator) {
            self.lose(CONTINUED);
        }
        self.copy_pair();
    }

    fn operator(&mut self) {
        let rest = self.rest();
        self.commands().end_word();
        let place = self.commands().place;
        if let Place::Pattern { .. } = place {
            self.copy(1);
            if !rest.starts_with('|') || rest.starts_with("||") {
                self.lose("after a pattern like this one");
            }
            return;
        }
        if place == Place::Condition {
            self.copy(1);
            if !rest.starts_with("&&") && !rest.starts_with("||") {
                self.lose("after an operator like this one inside `[[ … ]]`");
            } else {
                self.copy(1);
            }
            return;
        }
        if rest.starts_with("&>") {
            self.copy(1);
            self.commands().torn = true;
            return;
        }
        let ends_case = rest.starts_with(";;") || rest.starts_with(";&");
        let two = ends_case || ["||", "&&", "|&"].iter().any(|sign| rest.starts_with(sign));
        let signs = if rest.starts_with(";;&") { 3 } else { 1 + usize::from(two) };
        self.copy(signs);
        let commands = self.commands();
        commands.end_command();
        if ends_case && commands.cases > 0 {
            commands.place = Place::Pattern { first: true };
        }
    }

    fn redirection(&mut self) {
        match self.commands().place {
            Place::Pattern { .. } | Place::Condition => {
                self.lose("after a `<` or `>` like this one");
            }
            _ => {}
        }
        let rest = self.rest();
        let signs = rest.find(|c| !"<>&|".contains(c)).unwrap_or(rest.len());
        let commands = self.commands();
        if signs == 1 && rest[1..].starts_with('(') {
            // `<(…)`, a word.
            let word = commands.word();
            word.expands = true;
            self.word(2);
            self.nest(Within::Substitution);
            return;
        }
        // The number of a file, as in `2>`.
        if commands.word.as_ref().is_some_and(|word| {
            word.is_fixed() && !word.quoted && word.text.bytes().all(|b| b.is_ascii_digit())
        }) {
            commands.word = None;
        } else if let Some(word) = &mut commands.word {
            // `{name}>` is one to `bash`, and a word to `dash`.
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

    fn open(&mut self) {
        let rest = self.rest();
        let commands = self.commands();
        match commands.place {
            Place::Pattern { first: true } if commands.word.is_none() => {
                commands.place = Place::Pattern { first: false };
                self.copy(1);
                return;
            }
            Place::Pattern { .. } | Place::Condition => {
                self.copy(1);
                self.lose("after a `(` like this one");
                return;
            }
            _ => {}
        }
        if rest.starts_with("()") {
            // A function.
            commands.end_command();
            self.copy(2);
        } else if commands.word.is_some() || commands.has_words() {
            self.list();
        } else if rest.starts_with("((") {
            if commands.place != Place::Start {
                self.lose("after a `((` like this one");
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

    /// `x=(…)` and `@(…)` of `bash`, up to the end where that is certain.
    fn list(&mut self) {
        let rest = self.rest();
        let end = rest.find(')').map(|end| end + 1);
        let plain = |c: char| c.is_alphanumeric() || " _-./:,=+@%\"'$*|{}".contains(c);
        let Some(end) = end.filter(|end| rest[1..end - 1].chars().all(plain)) else {
            self.lose("after a `(` like this one");
            self.word(1);
            return;
        };
        let balanced = |quote| rest[..end].matches(quote).count() % 2 == 0;
        if !balanced('"') || !balanced('\'') {
            self.lose("after a `(` like this one");
        }
        self.refuse_within(end, "in a list of `bash`: `sh` knows none");
        let word = self.commands().word();
        word.expands = true;
        word.bare = true;
        self.word(end);
    }

    fn closed(&mut self) {
        self.copy(1);
        let commands = self.commands();
        commands.end_word();
        match commands.place {
            Place::Pattern { .. } => commands.place = Place::Start,
            Place::Condition => commands.lose("after a `)` inside `[[ … ]]`"),
            _ => {
                commands.end_command();
                if commands.within != Within::Text {
                    self.close();
                }
            }
        }
    }

    /// Begins commands that stand in others.
    fn nest(&mut self, within: Within) {
        // `$(`, or `<(`, has been read.
        let before = match within {
            Within::Substitution => self.commands().word().text.len().saturating_sub(2),
            Within::Text | Within::Parentheses => 0,
        };
        let commands = Commands::inside(within, before);
        self.stack.push(Context::Commands(Box::new(commands)));
    }

    /// Ends them.
    fn close(&mut self) {
        let Some(Context::Commands(commands)) = self.stack.pop() else { return };
        let (within, before, holds) = (commands.within, commands.before, commands.holds.clone());
        self.gather(*commands);
        let Some(held) = holds else { return };
        let outer = self.commands();
        outer.holds.get_or_insert_with(|| held.clone());
        if within == Within::Substitution {
            outer.word().values.push(Value { number: None, before, ..held });
        }
    }

    fn single(&mut self) {
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

    fn in_double(&mut self, next: char) {
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
                    self.lose("after a here-document whose line goes on in quotes");
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

    fn dollar(&mut self, double: bool) {
        let rest = self.rest();
        let (before, after) = if double { ("", "") } else { ("\"", "\"") };
        if rest.starts_with("${") {
            if !self.placeholder(before, after) {
                self.expands(double);
                self.word(2);
                self.stack.push(Context::Expansion { double });
            }
        } else if rest.starts_with("$((") {
            self.expands(double);
            self.word(3);
            let word = String::new();
            self.stack.push(Context::Arithmetic { open: 2, command: false, word });
        } else if rest.starts_with("$(") {
            self.expands(double);
            self.word(2);
            self.nest(Within::Substitution);
        } else if rest.starts_with("$[") {
            self.lose("after a `$[`, which is arithmetic to `bash` alone");
            self.word(1);
        } else if rest.starts_with("$\\\n") {
            self.lose(CONTINUED);
            self.word(1);
        } else if rest.starts_with("$'") && !double {
            self.escaped();
        } else if rest.starts_with("$\"") && !double {
            // Quotes for translators; a `$` before quotes to `dash`.
            self.commands().word().quoted = true;
            self.copy(1);
        } else if rest.starts_with("$$") {
            self.expands(double);
            self.word(2);
        } else {
            let name = |c: char| c.is_ascii_alphanumeric() || "_@*#?-!".contains(c);
            if rest[1..].starts_with(name) {
                self.expands(double);
            }
            self.word(1);
        }
    }

    fn expands(&mut self, double: bool) {
        let word = self.commands().word();
        word.expands = true;
        word.bare |= !double;
    }

    /// `$'…'`, where it ends at the same place for everybody.
    fn escaped(&mut self) {
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
                    self.lose("after a `$'…'`, which not every shell reads alike");
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

    fn in_expansion(&mut self, next: char, double: bool) {
        match next {
            '}' => {
                self.word(1);
                self.stack.pop();
            }
            '\\' => {
                self.copy_pair();
            }
            '"' | '\'' => {
                self.lose("after quotes inside `${…}`, which not every shell reads alike");
                self.word(1);
                if next == '"' && !double {
                    self.stack.push(Context::Double);
                }
            }
            '`' => self.backticks(),
            '$' if self.rest().starts_with("${") => {
                if !self.fault_here(IN_EXPANSION) {
                    self.word(2);
                    self.stack.push(Context::Expansion { double });
                }
            }
            '$' => self.dollar(double),
            other => self.word(other.len_utf8()),
        }
    }

    fn in_arithmetic(&mut self, next: char) {
        const UNCERTAIN: &str = "after arithmetic like this, which not every shell reads alike";

        if self.rest().starts_with("${") && self.fault_here(IN_ARITHMETIC) {
            return;
        }
        let rest = self.rest();
        let Some(Context::Arithmetic { open, command, word }) = self.stack.last_mut() else {
            return;
        };
        match next {
            '(' => *open += 1,
            ')' => *open -= 1,
            _ => {}
        }
        let mut certain = next.is_ascii_alphanumeric() || "_ +-*/%()=!&|^~?:,$[]".contains(next);
        certain |= !*command && "<>".contains(next);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_:+-".contains(c);
        let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        certain |= next == '}' || inside.is_some_and(|(inside, _)| inside.chars().all(plain));
        if next.is_ascii_alphabetic() {
            word.push(next);
        } else {
            certain &= word != "case";
            word.clear();
        }
        // `((a); b)` is no arithmetic after all.
        certain &= !(next == ')' && *open == 1 && !rest[1..].starts_with(')'));
        certain &= !rest.starts_with("$(") || rest.starts_with("$((");
        let closed = *open == 0;
        if !certain {
            self.lose(UNCERTAIN);
        }
        self.word(next.len_utf8());
        if closed && let Some(Context::Arithmetic { command: true, .. }) = self.stack.pop() {
            let commands = self.commands();
            commands.word = None;
            commands.end_command();
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
        self.refuse_within(end, IN_BACKTICKS);
        self.expands(false);
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

    /// Puts a reference in the place of the placeholder that stands here, as part of the word;
    /// `false` if this is an expansion of the shell's own.
    fn placeholder(&mut self, before: &str, after: &str) -> bool {
        match self.found() {
            Found::Shells => return false,
            Found::Refused => {}
            Found::Value(value, reference) => {
                for part in [before, &reference, after] {
                    self.script.text.push_str(part);
                }
                let word = self.commands().word();
                let before = word.text.len();
                word.values.push(Value { before, ..value });
                word.text.push_str(&reference);
            }
        }
        true
    }

    /// Takes up the placeholder that stands here.
    fn found(&mut self) -> Found {
        let rest = self.rest();
        let Some(len) = rest.find('}') else {
            self.faults.push(never_closed(self.text, self.at));
            self.at = self.text.len();
            return Found::Refused;
        };
        let part = rest[..=len].to_owned();
        let at = self.at;
        let placeholder = match braced(&rest[2..len], self.at, self.offers) {
            Ok(Braced::Shell) => return Found::Shells,
            Ok(Braced::Placeholder(placeholder)) => placeholder,
            Err(message) => {
                self.faults.push(Fault { at, part, message });
                self.at += len + 1;
                return Found::Refused;
            }
        };
        self.at += len + 1;
        // What stands in a substitution stands where that does.
        let within = self.stack.iter().rev().find_map(|context| match context {
            Context::Expansion { .. } => Some(IN_EXPANSION),
            Context::Arithmetic { .. } => Some(IN_ARITHMETIC),
            Context::Commands(_) | Context::Double => None,
        });
        let refused = match (self.lost(), within) {
            (Some(why), _) => {
                Some(format!("here: how it is quoted is not certain {why}: put it before that"))
            }
            (None, within) => within.map(str::to_owned),
        };
        if let Some(why) = refused {
            let message = format!("`{part}` cannot stand {why}");
            self.faults.push(Fault { at, part, message });
            return Found::Refused;
        }
        let values = &mut self.script.values;
        let known = values.iter().position(|known| known.meaning == placeholder.meaning);
        let number = known.unwrap_or_else(|| {
            values.push(placeholder);
            values.len() - 1
        });
        let value = Value { at, part, number: Some(number), before: 0 };
        self.placed.push(value.clone());
        self.commands().holds.get_or_insert_with(|| value.clone());
        Found::Value(value, reference(number))
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
        let word = &rest[..end.unwrap_or(rest.len())];
        let bare = word.strip_prefix('\\').or_else(|| {
            let quote = word.chars().next().filter(|c| "'\"".contains(*c))?;
            word.strip_prefix(quote)?.strip_suffix(quote)
        });
        let delimiter = bare.unwrap_or(word);
        let plain = |c: char| c.is_alphanumeric() || "_.-!".contains(c);
        // In a substitution shells differ in where the text begins.
        let nested = self.stack.iter().any(|context| match context {
            Context::Commands(commands) => commands.within == Within::Substitution,
            _ => true,
        });
        if nested || delimiter.is_empty() || !delimiter.chars().all(plain) {
            // Whatever stands in the word is read as what it is.
            self.lose(WHY);
            self.commands().redirection = Some(Redirection::HereString);
            return;
        }
        let begin = self.script.text.len();
        let (delimiter, quoted) = (delimiter.to_owned(), bare.is_some());
        self.copy(word.len());
        let written = begin..self.script.text.len();
        let commands = self.commands();
        if commands.place == Place::Start {
            commands.place = Place::Words;
        }
        let depth = self.stack.len();
        self.heredocs.push(Heredoc { delimiter, tabs, quoted, written, depth });
    }

    fn heredoc_bodies(&mut self) {
        let mut heredocs = std::mem::take(&mut self.heredocs);
        if heredocs.iter().any(|heredoc| heredoc.depth < self.stack.len())
            && self.commands().within == Within::Substitution
        {
            self.lose("after a here-document whose line goes on in a substitution");
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
                    // Those that follow move by so much.
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

    /// A body in which the shell reads `$`, backquotes and `\`.
    fn plain_body(&mut self, end: usize) {
        let body = &self.text[self.at..end];
        if body.lines().any(|line| line.ends_with('\\')) {
            self.lose("in or after a here-document with a `\\` at the end of a line");
        }
        if !is_certain(body) {
            self.lose("in or after a here-document with a substitution like this one");
        }
        while self.at < end {
            let rest = &self.text[self.at..end];
            if rest.starts_with('\\') {
                self.copy_pair();
            } else if rest.starts_with("$$") {
                self.copy(2);
            } else if rest.starts_with("${") {
                match self.found() {
                    Found::Shells => {
                        self.copy(2);
                    }
                    Found::Refused => {}
                    Found::Value(_, reference) => self.script.text.push_str(&reference),
                }
            } else {
                let next = rest.char_indices().skip(1).find(|(_, c)| "\\$".contains(*c));
                self.copy(next.map_or(rest.len(), |(at, _)| at));
            }
        }
    }

    /// A body in which the shell reads nothing: `true` if it has become one in which it reads
    /// values, and all that it would read besides is escaped.
    fn quoted_body(&mut self, end: usize) -> bool {
        let body = &self.text[self.at..end];
        let offers = self.offers;
        let placeholders = body.match_indices("${").any(|(at, _)| {
            let inside = body[at..].find('}').map(|len| braced(&body[at + 2..at + len], 0, offers));
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
                    Found::Shells => {}
                    Found::Refused => continue,
                    Found::Value(_, reference) => {
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

/// Whether every shell finds the same end of each substitution in the plain body of a
/// here-document, and none of them holds a placeholder.
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
                // A placeholder, or a variable, or what is no more certain than a substitution.
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
