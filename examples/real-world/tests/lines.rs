//! Checks the tables of line counts in README.md: each function with `#[retry]`, next to the
//! function `…_by_hand` in the tests of its file; and each with blocks, next to `…_by_functions`, too.
//! Counts lines of code as formatted by rustfmt.

use std::fs;
use std::path::Path;

/// The number of lines of code of a function: plain, with the attribute, and as a loop by hand.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lines {
    alone: usize,
    annotated: usize,
    by_hand: usize,
}

impl Lines {
    fn row(self, name: &str) -> String {
        let Self { alone, annotated, by_hand } = self;
        format!("{name} | {alone} | {annotated} | {by_hand} | {}", by_hand - annotated)
    }
}

#[test]
fn the_table_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("README.md is there");
    let modules = fs::read_to_string(root.join("src/lib.rs")).expect("lib.rs is there");
    let modules =
        modules.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));

    let (mut functions, mut with_blocks) = (Vec::new(), Vec::new());
    for module in modules {
        let file = format!("src/{module}.rs");
        let source = fs::read_to_string(root.join(&file)).expect("a module is a file");
        if let Some((function, lines)) = counted_with_blocks(&source) {
            with_blocks.push(format!("[{function}]({file}) | {lines}"));
            continue;
        }
        functions.extend(
            counted(&source).map(|(function, lines)| (format!("[{function}]({file})"), lines)),
        );
    }
    assert!(functions.len() >= 12, "{} functions", functions.len());
    let sum = |of: fn(&Lines) -> usize| functions.iter().map(|(_, lines)| of(lines)).sum();
    let total = Lines {
        alone: sum(|lines| lines.alone),
        annotated: sum(|lines| lines.annotated),
        by_hand: sum(|lines| lines.by_hand),
    };
    functions.push((String::new(), total));

    let is = readme.lines().filter_map(row).collect::<Vec<_>>();
    let mut to_be: Vec<_> = functions.iter().map(|(name, lines)| lines.row(name)).collect();
    to_be.extend(with_blocks);
    assert!(is == to_be, "README.md is to say:\n{}", to_be.join("\n"));
}

/// The line counts of the function with `#[retry]` in a file, if it has one.
fn counted(source: &str) -> Option<(&str, Lines)> {
    let annotated = item(source, |line| line.starts_with("#[retry("))?;
    let alone = annotated.find("fn ").map(|at| &annotated[at..])?;
    let (name, _) = alone[3..].split_once(['(', '<'])?;
    let by_hand = format!("fn {name}_by_hand");
    let by_hand = item(source, |line| line.contains(&by_hand) && !line.contains('.'));
    let by_hand = by_hand.unwrap_or_else(|| panic!("no `{name}_by_hand`"));
    let lines = Lines {
        alone: lines_of_code(alone),
        annotated: lines_of_code(annotated),
        by_hand: lines_of_code(by_hand),
    };
    Some((name, lines))
}

/// The lines of a function with blocks, if the file has one: with them, with a function for each step,
/// and with loops by hand.
fn counted_with_blocks(source: &str) -> Option<(&str, String)> {
    let (program, tests) = source.split_once("#[cfg(test)]")?;
    program.find("retrying!(")?;
    let with_blocks = item(program, |line| line.starts_with("pub async fn "))?;
    let (name, _) = with_blocks[with_blocks.find("fn ")? + 3..].split_once('(')?;
    let named = |name: String| move |line: &str| line.contains(&name) && !line.contains('.');
    let by_functions = item(tests, named(format!("fn {name}_by_functions")))?;
    let by_hand = item(tests, named(format!("fn {name}_by_hand")))?;
    let one_by_hand = item(tests, named("fn call_by_hand".to_owned()))?;
    let mut steps = 0;
    let mut rest = tests;
    while let Some(step) = item(rest, |line| line.starts_with("#[retry(")) {
        steps += lines_of_code(step);
        rest = &rest[rest.find(step)? + step.len()..];
    }
    let by_functions = lines_of_code(by_functions) + steps;
    let by_hand = lines_of_code(by_hand) + lines_of_code(one_by_hand);
    Some((name, format!("{} | {by_functions} | {by_hand}", lines_of_code(with_blocks))))
}

/// From the first matching line to the next closing brace with the same indentation.
fn item(source: &str, is_first: impl Fn(&str) -> bool) -> Option<&str> {
    let first = source.lines().find(|line| is_first(line.trim_start()))?;
    let indent = first.len() - first.trim_start().len();
    let item = &source[source.find(first)?..];
    let last = format!("\n{}}}\n", " ".repeat(indent));
    Some(&item[..item.find(&last)? + last.len()])
}

fn lines_of_code(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// A row of the table, without the description.
fn row(line: &str) -> Option<String> {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let [_, _, name, numbers @ .., _] = &cells[..] else { return None };
    numbers.first()?.parse::<usize>().ok()?;
    Some(format!("{name} | {}", numbers.join(" | ")))
}
