//! The entries of `retry_on = […]`, `abort_on = […]`, `breaker_on = […]` and `uncounted = […]`.

use proc_macro2::{TokenStream, TokenTree};
use retry_rules::foreign_names::{plain, word_here};
use retry_rules::matchers::{CLASSES, covered, never_retried, of_status};
use retry_rules::suggest::meant;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, LitInt, LitStr, Pat, Path, Token, token};

use crate::tokens::errors::{Errors, error};
use crate::tokens::grammar::{self, each, up_to_comma};
use crate::tokens::text::short_text;
use crate::value;

/// One entry.
#[derive(Clone)]
pub(crate) enum Matcher {
    /// `network`, `connect`, `timeout`, `server_error`, `rate_limit`, `conflict`; `transient` is
    /// all of them.
    Class(Ident),
    /// `pattern("…")`: a regular expression over the error's text.
    Pattern(LitStr),
    /// `matches(Pattern if guard)`.
    Matches { pattern: Pat, guard: Option<Expr> },
    /// `when(f)`, with `f: Fn(&E) -> bool`.
    When(Expr),
    /// `ok(f)`, with `f: Fn(&T) -> bool`.
    Ok(Expr),
}

impl Matcher {
    /// Returns the word of a kind of failure.
    pub(crate) const fn kind(&self) -> Option<&Ident> {
        if let Self::Class(kind) = self { Some(kind) } else { None }
    }
}

/// The matchers that take an argument.
const WITH_ARGUMENT: [&str; 4] = ["pattern", "matches", "when", "ok"];

/// The names of all matchers.
pub(crate) fn names() -> Vec<&'static str> {
    [&["transient"][..], &CLASSES, &WITH_ARGUMENT].concat()
}

/// Parses the list after `retry_on =` or `abort_on =`; invalid entries are reported and left out.
pub(crate) fn list(
    input: ParseStream,
    option: &Ident,
    errors: &mut Errors,
) -> syn::Result<Vec<Matcher>> {
    let example = if option == "uncounted" { "rate_limit" } else { "transient" };
    if !input.peek(token::Bracket) {
        let rest = until_comma(input);
        let mut tokens = rest.clone().into_iter();
        let entries = match (tokens.next(), tokens.next()) {
            (Some(TokenTree::Group(group)), None) => group.stream(),
            _ => rest.clone(),
        };
        let read =
            |input: ParseStream| Punctuated::<_, Token![,]>::parse_terminated_with(input, matcher);
        let alternatives = |input: ParseStream| {
            Punctuated::<_, Token![|]>::parse_separated_nonempty_with(input, matcher)
        };
        let written = match read.parse2(entries.clone()) {
            Ok(_) if rest.is_empty() => example.to_owned(),
            Ok(_) => short_text(&entries),
            Err(_) if alternatives.parse2(entries.clone()).is_ok() => {
                short_text(&entries).replace(" |", ",")
            }
            Err(mut entry) => {
                // Unless the message shows the whole list.
                if !entry.to_string().contains(" = [") {
                    entry.combine(error(
                        option,
                        format!("`{option}` takes a list: put it in brackets"),
                    ));
                }
                return Err(entry);
            }
        };
        let message = format!("`{option}` takes a list: write `{option} = [{written}]`");
        return Err(error(option, message));
    }
    let content;
    let brackets = syn::bracketed!(content in input);
    if content.is_empty() {
        return Err(syn::Error::new(
            brackets.span.join(),
            format!(
                "`{option}` is empty: list at least one matcher, as in `{option} = [{example}]`, or \
                 leave it out"
            ),
        ));
    }
    let mut matchers = Vec::new();
    each(&content, errors, |content, _| {
        let written = up_to_comma(content);
        let matcher = matcher(content)?;
        match &matcher {
            Matcher::Class(_) if option == "uncounted" => matchers.push(matcher),
            _ if option == "uncounted" => {
                return Err(error(
                    written,
                    "`uncounted` lists kinds of failure, such as `rate_limit`: to name other failures, give \
                     them a kind with `classify = f`",
                ));
            }
            Matcher::Ok(expr) if option == "abort_on" => {
                return Err(error(
                    expr,
                    "`ok(…)` selects the values to retry, and a value that is not retried is simply returned: write it in `retry_on`",
                ));
            }
            Matcher::Class(name) if name == "conflict" && option == "breaker_on" => {
                return Err(error(
                    name,
                    "a conflict never counts against a breaker, because a server that lets one transaction lose works: leave `conflict` out of `breaker_on`",
                ));
            }
            _ => matchers.push(matcher),
        }
        Ok(())
    });
    let listed = |word: &str| matchers.iter().filter_map(Matcher::kind).find(|kind| *kind == word);
    for pair in covered(|word| listed(word).is_some()) {
        errors.at(listed(pair.inner), pair);
    }
    Ok(matchers)
}

/// Checks that each of the `uncounted` kinds is retried, if `retry_on` lists only kinds.
pub(crate) fn check_retried(uncounted: &[Ident], retry_on: &[Matcher], errors: &mut Errors) {
    if !retry_on.iter().all(|matcher| matcher.kind().is_some()) {
        return;
    }
    let lists = |word: &str| retry_on.iter().filter_map(Matcher::kind).any(|kind| kind == word);
    for kind in uncounted {
        if let Some(message) = never_retried(&kind.to_string(), lists) {
            errors.at(kind, message);
        }
    }
}

fn until_comma(input: ParseStream) -> TokenStream {
    let tokens = up_to_comma(input);
    tokens.clone().into_iter().for_each(|_| drop(input.parse::<TokenTree>()));
    tokens
}

fn matcher(input: ParseStream) -> syn::Result<Matcher> {
    if let Ok(number) = input.fork().parse::<LitInt>() {
        let kind = word_here(&number.to_string(), &names());
        let message = of_a_status(kind.or_else(|| of_status(number.base10_parse().ok()?)));
        return Err(syn::Error::new_spanned(until_comma(input), message));
    }
    if let Ok(text) = input.fork().parse::<LitStr>() {
        let word = text.value();
        let message = if names().contains(&word.as_str()) {
            format!("a matcher is written without quotes: write `{word}`")
        } else {
            let pattern = text.token();
            format!("to match the text of an error, use a pattern: write `pattern({pattern})`")
        };
        return Err(syn::Error::new(text.span(), message));
    }
    if input.peek(Token![|]) || input.peek(Token![move]) {
        let closure = until_comma(input);
        let message = format!(
            "a function of the error goes inside `when(…)`: write `when({})`",
            short_text(&closure)
        );
        return Err(syn::Error::new_spanned(closure, message));
    }
    if input.peek(Token![!]) || input.peek(Token![-]) {
        let exception = until_comma(input);
        let excluded: TokenStream = exception.clone().into_iter().skip(1).collect();
        let excluded = short_text(&excluded);
        let message = format!(
            "a list has no exceptions: in place of this one, add `abort_on = [{excluded}]`"
        );
        return Err(error(exception, message));
    }
    let name = grammar::name(input, "expected a matcher, such as `transient`")?;
    let word = name.to_string();
    if is_kind(&word) {
        if input.peek(token::Paren) {
            let arguments: TokenTree = input.parse()?;
            let message = format!("`{word}` takes no arguments: write `{word}`");
            return Err(error(quote::quote!(#name #arguments), message));
        }
        return Ok(Matcher::Class(name));
    }
    if !WITH_ARGUMENT.contains(&word.as_str()) {
        return Err(not_a_matcher(&name, &word, input));
    }
    let example = match word.as_str() {
        "pattern" => "pattern(\"(?i)try again\")",
        "matches" => "matches(DbError::Busy | DbError::Locked { .. })",
        "when" => "when(is_transient)",
        _ => "ok(|page: &Page| page.is_pending())",
    };
    let content = grammar::parentheses(input)
        .ok_or_else(|| error(&name, format!("`{word}` needs an argument, as in `{example}`")))?;
    let matcher = match word.as_str() {
        "pattern" => {
            let message = "a pattern must be a string literal, so that it can be checked at compile \
                           time, as in `pattern(\"(?i)try again\")`";
            let text = content.parse().map_err(|wrong| syn::Error::new(wrong.span(), message))?;
            check_pattern(&text)?;
            Matcher::Pattern(text)
        }
        "matches" => {
            let pattern = pattern_of_error(Pat::parse_multi_with_leading_vert(&content)?)?;
            let guard = content.parse::<Option<Token![if]>>()?;
            Matcher::Matches { pattern, guard: guard.map(|_| content.parse()).transpose()? }
        }
        "when" => Matcher::When(value::function(content.parse()?, &word, "is_transient")?),
        _ => Matcher::Ok(value::function(content.parse()?, &word, "|value| value.is_none()")?),
    };
    grammar::last(&content, format_args!("`{word}` takes one argument: `{example}`"))?;
    Ok(matcher)
}

/// Rejects the pattern of a `Result`, in place of one of the error itself.
fn pattern_of_error(pattern: Pat) -> syn::Result<Pat> {
    let message = if let Some(inside) = inside_of(&pattern, "Err") {
        format!("`matches` tests the error itself, not the `Result`: write `{inside}`")
    } else if inside_of(&pattern, "Ok").is_some() {
        "`matches` tests the error: a value is tested by `ok(|value| …)`".to_owned()
    } else {
        return Ok(pattern);
    };
    Err(error(pattern, message))
}

/// The pattern inside of a `variant` of `Result`, if each alternative is one.
fn inside_of(pattern: &Pat, variant: &str) -> Option<String> {
    match pattern {
        Pat::Or(or) => {
            let inside = or.cases.iter().map(|case| inside_of(case, variant));
            inside.collect::<Option<Vec<_>>>().map(|inside| inside.join(" | "))
        }
        Pat::Reference(reference) => inside_of(&reference.pat, variant),
        Pat::TupleStruct(result) => {
            let path = short_text(&result.path);
            let is_variant = path.strip_prefix("Result::").unwrap_or(&path) == variant;
            is_variant.then(|| short_text(&result.elems))
        }
        _ => None,
    }
}

/// The error for a word, a path or an expression that is not a matcher.
fn not_a_matcher(name: &Ident, word: &str, input: ParseStream) -> syn::Error {
    let rest = until_comma(input);
    let whole = quote::quote!(#name #rest);
    let written = short_text(&whole);
    let is_upper = |word: &str| word.starts_with(char::is_uppercase);
    if word.ends_with("status") || word.ends_with("code") {
        let number =
            written.split(|c: char| !c.is_ascii_digit()).find_map(|word| word.parse().ok());
        return error(whole, of_a_status(number.and_then(of_status)));
    }
    let path = syn::parse2::<Path>(whole.clone()).ok();
    let segments = path.iter().flat_map(|path| &path.segments);
    let segments: Vec<String> = segments.map(|segment| segment.ident.to_string()).collect();
    let message = match &segments[..] {
        [] | [_] if matches!(word, "all" | "any" | "every" | "_") => {
            "every failure is retried without \
            `retry_on`: leave it out, or, for those that may pass, write `retry_on = [transient]`"
                .to_owned()
        }
        [] => return error(name, grammar::unknown("matcher", word, &names())),
        [_] if meant(word, &names()).is_some() => grammar::unknown("matcher", word, &names()),
        [.., path, kind]
            if matches!(&**path, "Class" | "Matcher") || !is_upper(path) && is_kind(kind) =>
        {
            let kind = CLASSES.into_iter().find(|class| plain(class) == plain(kind));
            let kind = kind.unwrap_or("transient");
            format!("a kind of failure is a word here: write `{kind}`")
        }
        [.., ty, status] if ty == "StatusCode" => of_a_status(word_here(status, &names())),
        [.., ty, _] if ty == "ErrorKind" => format!(
            "`{written}` is not a matcher: to compare the kind of an `io::Error`, write \
             `when(|error| error.kind() == {written})`"
        ),
        [_] if NO_KINDS.contains(&word) => format!(
            "no kind of failure is called `{word}`: the kinds are those that may pass, and \
             `retry_on = [transient]` leaves out all other failures; to test the error itself, use \
             `when(…)`"
        ),
        [.., path, ty] if is_upper(ty) && !is_upper(path) => {
            format!("`{written}` is not a matcher: test the error in `matches(…)` or in `when(…)`")
        }
        [.., last] if is_upper(last) => format!(
            "`{written}` is not a matcher: to match a variant of your error, write \
             `matches({written})`"
        ),
        [.., _] => format!(
            "`{written}` is not a matcher: to test the error with a function, write \
             `when({written})`"
        ),
    };
    syn::Error::new_spanned(whole, message)
}

/// Words for failures that no retry cures.
const NO_KINDS: [&str; 6] =
    ["client_error", "bad_request", "not_found", "permanent", "fatal", "unauthorized"];

/// The error for an HTTP status that is of this kind.
fn of_a_status(kind: Option<&str>) -> String {
    let kind = kind.map_or_else(String::new, |kind| format!("write `{kind}`, or "));
    format!(
        "a status is not a matcher: {kind}test it with a function of the error, in `when(…)`; for \
         reqwest, `when(|error| error.status().is_some_and(|status| status == 404))`"
    )
}

/// Returns whether this is the word for a kind of failure.
fn is_kind(word: &str) -> bool {
    word == "transient" || CLASSES.contains(&word)
}

#[cfg(feature = "pattern")]
fn check_pattern(text: &LitStr) -> syn::Result<()> {
    if text.value().is_empty() {
        return Err(syn::Error::new(
            text.span(),
            "an empty pattern matches every text: remove it, or write what to look for",
        ));
    }
    let wrong = |why| error(text, format!("this pattern is not a valid regular expression: {why}"));
    regex::Regex::new(&text.value()).map(drop).map_err(wrong)
}

#[cfg(not(feature = "pattern"))]
fn check_pattern(text: &LitStr) -> syn::Result<()> {
    Err(syn::Error::new(
        text.span(),
        "`pattern` needs the `pattern` feature of retry-runtime: enable it in Cargo.toml, or write \
         `when(|error| …)`",
    ))
}
