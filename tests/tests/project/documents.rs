//! The pages that people read: their tables are well-formed, and their links resolve.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Alignment, BrokenLink, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::root;

/// The largest readable number of columns; enforced for tables that a program writes.
const MOST_COLUMNS: usize = 6;

/// A page, as a Markdown renderer sees it.
#[derive(Default)]
pub(super) struct Page {
    /// Mistakes, each with its line.
    mistakes: Vec<(usize, String)>,
    links: Vec<(usize, String)>,
    /// Code in a page, in a line or in a block.
    pub(super) codes: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
    /// The line of each table, its number of columns, and how many of them contain words: figures
    /// are aligned to the right.
    tables: Vec<(usize, usize, usize)>,
}

impl Page {
    pub(super) fn read(text: &str) -> Self {
        let line_of = |offset: usize| text[..offset].matches('\n').count() + 1;
        let mut page = Self::default();
        // Lines with bars that are neither in a table nor in code.
        let mut bars = BTreeMap::<usize, usize>::new();
        let (mut in_code, mut in_table, mut heading) = (false, false, None::<String>);
        // A page shows the brackets of a link whose definition is missing.
        let mut undefined = Vec::new();
        let broken = |link: BrokenLink<'_>| {
            if link.link_type == LinkType::Reference {
                undefined.push((line_of(link.span.start), link.reference.into_string()));
            }
            None
        };
        let options = Options::ENABLE_TABLES;
        let parser = Parser::new_with_broken_link_callback(text, options, Some(broken));
        for (event, range) in parser.into_offset_iter() {
            let line = line_of(range.start);
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Start(Tag::Table(columns)) => {
                    in_table = true;
                    let figures = columns.iter().filter(|one| **one == Alignment::Right);
                    page.tables.push((line, columns.len(), columns.len() - figures.count()));
                    for (below, row) in text[range].lines().enumerate() {
                        let cells = cells(row);
                        if cells != columns.len() {
                            let columns = columns.len();
                            let mistake = format!("{cells} cells in a table of {columns} columns");
                            page.mistakes.push((line + below, mistake));
                        }
                    }
                }
                Event::End(TagEnd::Table) => in_table = false,
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.add_anchor(&heading.take().unwrap_or_default());
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((line, dest_url.into_string()));
                }
                // The pictures of a page that differ by its width and colours.
                Event::Html(words) | Event::InlineHtml(words) => {
                    let sources = ["src=\"", "srcset=\""].map(|name| words.split_once(name));
                    for (_, source) in sources.into_iter().flatten() {
                        let address = source.split('"').next().unwrap_or_default();
                        page.links.push((line, address.to_owned()));
                    }
                }
                Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        *heading += &words;
                    }
                    page.codes.push((line, words.into_string()));
                }
                Event::Text(words) if in_code => page.codes.push((line, words.into_string())),
                Event::Text(words) => {
                    if let Some(heading) = &mut heading {
                        *heading += &words;
                    }
                    if !in_table {
                        *bars.entry(line).or_default() += words.matches('|').count();
                    }
                }
                _ => {}
            }
        }
        let mistake = |(line, name)| (line, format!("[{name}] is not defined"));
        page.mistakes.extend(undefined.into_iter().map(mistake));
        let rows = bars.into_iter().filter(|(_, bars)| *bars > 1);
        let mistake = |(line, _)| (line, "a row of a table that is none".to_owned());
        page.mistakes.extend(rows.map(mistake));
        page
    }

    /// Named as on GitHub; repeated headings are numbered.
    fn add_anchor(&mut self, heading: &str) {
        let name: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        let mut anchor = name.clone();
        let mut number = 0;
        while !self.anchors.insert(anchor.clone()) {
            number += 1;
            anchor = format!("{name}-{number}");
        }
    }
}

/// The number of cells of a row. An escaped bar does not separate cells.
fn cells(row: &str) -> usize {
    let row = row.trim_start_matches([' ', '>']).trim_end();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = if row.ends_with("\\|") { row } else { row.strip_suffix('|').unwrap_or(row) };
    1 + row.matches('|').count() - row.matches("\\|").count()
}

/// All pages, by path from the root.
fn pages() -> BTreeMap<PathBuf, Page> {
    fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Page>) {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let entry = entry.expect("an entry of a folder");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            let path = folder.join(&name);
            if entry.file_type().expect("a type").is_dir() {
                if name == ".github" || !name.starts_with('.') && name != "target" {
                    collect(&path, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(entry.path()).expect("a page");
                found.insert(path, Page::read(&text));
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(Path::new(""), &mut found);
    assert!(found.contains_key(Path::new("README.md")), "the pages are elsewhere");
    found
}

#[track_caller]
fn assert_none(mistakes: &[String]) {
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}

#[test]
fn tables_are_tables() {
    let mut mistakes = Vec::new();
    for (path, page) in pages() {
        for (line, mistake) in page.mistakes {
            mistakes.push(format!("{}:{line}: {mistake}", path.display()));
        }
    }
    assert_none(&mistakes);
}

/// The guide has the rest.
#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    // A bar of a table is no word.
    let words = readme.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    let words = words.count();
    assert!(words <= 1_100, "{words} words");
}

/// A reader can try the library before following a link.
#[test]
fn no_link_of_the_readme_comes_before_the_first_command() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let command = readme.lines().position(|line| line.starts_with("cargo run"));
    let command = command.expect("a command") + 1;
    let before = Page::read(&readme).links.into_iter().filter(|(line, _)| *line < command);
    assert_none(
        &before.map(|(line, link)| format!("README.md:{line}: {link}")).collect::<Vec<_>>(),
    );
}

/// The messages that the README shows below a mistaken policy, each in one line.
#[test]
fn messages_in_the_readme_are_those_of_the_compiler() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let (_, block) = readme.split_once("```text\nerror: ").expect("messages");
    let (block, _) = block.split_once("\n```").expect("their end");
    let messages = block.replace("\n       ", " ");
    let messages: Vec<_> = messages.split("\nerror: ").collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    let folder = root().join("tests/ui/fail");
    let expected: String = fs::read_dir(folder)
        .expect("the expected messages")
        .map(|file| file.expect("a file").path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "stderr"))
        .map(|file| fs::read_to_string(file).expect("messages"))
        .collect();
    let unknown: Vec<_> =
        messages.iter().filter(|one| !expected.contains(&format!("error: {one}\n"))).collect();
    assert!(unknown.is_empty(), "the compiler does not write {unknown:#?}");
}

/// GitHub and rustdoc show about that many characters of a line of code on a screen 1,280 pixels
/// wide. Output of programs may be wider outside of the README.
#[test]
fn code_of_pages_fits_on_a_screen() {
    let mut mistakes = Vec::new();
    for (path, _) in pages().iter().filter(|(path, _)| is_read_first(path)) {
        let text = fs::read_to_string(root().join(path)).expect("a page");
        let mut block = None;
        for (line, words) in (1..).zip(text.lines()) {
            if let Some(kind) = words.strip_prefix("```") {
                block = if block.is_some() { None } else { Some(kind) };
            } else if block.is_some_and(|kind| kind != "text" || path.as_os_str() == "README.md") {
                let length = words.chars().count();
                if length > 96 && !words.starts_with("# ") {
                    mistakes.push(format!("{}:{line}: {length} characters", path.display()));
                }
            }
        }
    }
    assert_none(&mistakes);
}

/// The README, and the pages of the library's guide.
fn is_read_first(page: &Path) -> bool {
    page.as_os_str() == "README.md" || page.starts_with("retry-runtime/src/guide")
}

#[test]
fn the_first_example_of_the_readme_is_the_one_of_the_quickstart() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect(path);
    let (readme, example) = (read("README.md"), read("examples/quickstart/first.rs"));
    let (_, shown) = readme.split_once("```rust,no_run\n").expect("a first example");
    let (shown, _) = shown.split_once("```").expect("its end");
    let (_, code) = example.split_once("\n\n").expect("a header");
    assert_eq!(shown, code);
}

/// A phone shows three columns of words whole, and two narrow ones of figures beside them.
#[test]
fn tables_of_pages_fit_on_a_phone() {
    let mut mistakes = Vec::new();
    for (path, page) in pages().iter().filter(|(path, _)| is_read_first(path)) {
        for (line, columns, words) in &page.tables {
            if *words > 3 || *columns > 5 {
                mistakes.push(format!("{}:{line}: {columns} columns", path.display()));
            }
        }
    }
    assert_none(&mistakes);
}

/// The rows of the first table below a heading whose first cell is `name`: each cell by the name of
/// its row.
pub(super) fn figures(page: &str, heading: &str, name: &str) -> BTreeMap<String, Vec<String>> {
    let (_, section) = page.split_once(&format!("{heading}\n")).expect(heading);
    let rows = section.lines().skip_while(|line| !line.starts_with(&format!("| {name} |")));
    let cells = |line: &str| {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = cells(line);
            (cells.remove(0), cells)
        })
        .collect()
}

#[test]
fn figures_of_pages_are_those_of_the_benchmarks() {
    let read = |page| fs::read_to_string(root().join(page)).expect("a page");
    let benchmarks = read("docs/BENCHMARKS.md");
    let costs = figures(&read("retry-runtime/src/guide/costs.md"), "# Costs", "`#[retry]`");
    let success = "## What does a successful call cost?";
    let failures = "## What does a call that fails five times cost?";
    let heap = "## How much memory does a call take while it waits?";
    let build = "## What does a clean build cost?";
    let sources = [
        ("a success", success, "`#[retry]`", 0),
        ("five failures, waits of zero", failures, "`#[retry]`", 0),
        ("five failures, four timers", failures, "`#[retry]`", 2),
        ("heap of a call that waits", heap, "`#[retry]`", 0),
        ("a clean build", build, "`retry-runtime`", 0),
    ];
    // The rows of figures, the one of headings and the one below it.
    assert_eq!(costs.len(), sources.len() + 2, "{costs:?}");
    for (row, heading, table, column) in sources {
        let measured = figures(&benchmarks, heading, table);
        let rows = ["measured", "÷ loop by hand", "÷ backon", "÷ tokio-retry2"];
        let expected = rows.map(|name| measured[name][column].clone());
        assert_eq!(costs[row], expected, "costs.md: {row}");
    }
    let page = read("retry-runtime/src/guide/costs.md");
    let sizes = figures(&page, "# Size of a program", "`#[retry]`");
    let weights = figures(&benchmarks, "## What does a call site weigh?", "`#[retry]`");
    assert!(sizes.len() > 5, "{sizes:?}");
    for (row, figures) in sizes {
        assert_eq!(figures, weights[&row][..2], "costs.md: {row}");
    }
    let readme = read("README.md");
    let (success, heap) = (&costs["a success"], &costs["heap of a call that waits"]);
    for figure in [format!("{}, {} of a loop", success[0], success[1]), heap[1].clone()] {
        assert!(readme.contains(&figure), "README.md does not say {figure}");
    }
}

#[test]
fn figures_of_jobs_are_those_of_the_benchmarks() {
    let read = |page| fs::read_to_string(root().join(page)).expect("a page");
    let benchmarks = read("docs/BENCHMARKS.md");
    let readme = read("jobs/retry-workflow/README.md");
    let (_, table) = readme.split_once("| items per second | peak memory |\n").expect("a table");
    let rows: Vec<_> =
        table.lines().map(str::trim).skip(1).take_while(|line| line.starts_with('|')).collect();
    let machines = read("jobs/retry-workflow/src/guide/machines.md");
    let row = machines.lines().find(|line| line.starts_with("| items per second")).expect("a row");
    assert!(rows.len() > 5, "{rows:?}");
    for row in rows.iter().chain([&row]) {
        for figure in row.split([' ', ';', ')', '|']).map(|word| word.trim_matches(',')) {
            let is_rate = figure.contains(',') && figure.starts_with(|one: char| one.is_numeric());
            assert!(!is_rate || benchmarks.contains(figure), "{figure} of {row}");
        }
    }
    for row in rows {
        let mut cells = row.trim_end_matches('|').rsplit('|').map(str::trim);
        let (memory, rate) = (cells.next().expect("memory"), cells.next().expect("a rate"));
        let both = format!("| {rate} | {} |", memory.trim_end_matches(" each"));
        assert!(benchmarks.contains(&both), "{both} of {row}");
    }
}

#[test]
fn measured_tables_fit_on_a_screen() {
    let page = &pages()[Path::new("docs/BENCHMARKS.md")];
    assert!(!page.tables.is_empty());
    let wide = page.tables.iter().filter(|(_, columns, _)| *columns > MOST_COLUMNS);
    let wide =
        wide.map(|(line, columns, _)| format!("docs/BENCHMARKS.md:{line}: {columns} columns"));
    assert_none(&wide.collect::<Vec<_>>());
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let mut mistakes = Vec::new();
    // Links in pages that are included in rustdoc are checked by rustdoc; the guide is read in both
    // forms.
    let checked = pages.iter().filter(|(path, _)| {
        !path.iter().any(|folder| folder == "src") || path.iter().any(|folder| folder == "guide")
    });
    for (path, page) in checked {
        for (line, link) in &page.links {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                path.clone()
            } else {
                normal(&path.parent().unwrap_or(Path::new("")).join(file))
            };
            let leads = match pages.get(&target) {
                Some(page) => anchor.is_empty() || page.anchors.contains(anchor),
                None => root().join(&target).exists(),
            };
            if !leads {
                mistakes.push(format!("{}:{line}: {link} leads nowhere", path.display()));
            }
        }
    }
    assert_none(&mistakes);
}

/// Below the address of a repository, the registry takes the links of a crate's page as if they
/// stood in the crate's folder, wherever the page is.
#[test]
fn links_of_crates_lead_somewhere_on_the_registry() {
    let mut mistakes = Vec::new();
    for folder in crate::plan::CRATES.map(Path::new) {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml"));
        let manifest = manifest.expect("a manifest");
        let (_, readme) = manifest.split_once("\nreadme = \"").expect("a page of the crate");
        let readme = folder.join(readme.split('"').next().unwrap_or_default());
        let page = fs::read_to_string(root().join(&readme)).expect("the page of a crate");
        for (line, link) in Page::read(&page).links {
            let file = link.split('#').next().unwrap_or_default();
            if !link.contains("://") && !root().join(normal(&folder.join(file))).exists() {
                mistakes.push(format!("{}:{line}: {link} leads nowhere", readme.display()));
            }
        }
    }
    assert_none(&mistakes);
}

/// On docs.rs there is nothing but the documentation of crates.
#[test]
fn links_of_the_guide_stay_in_the_documentation() {
    let mut mistakes = Vec::new();
    for (path, page) in pages() {
        let Some(source) = path.ancestors().find(|folder| folder.ends_with("src")) else {
            continue;
        };
        for (line, link) in &page.links {
            let file = link.split('#').next().unwrap_or_default();
            let target = normal(&path.parent().unwrap_or(source).join(file));
            if !link.contains("://") && !target.starts_with(source) {
                mistakes.push(format!("{}:{line}: {link} is not on docs.rs", path.display()));
            }
        }
    }
    assert_none(&mistakes);
}

/// Rustdoc takes a link to a file for an address, unless a definition leads it to a module.
#[test]
fn links_between_pages_of_a_guide_lead_to_modules_in_the_documentation() {
    let mut mistakes = Vec::new();
    for (path, page) in pages() {
        let Some(folder) = path.parent().filter(|folder| folder.ends_with("src/guide")) else {
            continue;
        };
        let read = |file: PathBuf| fs::read_to_string(root().join(file)).unwrap_or_default();
        let definitions = read(folder.with_extension("rs")) + &read(folder.join("links.txt"));
        for (line, link) in page.links {
            let is_page = !link.starts_with('#') && !link.contains("://");
            if is_page && !definitions.contains(&format!("[{link}]: ")) {
                mistakes.push(format!("{}:{line}: {link} is not defined", path.display()));
            }
        }
    }
    assert_none(&mistakes);
}

/// The page of the library on docs.rs leads to files of the repository, whose address is known
/// only at a release.
#[test]
fn links_from_docs_rs_to_the_repository_lead_somewhere() {
    let library = fs::read_to_string(root().join("retry-runtime/src/lib.rs")).expect("a library");
    let paths = |begin: &str| -> Vec<String> {
        let after = library.split(begin).skip(1);
        let path = after.map(|rest| rest.split(['\\', '\n']).next().unwrap_or_default().to_owned());
        path.collect()
    };
    let (released, here) = (paths("/HEAD/"), paths("]: ../../../"));
    assert_eq!(released, here);
    assert!(released.len() >= 4, "{released:?}");
    let missing: Vec<_> = released.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Rustdoc sorts modules by name, so the list of the guide has the order.
#[test]
fn the_guide_lists_each_page() {
    let module = fs::read_to_string(root().join("retry-runtime/src/guide.rs")).expect("the guide");
    let (list, _) = module.split_once("\n\n").expect("a list");
    for (path, _) in pages() {
        if path.starts_with("retry-runtime/src/guide") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            assert!(list.contains(&format!("[`{name}`]")), "{name}");
        }
    }
}

#[test]
fn code_of_each_page_of_the_guide_is_compiled() {
    let read = |list| fs::read_to_string(root().join(list)).expect("a list of pages");
    let compiled = read("tests/src/lib.rs") + &read("tests/clients/src/lib.rs");
    let folder = fs::read_dir(root().join("retry-runtime/src/guide")).expect("the guide");
    let mut missing = Vec::new();
    for page in folder.map(|entry| entry.expect("an entry").path()) {
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let has_code = fs::read_to_string(&page).expect("a page").contains("\n```rust");
        if has_code && !compiled.contains(&format!("guide/{name}\"")) {
            missing.push(format!("{name}: add it to tests/src/lib.rs"));
        }
    }
    assert_none(&missing);
}

/// The tables of MIGRATING that come from the names which errors recognise.
///
/// `UPDATE_DOCUMENTS=1 cargo test -p retry-tests --test project by_name` writes them.
#[test]
fn the_page_lists_the_foreign_settings_that_errors_recognise() {
    use retry_rules::foreign_names::{BREAKER, ForeignName, RETRY, RETRY_ADVICE};

    let table = |rows: &[ForeignName], frame: &str| {
        let rows = rows.iter().map(|(names, here)| {
            let names: Vec<_> = names.split(' ').map(|name| format!("`{name}`")).collect();
            format!("| {} | {frame}{}{frame} |\n", names.join(", "), here.replace('|', "\\|"))
        });
        rows.collect::<String>()
    };
    let path = root().join("docs/MIGRATING.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- by name -->\n").expect("where they begin");
    let (_, after) = rest.split_once("<!-- end -->\n").expect("where they end");
    let head = "| there | here |\n| --- | --- |\n";
    let retry = table(RETRY, "`") + &table(RETRY_ADVICE, "");
    let tables = format!("{head}{retry}\nIn a breaker:\n\n{head}{}", table(BREAKER, "`"));
    let wanted = format!("{before}<!-- by name -->\n{tables}<!-- end -->\n{after}");
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert!(
            text == wanted,
            "docs/MIGRATING.md is not what errors say: run with UPDATE_DOCUMENTS=1"
        );
    }
}

#[test]
fn the_page_on_observing_lists_every_reason_and_every_metric() {
    let page = root().join("retry-runtime/src/guide/observing.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, reasons) = text.split_once("`reason` is one of ").unwrap();
    let (reasons, _) = reasons.split_once(". ").unwrap();
    let listed: Vec<_> = reasons.split(',').map(|one| one.trim().trim_matches('`')).collect();
    let all: Vec<_> = retry_runtime::Reason::ALL.iter().map(|one| one.as_str()).collect();
    assert_eq!(listed, all);
    let code = root().join("retry-runtime/src/observe/metrics.rs");
    let code = std::fs::read_to_string(code).unwrap();
    let metrics = code.lines().filter_map(|line| line.strip_prefix("const ")?.split('"').nth(1));
    let metrics: Vec<_> = metrics.filter(|name| name.starts_with("retry_")).collect();
    assert!(metrics.len() > 8, "{metrics:?}");
    for metric in metrics {
        let row = format!("| `{metric}` |");
        assert!(text.contains(&row), "OpenTelemetry's name of {metric}");
    }
}

#[test]
fn the_number_of_judged_cases_is_the_one_of_its_page() {
    let read = |page| fs::read_to_string(root().join(page)).expect("a page");
    let (readme, table) = (read("README.md"), read("docs/CLASSIFICATION.md"));
    let (before, _) = readme.split_once(" cases](docs/CLASSIFICATION.md)").expect("the cases");
    let cases = before.rsplit('[').next().unwrap_or_default();
    let counted = format!("{} cases", cases.replace(',', ""));
    assert!(table.contains(&counted), "docs/CLASSIFICATION.md does not say {counted}");
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path {
        match part.to_str() {
            Some("..") => _ = normal.pop(),
            Some(".") => {}
            _ => normal.push(part),
        }
    }
    normal
}

#[test]
fn malformed_tables_are_detected() {
    let mistakes = |text: &str| -> Vec<usize> {
        Page::read(text).mistakes.into_iter().map(|(line, _)| line).collect()
    };
    let table = "# A\n\n| a | b |\n| --- | ---: |\n| 1 | `\\|` |\n\nA `|` or | in a line.\n";
    assert!(mistakes(table).is_empty());
    assert!(mistakes("```\n| a | b |\n```\n").is_empty());
    assert_eq!(mistakes("text\n\n| a | b | | --- | --- | | 1 | 2 |\n| 3 | 4 |\n"), [3, 4]);
    assert_eq!(mistakes("| a | b |\n| --- | --- |\n| 1 |\n| 1 | 2 |\n| 1 | 2 | 3 |\n"), [3, 5]);
    assert_eq!(mistakes("| a | b |\n| 1 | 2 |\n"), [1, 2], "its second line is missing");
}

#[test]
fn anchors_are_named_as_on_github() {
    let page = Page::read("# `#[retry]`, and how\n\n## What\n\n## What\n\n[a](#what-1)\n");
    let anchors: Vec<&str> = page.anchors.iter().map(String::as_str).collect();
    assert_eq!(anchors, ["retry-and-how", "what", "what-1"]);
    assert_eq!(page.links, [(7, "#what-1".to_owned())]);
}
