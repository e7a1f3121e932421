//! Completions and explanations of an editor inside `#[retry( … )]`: the macro asks for each word,
//! no word is missing, and the texts agree with the documentation. That all the words resolve is
//! shown by `fixtures/editor`, which has to compile.

use crate::macros::*;
use proc_macro2::TokenStream;
use retry_rules::options::{BREAKER, POLICY, Setting};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const MIRROR: &str = include_str!("../../../retry-runtime/src/private/ide.rs");
const OPTIONS_TABLE: &str = include_str!("../../../retry-runtime/src/attribute.md");
const FIXTURE: &str = include_str!("../../fixtures/editor/src/lib.rs");
/// The options of the attribute, by name.
fn options() -> Vec<&'static str> {
    args::Syntax::Attribute.options().into_iter().collect()
}

/// The settings of an inline breaker, by name.
fn breaker_settings() -> Vec<&'static str> {
    BREAKER.iter().map(Setting::name).collect()
}

macro_rules! kinds {
    ($NAME:ident; $(
        $(#[$docs:meta])+
        $name:ident => $Field:ident $parts:tt $keys:tt $Kind:ident $words:tt;
    )*) => {
        /// The names of rows, with the kinds of their values.
        const $NAME: &[(&str, &str)] = &[$( (stringify!($name), stringify!($Kind)) ),*];
    };
}

retry_rules::policy_options!(kinds! { POLICY_KINDS; });
retry_rules::breaker_settings!(kinds! { BREAKER_KINDS; });

const FUNCTION: &str = "async fn f(body: Vec<u8>) -> Result<u8, E> { Ok(body[0]) }";

fn tokens(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The items of the mirror by path, with their documentation.
fn mirror() -> BTreeMap<String, String> {
    fn docs(attrs: &[syn::Attribute]) -> String {
        let line = |attr: &syn::Attribute| match &attr.meta {
            syn::Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                    Some(text.value().trim().to_owned())
                }
                _ => None,
            },
            _ => None,
        };
        attrs.iter().filter_map(line).collect::<Vec<_>>().join("\n")
    }
    fn names(tree: &syn::UseTree, found: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => names(&path.tree, found),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, found)),
            syn::UseTree::Rename(rename) => found.push(rename.rename.to_string()),
            syn::UseTree::Name(name) => found.push(name.ident.to_string()),
            syn::UseTree::Glob(_) => found.push("*".to_owned()),
        }
    }
    fn collect(items: &[syn::Item], inside: &str, all: &mut BTreeMap<String, String>) {
        for item in items {
            match item {
                syn::Item::Mod(module) => {
                    let path = format!("{inside}{}", module.ident);
                    all.insert(path.clone(), docs(&module.attrs));
                    if let Some((_, items)) = &module.content {
                        collect(items, &format!("{path}::"), all);
                    }
                }
                syn::Item::Type(alias) => {
                    all.insert(format!("{inside}{}", alias.ident), docs(&alias.attrs));
                }
                // Re-exports are documented where they are defined.
                syn::Item::Use(item) if matches!(item.vis, syn::Visibility::Public(_)) => {
                    let mut found = Vec::new();
                    names(&item.tree, &mut found);
                    for name in found {
                        all.insert(format!("{inside}{name}"), String::new());
                    }
                }
                _ => {}
            }
        }
    }

    let file: syn::File = syn::parse_str(MIRROR).expect("it compiles");
    let mut all = BTreeMap::new();
    collect(&file.items, "", &mut all);
    // Items from the tables have the words of their kind.
    let (words, mut all): (BTreeMap<_, _>, BTreeMap<_, _>) =
        all.into_iter().partition(|(path, _)| path.split("::").next() == Some("words"));
    let policy = POLICY.iter().map(|option| option.docs).zip(POLICY_KINDS);
    let breaker = BREAKER.iter().map(|setting| setting.docs).zip(BREAKER_KINDS);
    let policy = policy.map(|row| ("", row));
    for (place, (docs, (name, kind))) in policy.chain(breaker.map(|row| ("breaker::", row))) {
        let docs = docs.iter().map(|docs| docs.trim()).collect::<Vec<_>>().join("\n");
        all.insert(format!("{place}{name}"), docs);
        let inside = format!("words::{kind}::");
        all.extend(words.iter().filter_map(|(path, docs)| {
            Some((format!("{place}{name}::{}", path.strip_prefix(&inside)?), docs.clone()))
        }));
    }
    // `retry_on` accepts everything that `abort_on` accepts, and more.
    assert!(all.remove("retry_on::*").is_some());
    let both: Vec<_> = all
        .iter()
        .filter_map(|(path, docs)| Some((path.strip_prefix("abort_on::")?, docs.clone())))
        .map(|(word, docs)| (format!("retry_on::{word}"), docs))
        .collect();
    all.extend(both);
    all
}

/// The words that an editor would look up, each with its path in the mirror.
#[expect(clippy::needless_pass_by_value, reason = "tokens are given as they are quoted")]
fn asked_for(options: TokenStream) -> BTreeSet<String> {
    let text = ide::imports(&options).to_string().replace(' ', "");
    let mut asked = BTreeSet::new();
    for scope in text.split("modscope_").skip(1) {
        let (path, rest) = scope
            .split_once("::__private::ide::")
            .and_then(|(_, rest)| rest.split_once("*;useself::{"))
            .unwrap_or_else(|| panic!("no imports: {scope}"));
        let words = rest.split('}').next().unwrap_or_default();
        asked.extend(
            words.split(',').filter(|word| !word.is_empty()).map(|word| {
                format!("{path}{}", word.strip_suffix("as_").expect("an unnamed import"))
            }),
        );
    }
    asked
}

fn asked(options: &str) -> Vec<String> {
    asked_for(tokens(options)).into_iter().collect()
}

#[test]
fn each_word_is_imported_from_its_module_of_the_grammar() {
    assert_eq!(
        asked("attempts = 5, backoff = linear(increment = \"2s\"), jitter = full"),
        [
            "attempts",
            "backoff",
            "backoff::linear",
            "backoff::linear::increment",
            "jitter",
            "jitter::full"
        ],
    );
    assert_eq!(
        asked(
            "retry_on = [network, matches(A::B | C), when(|e| f(e, g))], breaker(timeout = \"1s\")"
        ),
        [
            "breaker",
            "breaker::timeout",
            "retry_on",
            "retry_on::matches",
            "retry_on::network",
            "retry_on::when"
        ],
    );
    assert_eq!(asked("attempts = unlimited"), ["attempts", "attempts::unlimited"]);
}

#[test]
fn expressions_are_left_to_the_editor() {
    assert_eq!(
        asked(
            "attempts = N, jitter = config::SHARE, breaker = DB, quota = self.quota, clone(body)"
        ),
        ["attempts", "breaker", "clone", "jitter", "quota"],
    );
}

#[test]
fn keywords_are_imported_under_valid_names() {
    assert_eq!(
        asked("on_failure = continue, crate = again, self, r#fn, 5"),
        ["crate_", "on_failure", "on_failure::continue_", "r#fn", "self_"],
    );
}

#[test]
fn words_are_imported_from_the_crate_in_the_options() {
    let text = ide::imports(&tokens("jitter, crate = ::again::inner")).to_string();
    assert!(text.replace(' ', "").contains("use::again::inner::__private::ide::*;"), "{text}");
}

#[test]
fn half_typed_options_are_imported() {
    assert_eq!(asked("att"), ["att"]);
    assert_eq!(asked("backoff = "), ["backoff"]);
    assert_eq!(asked("backoff = lin"), ["backoff", "backoff::lin"]);
}

/// Options as typed so far, with `@` for the cursor.
const HALF_TYPED: [&str; 24] = [
    "@",
    "att@",
    "attempts = 5, @",
    "attempts = 5 @",
    "attempts = 5, ji@, budget = \"5m\"",
    "attempts = 0, ji@",
    "policy = HTTP, ji@",
    "backoff = @",
    "backoff = lin@",
    "backoff = linear(@)",
    "backoff = linear(inc@ = \"2s\")",
    "backoff = linear(increment = \"2s\", @), jitter",
    "jitter = @",
    "jitter = de@, deadline = \"1m\"",
    "retry_on = [@]",
    "retry_on = [network, ti@]",
    "abort_on = [@], jitter",
    "breaker(@)",
    "breaker(wi@)",
    "on_failure = @",
    "on_failure = fall@",
    "nested = @",
    "docs = true, @",
    "attempts = N, backoff = @",
];

/// rust-analyzer expands with and without a made-up word at the cursor, finds that word in one
/// expansion, and looks at the same offset in the other.
fn what_stands_before_the_cursor_has_the_same_length() {
    const MADE_UP: &str = "raCompletionMarker";

    for item in [FUNCTION, "/// x\npub fn f(&self) -> Result<u8, E> { Ok(1) }"] {
        for typed in HALF_TYPED {
            let expansion = |word: &str| {
                ide::with_hints(tokens(&typed.replace('@', word)), |options| {
                    expand::retry(options, &tokens(item))
                })
                .to_string()
            };
            let (without, with) = (expansion(""), expansion(MADE_UP));
            let at = with
                .match_indices("as _")
                .find_map(|(end, _)| with[..end].trim_end().ends_with(MADE_UP).then_some(end))
                .unwrap_or_else(|| panic!("{typed}: the word is not asked for: {with}"));
            let at = with[..at].rfind("use self").expect("an import");
            assert_eq!(without[..at].len(), with[..at].len());
            assert!(without[at..].starts_with("use self"), "{typed}:\n{without}\n{with}");
        }
    }
}

/// Run in a child process by the test below.
#[test]
#[ignore = "in a process that looks like rust-analyzer's only"]
fn in_an_editor() {
    let with =
        ide::with_hints(tokens("jitter"), |options| expand::retry(options, &tokens(FUNCTION)));
    let body = with.into_iter().last().expect("a body").to_string();
    assert!(body.starts_with("{ # [allow (unexpected_cfgs)] const _"), "{body}");
    for not_a_function in
        ["struct S { x: fn() }", "impl S { fn f() { } }", "trait T { fn f(); }", "fn f();"]
    {
        let text = ide::with_hints(tokens("jitter"), |_| tokens(not_a_function)).to_string();
        assert_eq!(text, tokens(not_a_function).to_string());
    }
    let policy = ide::with_hints(tokens("jitter"), expand::policy::policy).to_string();
    assert!(policy.contains("cfg (rust_analyzer)"), "{policy}");
    what_stands_before_the_cursor_has_the_same_length();
}

#[test]
fn an_editor_is_recognised_by_the_variable_of_its_server() {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "--ignored", "editor::in_an_editor"])
        .env("RUST_ANALYZER_INTERNALS_DO_NOT_USE", "this is unstable")
        .output()
        .expect("this test runs again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_compiler_gets_no_imports() {
    // Some development shells set it for everything that they run.
    if std::env::var_os("RUST_ANALYZER_INTERNALS_DO_NOT_USE").is_some() {
        return;
    }
    let options = || tokens("jitter, backoff = linear(increment = \"1s\")");
    let plain = expand::retry(options(), &tokens(FUNCTION)).to_string();
    let with = ide::with_hints(options(), |options| expand::retry(options, &tokens(FUNCTION)));
    assert_eq!(with.to_string(), plain);
    assert!(!plain.contains("rust_analyzer"));
}

#[test]
fn every_word_of_the_grammar_has_an_item() {
    let mirror = mirror();
    let on_failure = ["stop", "continue_", "fallback"];
    let places: [(&str, &[&str]); 8] = [
        ("", &options()),
        ("backoff::", &backoff::NAMES),
        ("jitter::", &jitter::NAMES),
        ("on_failure::", &on_failure),
        ("log::", &["off", "debug", "info", "warn"]),
        ("retry_on::", &matcher::names()),
        ("breaker::", &breaker_settings()),
        ("", &["attempts::unlimited", "backoff::linear::increment", "backoff::exponential::base"]),
    ];
    for (place, words) in places {
        for word in words {
            let path = format!("{place}{word}").replace("crate", "crate_");
            assert!(mirror.contains_key(&path), "retry-runtime/src/private/ide.rs has no `{path}`");
        }
    }
}

#[test]
fn every_item_stands_in_the_fixture_that_resolves_them() {
    fn attributes(tokens: TokenStream, all: &mut BTreeSet<String>) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for pair in tokens.windows(2) {
            if let [proc_macro2::TokenTree::Ident(name), proc_macro2::TokenTree::Group(options)] =
                pair
                && name == "retry"
            {
                all.extend(asked_for(options.stream()));
            }
        }
        for token in tokens {
            if let proc_macro2::TokenTree::Group(group) = token {
                attributes(group.stream(), all);
            }
        }
    }
    let mut written = BTreeSet::new();
    attributes(tokens(FIXTURE), &mut written);
    for path in mirror().keys() {
        let option = path.split("::").next().expect("a name").trim_end_matches('_');
        // An option that the macro does not have yet cannot be written.
        if options().contains(&option) {
            assert!(written.contains(path), "tests/fixtures/editor does not write `{path}`");
        }
    }
}

/// The cells of the tables' rows; a bar inside a cell is written as `\|`.
fn rows() -> impl Iterator<Item = Vec<String>> {
    OPTIONS_TABLE.lines().filter(|line| line.starts_with("| `")).map(|line| {
        line.replace("\\|", "\u{0}")
            .trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().replace('\u{0}', "|"))
            .collect()
    })
}

fn sentence(cell: &str) -> String {
    let mut letters = cell.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

#[test]
fn options_are_explained_in_the_words_of_the_table() {
    let mirror = mirror();
    let of_policy = |name: &&str| POLICY.iter().any(|option| option.name() == *name);
    for option in options().into_iter().filter(|name| !of_policy(name)) {
        let row = rows()
            .find(|row| row.len() == 3 && row[0][1..].split([' ', '(', '`']).next() == Some(option))
            .unwrap_or_else(|| panic!("attribute.md has no row for `{option}`"));
        let [example, meaning, default] = &row[..] else { unreachable!("it has three cells") };
        let said = format!("{}\n\n{example}. Default: {default}.", sentence(meaning));
        let item = if option == "crate" { "crate_" } else { option };
        let docs = &mirror[item];
        assert!(
            docs.starts_with(&said),
            "retry-runtime/src/private/ide.rs explains `{option}` so:\n{docs}\n\nand attribute.md so:\n{said}"
        );
    }
    for matcher in ["pattern", "matches", "when", "ok"] {
        let row = rows()
            .find(|row| row[0].starts_with(&format!("`{matcher}(")))
            .unwrap_or_else(|| panic!("attribute.md has no row for `{matcher}(…)`"));
        assert_eq!(mirror[&format!("retry_on::{matcher}")], sentence(&row[1]));
    }
}

/// The documentation of the first documented item of this name in a source file, up to its
/// examples.
fn documented(file: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = std::fs::read_to_string(&path).expect("a source file");
    let mut docs = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim().to_owned());
        } else if !line.starts_with("#[") {
            let word = line
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .find(|word| !["pub", "const", "fn"].contains(word));
            if word == Some(name) && !docs.is_empty() {
                let examples = docs.iter().position(|line| line.starts_with("```"));
                docs.truncate(examples.unwrap_or(docs.len()));
                return docs.join("\n").trim_end().to_owned();
            }
            docs.clear();
        }
    }
    panic!("{file} does not document `{name}`")
}

#[test]
fn settings_are_explained_in_the_words_of_their_definitions() {
    let mirror = mirror();
    let mut originals = vec![
        ("backoff::linear".to_owned(), "retry-rules/src/policy/backoff.rs", "Linear"),
        ("backoff::linear::increment".to_owned(), "retry-rules/src/policy/backoff.rs", "increment"),
        ("backoff::exponential".to_owned(), "retry-rules/src/policy/backoff.rs", "Exponential"),
        ("backoff::exponential::base".to_owned(), "retry-rules/src/policy/backoff.rs", "base"),
    ];
    for class in
        ["transient", "network", "connect", "timeout", "server_error", "rate_limit", "conflict"]
    {
        originals.push((
            format!("retry_on::{class}"),
            "retry-runtime/src/classify/matchers.rs",
            class,
        ));
    }
    for setting in breaker_settings() {
        originals.push((format!("breaker::{setting}"), "retry-rules/src/breaker.rs", setting));
    }
    for (item, file, name) in originals {
        let (mirrored, original) = (unwrapped(&mirror[&item]), unwrapped(&documented(file, name)));
        assert_eq!(mirrored, original, "`{item}`, by {file}");
    }
}

/// A text with each paragraph on one line: an indented original wraps elsewhere.
fn unwrapped(text: &str) -> String {
    text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn each_word_of_a_derive_has_an_item_and_stands_in_the_fixture() {
    let mirror = include_str!("../../../retry-runtime/src/private/ide_of_classify.rs");
    let fixture = include_str!("../../fixtures/editor/src/lib.rs");
    let (_, derived) = fixture.split_once("#[derive(Debug, Classify)]").expect("a derived type");
    let words = crate::classify::words::names().into_iter().chain(["crate"]);
    for word in words {
        let named = if word == "crate" { "crate_" } else { word };
        assert!(
            ["mod @ {", "type @ ", "type @<"]
                .iter()
                .any(|form| mirror.contains(&form.replace('@', named))),
            "`{word}` has no item",
        );
        assert!(derived.contains(word), "`{word}` is not in the fixture");
    }
}

#[test]
fn a_derive_imports_the_words_of_each_variant() {
    let words = [tokens("rate_limit, retry_after = wait"), tokens("crate = again"), tokens("ne")];
    let text = ide::imports_of_classify(&words).to_string().replace(' ', "");
    assert!(text.contains("useagain::__private::ide_of_classify::*;"), "{text}");
    assert!(text.contains("{rate_limitas_,retry_afteras_,}"), "{text}");
    assert!(text.contains("{neas_,}"), "{text}");
}
