//! [`Expression`]: the conditions of `filter`, `when` and `--where`.
//!
//! ```text
//! severity == 'high' || score > 5 && !(path matches '\.rs$')
//! ```
//!
//! `!` binds tightest, then comparisons, `&&`, and `||`. A comparison with a missing value is
//! false. Numbers are compared with numbers and texts with texts; any other comparison is an error
//! rather than false, because a filter that silently drops all items would be worse.

use std::borrow::Cow;
use std::cmp::Ordering;

use regex::Regex;
use serde_json::{Number, Value};

use crate::condition::decimal::{Decimal, LARGEST};

/// A mistake in a condition: its position, the part that is wrong, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub struct ExpressionError {
    pub at: usize,
    pub part: String,
    pub message: String,
}

/// A condition on the values that `R` refers to.
#[derive(Clone, Debug)]
pub enum Expression<R> {
    Literal(Value),
    Reference(R),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Compare(Box<Self>, Comparison, Box<Self>),
    Matches(Box<Self>, Regex),
}

/// An operator, and the orderings for which it holds.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    operator: &'static str,
    includes: fn(Ordering) -> bool,
}

/// An operator that begins with another one comes first.
const COMPARISONS: [Comparison; 7] = [
    Comparison { operator: "==", includes: Ordering::is_eq },
    Comparison { operator: "!=", includes: Ordering::is_ne },
    Comparison { operator: "<=", includes: Ordering::is_le },
    Comparison { operator: ">=", includes: Ordering::is_ge },
    Comparison { operator: "<", includes: Ordering::is_lt },
    Comparison { operator: ">", includes: Ordering::is_gt },
    Comparison { operator: "=", includes: Ordering::is_eq },
];

/// The typing of the values of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Types {
    #[default]
    Json,
    /// All values are texts, as in a CSV: when compared with a number, a text is read as a number.
    Texts,
}

impl<R> Expression<R> {
    /// Parses an expression; `reference` parses a bare path, or the inside of `${…}`, at a given
    /// position.
    pub fn parse(
        text: &str,
        reference: impl FnMut(&str, usize) -> Result<R, String>,
    ) -> Result<Self, ExpressionError> {
        let mut parser = Parser { text, at: 0, depth: 0, joined: 0, reference };
        let expression = parser.disjunction()?;
        parser.skip_blanks();
        if parser.at < text.len() {
            return Err(parser.leftover());
        }
        Ok(expression)
    }

    /// Evaluates the condition with the values that `value` finds.
    ///
    /// # Errors
    /// Values cannot be compared, or a value that has to be true or false is neither.
    pub fn holds<'a>(
        &'a self,
        types: Types,
        value: &impl Fn(&'a R) -> Option<Cow<'a, Value>>,
    ) -> Result<bool, String> {
        match self {
            Self::Not(inner) => Ok(!inner.holds(types, value)?),
            Self::And(left, right) => Ok(left.holds(types, value)? && right.holds(types, value)?),
            Self::Or(left, right) => Ok(left.holds(types, value)? || right.holds(types, value)?),
            Self::Compare(left, comparison, right) => {
                let (left, right) = (left.value(types, value)?, right.value(types, value)?);
                let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
                comparison.holds(types, &left, &right)
            }
            Self::Matches(left, regex) => match left.value(types, value)?.as_deref() {
                None | Some(Value::Null) => Ok(false),
                Some(Value::String(text)) => Ok(regex.is_match(text)),
                Some(other) => Err(format!("`matches` needs a text, but this is {}", kind(other))),
            },
            Self::Literal(_) | Self::Reference(_) => match self.value(types, value)?.as_deref() {
                None | Some(Value::Null) => Ok(false),
                Some(Value::Bool(holds)) => Ok(*holds),
                Some(Value::String(text)) if types == Types::Texts && text == "true" => Ok(true),
                Some(Value::String(text)) if types == Types::Texts && text == "false" => Ok(false),
                Some(other) => Err(format!(
                    "this is {}, but a condition must be true or false: compare it, as in `x == 1`",
                    kind(other)
                )),
            },
        }
    }

    fn value<'a>(
        &'a self,
        types: Types,
        value: &impl Fn(&'a R) -> Option<Cow<'a, Value>>,
    ) -> Result<Option<Cow<'a, Value>>, String> {
        match self {
            Self::Literal(literal) => Ok(Some(Cow::Borrowed(literal))),
            Self::Reference(reference) => Ok(value(reference)),
            _ => Ok(Some(Cow::Owned(self.holds(types, value)?.into()))),
        }
    }

    /// All references.
    pub fn references(&self) -> Vec<&R> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Reference(reference) => vec![reference],
            Self::Not(inner) | Self::Matches(inner, _) => inner.references(),
            Self::And(left, right) | Self::Or(left, right) | Self::Compare(left, _, right) => {
                let mut all = left.references();
                all.extend(right.references());
                all
            }
        }
    }
}

impl Comparison {
    fn holds(self, types: Types, left: &Value, right: &Value) -> Result<bool, String> {
        if left.is_null() || right.is_null() {
            return Ok(match self.operator {
                "=" | "==" => left == right,
                "!=" => left != right,
                _ => false,
            });
        }
        let ordering = compare(types, left, right).ok_or_else(|| {
            let hint = match (left, right) {
                (Value::Number(_), Value::Number(_)) => {
                    return format!(
                        "{} and {} cannot be compared: numbers can be as large as {LARGEST}",
                        kind(left),
                        kind(right)
                    );
                }
                (Value::String(_), Value::Number(_)) | (Value::Number(_), Value::String(_)) => {
                    ": write a text with quotes and a number without, or capture it with \
                     `capture_format: number`"
                }
                _ => ": compare numbers with numbers, and texts with texts",
            };
            format!("{} and {} cannot be compared{hint}", kind(left), kind(right))
        })?;
        if matches!(left, Value::Bool(_)) && !matches!(self.operator, "=" | "==" | "!=") {
            return Err("true and false have no order: write `==` or `!=`".to_owned());
        }
        Ok((self.includes)(ordering))
    }
}

/// Returns the order of two values, if they are of the same kind.
pub fn compare(types: Types, left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            // By their digits: large ids would be equal as floats.
            match (left.as_i128(), right.as_i128()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => Some(Decimal::of(left)?.cmp(&Decimal::of(right)?)),
            }
        }
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::String(text), Value::Number(_)) if types == Types::Texts => {
            compare(types, &number(text)?, right)
        }
        (Value::Number(_), Value::String(text)) if types == Types::Texts => {
            compare(types, left, &number(text)?)
        }
        (Value::String(text), Value::Bool(_)) if types == Types::Texts => {
            compare(types, &Value::Bool(text.parse().ok()?), right)
        }
        (Value::Bool(_), Value::String(text)) if types == Types::Texts => {
            compare(types, left, &Value::Bool(text.parse().ok()?))
        }
        _ => None,
    }
}

/// Parses a text as a number.
pub fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
        return None;
    }
    // As JSON writes it, where no digit is lost: without zeros at the beginning.
    let digits = digits.trim_start_matches('0');
    let zero = if digits.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    let number = serde_json::from_str::<Number>(&format!("{sign}{zero}{digits}")).ok();
    let number = number.filter(|number| number.as_f64().is_some());
    // `1.` is a number, too.
    number.or_else(|| Number::from_f64(text.parse().ok()?)).map(Value::Number)
}

pub fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.len() <= 40 => format!("the text \"{text}\""),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

/// The limit for nested parentheses and `!`, because the parser is recursive.
const DEEPEST: usize = 64;

/// The limit for `&&` and `||`, for the same reason.
const MOST_JOINED: usize = 500;

struct Parser<'a, F> {
    text: &'a str,
    at: usize,
    depth: usize,
    joined: usize,
    reference: F,
}

impl<'a, R, F: FnMut(&str, usize) -> Result<R, String>> Parser<'a, F> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// An error for the text from `at` to the next blank.
    fn error(&self, at: usize, message: impl Into<String>) -> ExpressionError {
        let rest = self.text.get(at..).unwrap_or_default();
        let part = rest.split(char::is_whitespace).next().unwrap_or_default().to_owned();
        ExpressionError { at, part, message: message.into() }
    }

    /// An error for a token where an operator or the end was expected.
    fn leftover(&self) -> ExpressionError {
        let mut words = self.rest().split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        let (word, next) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let message = match self.rest().chars().next() {
            _ if word == "and" => "write `&&` for \"and\"",
            _ if word == "or" => "write `||` for \"or\"",
            _ if word == "is" && next == "not" => "write `!=` for \"is not\"",
            _ if matches!(&*word, "is" | "eq" | "equals") => "write `==` to compare",
            _ if matches!(&*word, "contains" | "like") => {
                "write `matches` and a regular expression in quotes"
            }
            _ if word == "in" => {
                "there is no `in`: compare with each value, as in `item.n == 1 || item.n == 2`"
            }
            Some('=') => "write `==` or `=` to compare",
            Some('&') => "write `&&` for \"and\"",
            Some('|') => "write `||` for \"or\"",
            Some(')') => "this `)` has no matching `(`: remove it",
            _ => {
                "an operator is missing before this: write one of `==`, `!=`, `<`, `<=`, `>`, `>=`, \
                 `matches`, `&&`, `||`"
            }
        };
        self.error(self.at, message)
    }

    /// Consumes this token if it comes next.
    fn accept(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn disjunction(&mut self) -> Result<Expression<R>, ExpressionError> {
        let mut left = self.conjunction()?;
        while self.accept("||") {
            self.join()?;
            left = Expression::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    /// Counts an operator that joins conditions: they are evaluated one within the other.
    fn join(&mut self) -> Result<(), ExpressionError> {
        self.joined += 1;
        if self.joined > MOST_JOINED {
            let message =
                format!("more than {MOST_JOINED} `&&` and `||` join conditions: write fewer");
            return Err(self.error(self.at, message));
        }
        Ok(())
    }

    fn conjunction(&mut self) -> Result<Expression<R>, ExpressionError> {
        let mut left = self.comparison()?;
        while self.accept("&&") {
            self.join()?;
            left = Expression::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expression<R>, ExpressionError> {
        let left = self.unary()?;
        let Some(comparison) = self.operator() else {
            if self.accept_word("matches") {
                return self.regex(left);
            }
            return Ok(left);
        };
        let right = self.unary()?;
        self.skip_blanks();
        let at = self.at;
        if self.operator().is_some() {
            return Err(self.error(at, "comparisons cannot be chained: join them with `&&`"));
        }
        Ok(Expression::Compare(Box::new(left), comparison, Box::new(right)))
    }

    fn operator(&mut self) -> Option<Comparison> {
        COMPARISONS.into_iter().find(|comparison| self.accept(comparison.operator))
    }

    fn accept_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let after = self.rest().strip_prefix(word);
        let is_next = after.is_some_and(|after| !after.starts_with(is_name));
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn regex(&mut self, left: Expression<R>) -> Result<Expression<R>, ExpressionError> {
        self.skip_blanks();
        let at = self.at;
        let quote = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"'));
        let Some(quote) = quote else {
            return Err(self.error(at, "`matches` needs a regular expression in quotes after it"));
        };
        let pattern = self.quoted(quote)?;
        match Regex::new(&pattern) {
            Ok(regex) => Ok(Expression::Matches(Box::new(left), regex)),
            Err(error) => {
                // The last line has the message; the others underline it.
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                Err(self.error(at, format!("this is not a valid regular expression: {why}")))
            }
        }
    }

    fn unary(&mut self) -> Result<Expression<R>, ExpressionError> {
        self.skip_blanks();
        let at = self.at;
        let nested = self.rest().starts_with('(')
            || self.rest().starts_with('!') && !self.rest().starts_with("!=");
        if !nested {
            return self.operand();
        }
        if self.depth >= DEEPEST {
            return Err(self.error(at, "this is nested too deeply: simplify it"));
        }
        self.depth += 1;
        let inner = if self.accept("(") {
            let inner = self.disjunction()?;
            if !self.accept(")") {
                if !self.rest().is_empty() {
                    return Err(self.leftover());
                }
                return Err(self.error(at, "this `(` is never closed"));
            }
            inner
        } else {
            self.accept("!");
            Expression::Not(Box::new(self.unary()?))
        };
        self.depth -= 1;
        Ok(inner)
    }

    fn operand(&mut self) -> Result<Expression<R>, ExpressionError> {
        let (at, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else {
            return Err(self.error(
                at,
                "something is missing at the end: a name, a number, or a text in quotes",
            ));
        };
        if let Some(inner) = rest.strip_prefix("${") {
            let Some(end) = inner.find('}') else {
                return Err(self.error(at, "this `${` has no `}`"));
            };
            self.at += end + 3;
            let part = &rest[..end + 3];
            return (self.reference)(inner[..end].trim(), at)
                .map(Expression::Reference)
                .map_err(|message| ExpressionError { at, part: part.to_owned(), message });
        }
        if matches!(first, '\'' | '"') {
            return Ok(Expression::Literal(self.quoted(first)?.into()));
        }
        if first.is_ascii_digit() || first == '-' {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
            let written = &rest[..end.unwrap_or(rest.len())];
            let Some(number) = number(written) else {
                return Err(self.error(at, format!("`{written}` is not a number")));
            };
            self.at += written.len();
            return Ok(Expression::Literal(number));
        }
        if !(first.is_alphabetic() || first == '_') {
            return Err(self.error(at, "a name, a number, or a text in quotes is missing here"));
        }
        let path = &rest[..end_of_path(rest)];
        let literal = match path {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            "not" | "NOT" => return Err(self.error(at, "write `!` for \"not\"")),
            _ => None,
        };
        self.at += path.len();
        if let Some(literal) = literal {
            return Ok(Expression::Literal(literal));
        }
        (self.reference)(path, at).map(Expression::Reference).map_err(|message| ExpressionError {
            at,
            part: path.to_owned(),
            message,
        })
    }

    /// A quoted text; a backslash escapes a quote or a backslash.
    fn quoted(&mut self, quote: char) -> Result<String, ExpressionError> {
        let open = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at = open + at + 1;
                return Ok(text);
            }
            match chars.peek() {
                Some(&(_, next)) if c == '\\' && next == quote => {
                    text.push(next);
                    chars.next();
                }
                _ => text.push(c),
            }
        }
        Err(self.error(open, "this text has no closing quote"))
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The end of a path such as `a.b[0].c`.
fn end_of_path(text: &str) -> usize {
    let mut in_bracket = false;
    for (at, c) in text.char_indices() {
        match c {
            '[' if !in_bracket => in_bracket = true,
            ']' if in_bracket => in_bracket = false,
            '.' if !in_bracket => {}
            c if is_name(c) => {}
            _ => return at,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(text: &str) -> Result<Expression<String>, ExpressionError> {
        Expression::parse(text, |name, _| match name {
            "nobody" => Err("unknown".to_owned()),
            name => Ok(name.to_owned()),
        })
    }

    fn holds_of(text: &str, types: Types, item: &Value) -> Result<bool, String> {
        let expression = parsed(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        expression.holds(types, &|name: &String| item.get(name).map(Cow::Borrowed))
    }

    fn holds(text: &str) -> bool {
        let item = json!({
            "a": 1, "b": 2.5, "s": "x.rs", "t": true, "f": false, "n": null,
            "big": 9_007_199_254_740_993_i64
        });
        holds_of(text, Types::Json, &item).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn operators_bind_as_they_do_elsewhere() {
        for text in [
            "a == 1 || a == 2 && a == 3",
            "a = 1 && s='x.rs' && n = null && t = true",
            "!(a == 1 && a == 2)",
            "!f && t",
            "!f == true",
            "(a == 2 || b > 2) && s matches '\\.rs$'",
            "${a} < ${b}",
            "s == \"x.rs\" && s != 'it\\'s'",
            "a>=1&&a<=1&&b<2.6&&b>-1e3",
            "t",
            "(a == 1) == t",
            "big == 9007199254740993 && big != 9007199254740992",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in ["a == 2 || f", "!t", "!t == t", "s matches '^rs'"] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn comparisons_with_missing_values_are_false() {
        for text in ["none == 1", "none != 1", "none == null", "none", "none matches 'x'"] {
            assert!(!holds(text), "{text}");
            assert!(holds(&format!("!({text})")), "{text}");
        }
        assert!(holds("n == null && !(n > 3) && n != 3"));
    }

    #[test]
    fn mixed_types_are_an_error() {
        let item = json!({ "a": 1, "s": "1", "l": [] });
        for text in
            ["a == s", "s > 0", "a == true", "l == 1", "a && true", "a matches 'x'", "true < true"]
        {
            assert!(holds_of(text, Types::Json, &item).is_err(), "{text}");
        }
    }

    #[test]
    fn texts_of_a_csv_are_numbers_beside_a_number() {
        let item = json!({ "a": "10", "b": "007", "c": "x", "d": "true" });
        assert_eq!(holds_of("a > 9 && a < 10.5 && c == 'x' && d", Types::Texts, &item), Ok(true));
        assert_eq!(holds_of("a == '10' && b != '7'", Types::Texts, &item), Ok(true));
        assert!(holds_of("c > 1", Types::Texts, &item).is_err());
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, at, message) in [
            ("a => 1", 3, "is missing here"),
            ("a == ", 5, "missing at the end"),
            ("a == 'x", 5, "no closing quote"),
            ("(a == 1", 0, "never closed"),
            ("a == 1)", 6, "no matching `(`"),
            ("a == 1 and b", 7, "write `&&` for"),
            ("s is 'x'", 2, "write `==`"),
            ("s IS NOT 'x'", 2, "write `!=`"),
            ("s contains 'x'", 2, "write `matches`"),
            ("a < 1 < 2", 6, "join them with `&&`"),
            ("s matches '('", 10, "not a valid regular expression"),
            ("s matches x", 10, "in quotes"),
            ("a == 1 && nobody > 2", 10, "unknown"),
            ("1x == 2", 0, "not a number"),
            ("a & b", 2, "write `&&`"),
            ("not a", 0, "write `!`"),
            ("", 0, "missing at the end"),
        ] {
            let error = parsed(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error:?}");
            assert!(error.message.contains(message), "{text}: {error:?}");
        }
        assert!(parsed(&"(".repeat(100_000)).is_err());
        assert!(parsed(&"!".repeat(100_000)).is_err());
        assert!(parsed(&format!("{}a", "a||".repeat(100_000))).is_err());
        assert!(parsed(&format!("{}a", "a||b&&".repeat(200))).is_ok());
    }
}
