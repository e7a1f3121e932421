//! The cost of a job of many items on SQLite: our workflow, the store alone, and apalis; and, if
//! `RETRY_BENCH_POSTGRES` is the address of a server, on Postgres, also with `graphile_worker`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fmt, fs, iter};

use crate::race::median;
use crate::report::{Report, Section};
use crate::scratch::{cargo, target_folder};
use crate::table::Table;

/// The figures of one run; zero if unknown.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    items_per_second: f64,
    /// Without the time to add the items.
    handled_per_second: f64,
    mebibytes: f64,
    /// The rate of the last 100,000 items, divided by that of the first 100,000.
    flatness: f64,
    touched: Touched,
}

/// The work of a server per item.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    round_trips: f64,
    inserted: f64,
    updated: f64,
    deleted: f64,
    fetched: f64,
}

/// Runs one job in a separate process: which program, what it does, and how much.
#[derive(Clone, Copy, Debug)]
struct Racer {
    program: &'static str,
    what: &'static str,
    items: u32,
    at_a_time: u32,
}

impl Racer {
    const fn ours(what: &'static str, items: u32, at_a_time: u32) -> Self {
        Self { program: "jobs", what, items, at_a_time }
    }

    const fn peer(what: &'static str, items: u32, at_a_time: u32) -> Self {
        Self { program: "jobs-peers", what, items, at_a_time }
    }

    /// `true` if it is run several times for a median; a long run is reliable by itself.
    const fn is_repeated(self) -> bool {
        self.items < 1_000_000
    }

    fn is_on_postgres(self) -> bool {
        self.what.starts_with("postgres")
    }

    /// Runs it on a new store, which is removed afterwards.
    fn run(self) -> Run {
        let printed = self.printed();
        let figure = |name: &str| told(&printed, name)?.parse::<f64>().ok();
        let items = f64::from(self.items);
        let rate = |name| figure(name).map_or(0.0, |seconds| items / seconds);
        let each = |name| figure(name).map_or(0.0, |count| count / items);
        let flatness = figure("first").zip(figure("last"));
        Run {
            items_per_second: rate("seconds"),
            handled_per_second: rate("handling"),
            mebibytes: figure("peak").unwrap_or(0.0) / 1024.0,
            flatness: flatness.map_or(0.0, |(first, last)| first / last),
            touched: Touched {
                round_trips: each("trips"),
                inserted: each("inserted"),
                updated: each("updated"),
                deleted: each("deleted"),
                fetched: each("fetched"),
            },
        }
    }

    /// The output of a run.
    fn printed(self) -> String {
        let folder = Folder::new("jobs");
        let output = Command::new(target_folder().join("release").join(self.program))
            .args([self.what, &self.items.to_string(), &self.at_a_time.to_string()])
            .arg(
                server()
                    .filter(|_| self.is_on_postgres())
                    .unwrap_or_else(|| folder.0.join("jobs.db")),
            )
            .stderr(Stdio::inherit())
            .output()
            .expect("it was built just now");
        assert!(output.status.success(), "{self:?} failed");
        String::from_utf8(output.stdout).expect("children print UTF-8")
    }
}

/// A value in a child's output.
pub(super) fn told<'a>(printed: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = printed.lines().filter_map(|line| line.split_once('\t'));
    pairs.find(|(found, _)| *found == name).map(|(_, told)| told)
}

/// The server to use, if one is named.
pub(super) fn server() -> Option<PathBuf> {
    env::var_os("RETRY_BENCH_POSTGRES").map(PathBuf::from)
}

/// A folder for a store, on the disk of our own build, because a temporary folder may be in memory.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let folder = target_folder().join("retry-benches-scratch").join(name);
        // An earlier run that was killed may have left one behind.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a writable folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    what: &'static str,
    ours: Racer,
    /// Others that do the same, by name.
    others: &'static [(&'static str, Racer)],
}

impl Row {
    const fn of(what: &'static str, ours: Racer) -> Self {
        Self { what, ours, others: &[] }
    }

    const fn beside(self, others: &'static [(&'static str, Racer)]) -> Self {
        Self { others, ..self }
    }
}

/// In the order of the table.
const ROWS: [Row; 11] = [
    Row::of("100,000 items, 10 at a time", Racer::ours("workflow", 100_000, 10))
        .beside(&[("the store alone, by 100 items", Racer::ours("store", 100_000, 100))]),
    Row::of("100,000 items, 100 at a time", Racer::ours("workflow", 100_000, 100)),
    Row::of("100,000 items, `Synchronous::Full`", Racer::ours("full", 100_000, 10)),
    Row::of("1,000,000 items, 10 at a time", Racer::ours("workflow", 1_000_000, 10)),
    Row::of("10,000 items, 10 at a time", Racer::ours("workflow", 10_000, 10))
        .beside(&[("apalis", Racer::peer("apalis", 10_000, 10))]),
    Row::of("10,000 items, 100 at a time", Racer::ours("workflow", 10_000, 100))
        .beside(&[("apalis", Racer::peer("apalis", 10_000, 100))]),
    Row::of("10,000 items, `PostgresStore`, 10 at a time", Racer::ours("postgres", 10_000, 10))
        .beside(&[
            ("apalis", Racer::peer("postgres-apalis", 10_000, 10)),
            ("graphile_worker", Racer::peer("postgres-graphile", 10_000, 10)),
        ]),
    Row::of("100,000 items, `PostgresStore`, 10 at a time", Racer::ours("postgres", 100_000, 10)),
    Row::of("100,000 items, `PostgresStore`, 100 at a time", Racer::ours("postgres", 100_000, 100))
        .beside(&[
            ("the store alone, by 100 items", Racer::ours("postgres-store", 100_000, 100)),
            ("apalis", Racer::peer("postgres-apalis", 100_000, 100)),
            ("graphile_worker", Racer::peer("postgres-graphile", 100_000, 100)),
        ]),
    Row::of(
        "100,000 items, `PostgresStore`, two processes, each 100 at a time",
        Racer::ours("postgres-helped", 100_000, 100),
    )
    .beside(&[(
        "plain SQL, by 100 items, two connections",
        Racer::ours("postgres-by-hand", 100_000, 100),
    )]),
    Row::of(
        "2,000,000 items, `PostgresStore`, 100 at a time",
        Racer::ours("postgres", 2_000_000, 100),
    ),
];

/// The runs for which the server's work is counted.
const COUNTED: [Racer; 3] = [
    Racer::ours("postgres-counted", 100_000, 1),
    Racer::ours("postgres-counted", 100_000, 10),
    Racer::ours("postgres-counted", 100_000, 100),
];

/// Adds the section to the report, with the median of `runs` alternating runs.
pub fn run(report: &mut Report, runs: usize) {
    build(&["--features", "jobs", "--bin", "jobs"], Path::new("Cargo.toml"));
    build(&["--bin", "jobs-peers"], &Path::new("peers").join("Cargo.toml"));
    let is_run = |row: &Row| server().is_some() || !row.ours.is_on_postgres();
    let rows: Vec<Row> = ROWS.into_iter().filter(is_run).collect();
    let racers: Vec<Racer> = rows
        .iter()
        .flat_map(|row| iter::once(row.ours).chain(row.others.iter().map(|(_, racer)| *racer)))
        .collect();
    let mut told = vec![Vec::with_capacity(runs); racers.len()];
    for round in 0..runs {
        for (racer, told) in racers.iter().zip(&mut told) {
            if round == 0 || racer.is_repeated() {
                told.push(racer.run());
            }
        }
    }
    let mut told = told.iter().map(|runs| middle(runs));
    let mut section = Section::new("How many items does a job handle in a second?");
    let mut table = Table::new(
        2,
        ["a job of", "by", "items per second", "peak memory", "`retry-workflow` ÷ this"],
    );
    for Row { what, others, .. } in rows {
        let Some(ours) = told.next() else { break };
        table.row(cells(what, "`retry-workflow`", ours, String::new()));
        if ours.flatness > 0.0 {
            section.note(format!(
                "{what}: the last 100,000 went at {:.2} times the rate of the first.",
                ours.flatness
            ));
        }
        for ((name, _), theirs) in others.iter().zip(&mut told) {
            let ratio = ours.items_per_second / theirs.items_per_second;
            // The same tolerance as in other tables; here, more is better.
            let mark = if ratio < 0.97 { "**" } else { "" };
            table.row(cells("the same", name, theirs, format!("{mark}{ratio:.2}{mark}")));
            if theirs.handled_per_second > 0.0 {
                section.note(format!(
                    "{name}, {what}, all put in before: {} a second.",
                    Thousands(theirs.handled_per_second)
                ));
            }
        }
    }
    section.table(table);
    section.note(format!(
        "Items of 200 bytes that take no time, put in and handled, on 2 threads; SQLite with \
         `synchronous = NORMAL` unless stated otherwise; the median of {runs} runs, but \
         one run for a million items and more. Here more is better: **bold** marks figures where \
         another program does more."
    ));
    if server().is_some() {
        on_postgres(&mut section);
    } else {
        section.note("Without Postgres: RETRY_BENCH_POSTGRES=postgres://… names a server.");
    }
    section.note(
        "apalis on SQLite has 10,000 items: its time per item grows with their number, because \
         each acknowledgement scans all items that its worker ever had.",
    );
    report.add(section);
}

/// The work of the server, and its settings.
fn on_postgres(section: &mut Section) {
    let mut table = Table::new(
        1,
        ["for each item", "round trips", "rows inserted", "updated", "deleted", "rows fetched"],
    );
    for racer in COUNTED {
        let Touched { round_trips, inserted, updated, deleted, fetched } = racer.run().touched;
        let figures = [round_trips, inserted, updated, deleted, fetched];
        let what = format!("{} at a time", racer.at_a_time);
        table.row(iter::once(what).chain(figures.map(|figure| format!("{figure:.3}"))));
    }
    section.table(table);
    section.note(
        "For each item, enqueued and handled: each `Query` and `Sync` of Postgres' protocol is a round \
         trip, counted by a proxy, heartbeats and idle polls included; rows are counted by \
         `pg_stat_user_tables`, a row of history among them.",
    );
    let printed = Racer::ours("postgres-settings", 0, 0).printed();
    section.note(format!(
        "Postgres runs on the same machine; an item's history is written as well. Its settings: {}. \
         The peak of `retry-workflow` is measured in the process that enqueues the items.",
        told(&printed, "settings").expect("a server tells")
    ));
    section.note(
        "Plain SQL is a hand-written solution: items inserted by `unnest`, claimed by `UPDATE … FOR \
         UPDATE SKIP LOCKED … RETURNING`, settled by an update and an insert into a history in one \
         statement. It has no leases, no retries and no counts.",
    );
    section.note(
        "On Postgres, apalis has as many workers as items at a time, each with one item, pushes \
         1,000 at once and fetches 100, without `lock_tasks`; graphile_worker has a local queue of \
         1,000, completes in batches of 5 ms, and adds 1,000 at once. graphile_worker keeps \
         no record of a finished item.",
    );
}

fn cells(what: &str, who: &str, run: Run, ratio: String) -> [String; 5] {
    let rate = Thousands(run.items_per_second).to_string();
    [what.to_owned(), who.to_owned(), rate, format!("{:.0} MiB", run.mebibytes), ratio]
}

/// The median of each figure.
fn middle(runs: &[Run]) -> Run {
    let of = |figure: fn(&Run) -> f64| median(runs.iter().map(figure).collect());
    Run {
        items_per_second: of(|run| run.items_per_second),
        handled_per_second: of(|run| run.handled_per_second),
        mebibytes: of(|run| run.mebibytes),
        flatness: of(|run| run.flatness),
        touched: Touched::default(),
    }
}

/// Builds one of our programs, beside this one.
pub(super) fn build(arguments: &[&str], manifest: &Path) {
    let status = cargo()
        .args(["build", "--quiet", "--release"])
        .args(arguments)
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest))
        .arg("--target-dir")
        .arg(target_folder())
        .status()
        .expect("cargo runs");
    assert!(status.success(), "{} does not build", manifest.display());
}

/// A rate in hundreds, because measurements are no more precise than that, with commas as
/// separators.
pub(super) struct Thousands(pub(super) f64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0 < 10_000.0 {
            format!("{:.0}", self.0)
        } else {
            format!("{:.0}00", self.0 / 100.0)
        };
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                write!(f, ",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}
