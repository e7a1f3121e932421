//! The page that the figures are published on.

use std::fmt::Write as _;

use crate::report::{Case, Count, Decision, Judgement, Report, Wrapping};

/// Writes the page; `others` are earlier runs by name, whose right answers are shown beside.
pub fn page(report: &Report, others: &[(String, Report)]) -> String {
    let mut page = String::new();
    let total = report.total();
    let _ = write!(
        page,
        "# Classification

`cargo run --manifest-path tests/clients/Cargo.toml > docs/CLASSIFICATION.md` writes this page.

Real clients are run against real servers and small fakes, and made to fail. The right decision of
an experienced engineer about each failure was recorded beforehand. This page compares it with the
decision of `retry_on = [transient]`. {} failures of {} clients, each in {} wrappings, are {} cases, of which **{} are judged right
({})**: {} of {} permanent failures are retried, {} of {} transient ones are not, and {} conflicts
are not recognized. Many texts mislead on purpose, such as a user called \"timeout\".

The rules were made with these failures in view. The figures show that these failures stay known, not
how unseen errors are classified. For that, [the corpus](../tests/clients/corpus/README.md) holds a third
of its texts back.

## By client

| client | cases | right | false retries | missed | missed conflicts |",
        report.cases.iter().filter(|case| case.decision != Decision::Undecided).count(),
        report.clients().len(),
        Wrapping::ALL.iter().filter(|wrapping| wrapping.counts()).count(),
        total.all,
        total.right,
        percent(total.right, total.all),
        total.false_retries,
        total.permanent,
        total.missed,
        total.transient,
        total.missed_conflicts,
    );
    for (name, _) in others {
        let _ = write!(page, " {name} |");
    }
    page.push_str("\n| --- | ---: | ---: | ---: | ---: | ---: |");
    page.push_str(&" ---: |".repeat(others.len()));
    page.push('\n');
    for client in report.clients() {
        let of = |report: &Report| {
            report.count(|case, one| case.client == client && one.wrapping.counts())
        };
        row(&mut page, client, of(report), others.iter().map(|(_, other)| of(other)));
    }
    let totals = others.iter().map(|(_, other)| other.total());
    row(&mut page, "**all**", total, totals);
    if !others.is_empty() {
        page.push_str("\nThe last columns count the right answers of other runs: `without` any feature of a client; \
             and `before` the innermost known type decided, and conflicts had a matcher of their own.\n");
    }

    page.push_str(
        "
## By wrapping

`#[error(transparent)]` passes the error's source off as its own, which hides the client's type:
`#[derive(Classify)]` shows it. A `String` has lost its cause, and is not part of any total.

| returned as | cases | right | false retries | missed | missed conflicts |",
    );
    for (name, _) in others {
        let _ = write!(page, " {name} |");
    }
    page.push_str("\n| --- | ---: | ---: | ---: | ---: | ---: |");
    page.push_str(&" ---: |".repeat(others.len()));
    page.push('\n');
    for wrapping in Wrapping::ALL {
        let of = |report: &Report| report.count(|_, one| one.wrapping == wrapping);
        row(&mut page, wrapping.name(), of(report), others.iter().map(|(_, other)| of(other)));
    }

    page.push_str(
        "
## Waits

Failures in which the server asks for a wait. `reqwest` errors contain no headers, so they have no
wait. `retry_runtime::http::check` turns a response into a `StatusError`, which has it.

| client | asked to wait | obeyed |
| --- | ---: | ---: |
",
    );
    for (client, asked, obeyed) in report.waits() {
        let _ = writeln!(page, "| {client} | {asked} | {obeyed} |");
    }

    page.push_str("\n## Misjudged cases\n\n");
    if report.wrong().next().is_none() {
        page.push_str("Nothing.\n");
    } else {
        page.push_str("| client | failure | returned as | should be | texts |\n| --- | --- | --- | --- | --- |\n");
        for (case, judgement) in report.wrong() {
            wrong(&mut page, case, judgement);
        }
    }

    page.push_str(
        "\n## Undecided cases\n\nTwo engineers would differ on these cases. They are not part of any total.\n\n",
    );
    page.push_str("| client | failure | retried | text |\n| --- | --- | --- | --- |\n");
    for case in report.cases.iter().filter(|case| case.decision == Decision::Undecided) {
        let retried = case.judgements.iter().any(|one| one.wrapping.counts() && one.retried);
        let retried = if retried { "yes" } else { "no" };
        let text = cell(case.texts.last().map_or("", String::as_str));
        let _ =
            writeln!(page, "| {} | {} | {retried} | {text} |", case.client, cell(&case.failure));
    }
    if !report.skipped.is_empty() {
        let _ = writeln!(page, "\nSkipped, because not installed: {}.", report.skipped.join(", "));
    }
    page
}

fn row(page: &mut String, name: &str, count: Count, others: impl Iterator<Item = Count>) {
    let Count { all, right, false_retries, missed, missed_conflicts, .. } = count;
    let _ = write!(
        page,
        "| {name} | {all} | {right} | {false_retries} | {missed} | {missed_conflicts} |"
    );
    for other in others {
        // The other run may have had other servers.
        let _ = match other.all {
            0 => write!(page, " – |"),
            same if same == all => write!(page, " {} |", other.right),
            of => write!(page, " {} of {of} |", other.right),
        };
    }
    page.push('\n');
}

fn wrong(page: &mut String, case: &Case, judgement: &Judgement) {
    let texts: Vec<String> = judgement.texts.iter().map(|text| cell(text)).collect();
    let _ = writeln!(
        page,
        "| {} {} | {} | {} | {:?} | {} |",
        case.client,
        case.version,
        cell(&case.failure),
        judgement.wrapping.name(),
        case.decision,
        texts.join(" ← "),
    );
}

/// A text that stays within its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Percent, with one digit behind the point.
fn percent(part: usize, of: usize) -> String {
    let permille = (part * 1000).checked_div(of).unwrap_or(0);
    format!("{}.{} %", permille / 10, permille % 10)
}
