//! The compiler's words without the parts that depend on where the libraries are, and on each line of
//! them.

/// Removes the numbers of lines in libraries, the folders in which they are, and the compiler's last
/// words.
pub(crate) fn words(said: &str, case: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_library = false;
    for line in said.lines() {
        let ending =
            ["error: aborting due to ", "For more information about ", "Some errors have "];
        if ending.iter().any(|it| line.starts_with(it)) {
            continue;
        }
        if let Some((margin, path)) = place(line) {
            let path = path.strip_prefix("tests/ui/").unwrap_or(path);
            in_library = !path.starts_with(case);
            let path = if in_library { library(path) } else { path.into() };
            lines.push(format!("{margin}{path}"));
            continue;
        }
        let number = line.trim_start_matches(|it: char| it == ' ' || it.is_ascii_digit());
        in_library &= number.starts_with(['|', '.']);
        let line = if in_library {
            format!("{}{number}", " ".repeat(line.len() - number.len()))
        } else {
            line.replace("@tests/ui/", "@$DIR/")
        };
        let after_blank = lines.last().is_none_or(String::is_empty);
        if !(line.is_empty() && after_blank) {
            lines.push(line.trim_end().into());
        }
    }
    for message in lines.chunk_by_mut(|_, next| !is_heading(next)) {
        narrow(message);
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Splits a line that says where something is.
fn place(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start();
    let path = rest.strip_prefix("--> ").or_else(|| rest.strip_prefix("::: "))?;
    Some(line.split_at(line.len() - path.len()))
}

/// A file of a library, without the number of its line.
fn library(path: &str) -> String {
    let file = path.trim_end_matches(|it: char| it == ':' || it.is_ascii_digit());
    match file.split_once("/library/") {
        Some((_, file)) => format!("$RUST/{file}"),
        None => format!("$WORKSPACE/{file}"),
    }
}

pub(crate) fn is_heading(line: &str) -> bool {
    ["error", "warning"]
        .iter()
        .any(|kind| line.strip_prefix(kind).is_some_and(|rest| rest.starts_with([':', '['])))
}

/// Narrows the margin of a message, which is as wide as the largest number in it.
fn narrow(message: &mut [String]) {
    let too_much = message.iter().filter_map(|line| margin(line)).min().unwrap_or(0);
    for line in message {
        // The lines of a note without a sign stand far to the right.
        let is_after_margin = margin(line).is_some() || line.starts_with(&" ".repeat(10));
        if is_after_margin && let Some(at) = line.find(' ') {
            line.replace_range(at..at + too_much, "");
        }
    }
}

/// The spaces in the margin of a line, all but one.
fn margin(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("...").unwrap_or(line);
    let sign = rest.trim_start_matches(|it: char| it == ' ' || it.is_ascii_digit());
    let margin = &rest[..rest.len() - sign.len()];
    let spaces = margin.matches(' ').count();
    let is_place = ["= ", "--> ", "::: "].iter().any(|it| sign.starts_with(it));
    let is_code =
        sign.starts_with('|') || margin.len() > spaces && sign.starts_with(['+', '-', '~']);
    (is_place || is_code).then(|| spaces.saturating_sub(1))
}
