//! Stores with ten thousand to ten million items: the work of a worker, and the pages of the board.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{row, sizes, table, time};
use crate::parts::board::{Board, SIGNATURE, forget};
use crate::parts::jobs::{Folder, build, server, told};
use crate::report::Section;
use crate::scratch::target_folder;

/// The number of copies of the first 10,000 items.
const COPIES: [(&str, u32); 4] = [("10⁴ items", 1), ("10⁵", 10), ("10⁶", 100), ("10⁷", 1_000)];
const ITEMS: u32 = 10_000;

/// The number of requests of a page.
const ASKED: usize = 50;

/// A hundred items at a time.
const WORK: [&str; 3] = ["enqueue", "claim", "settle"];

/// `MIDDLE` stands for the number of the item in the middle.
const PAGES: [(&str, &str); 9] = [
    ("the job", "/job?id=night-1"),
    ("dead letters", "/dead-letters"),
    ("… from the middle", "/dead-letters?after=MIDDLE"),
    ("… of the job, from the middle", "/dead-letters?job=night-1&after=MIDDLE"),
    ("… of a class that none has", "/dead-letters?class=panic"),
    ("… of a signature", SIGNATURE),
    ("… of the last two hours", "/dead-letters?since=2h+ago"),
    ("… that say a rare word", "/dead-letters?text=order+9998"),
    ("an item", "/item?job=night-1&id=4710"),
];

pub(super) fn measure(section: &mut Section, is_quick: bool) {
    build(&["--features", "board", "--bin", "board", "--bin", "grow"], Path::new("Cargo.toml"));
    let sizes = sizes(&COPIES, is_quick);
    let folder = Folder::new("growth");
    grow(section, "SQLite", &folder.0.join("jobs.db"), sizes);
    drop(folder);
    if let Some(server) = server() {
        // An earlier run that was killed may have left a schema behind.
        forget(&server);
        grow(section, "Postgres", &server, sizes);
        forget(&server);
    }
    section.note(
        "Half of the items wait, the others are dead letters in 200 signatures; a worker enqueues, \
         claims and settles 100 at a time, and the pages are those of the board, which find their 50 \
         letters by an index. Times are medians.",
    );
    section.note(
        "No index finds letters by word or by time, nor by signature without a job. Such a page \
         takes longer in a larger store until it has searched for 60 ms; then it shows what it has \
         found, and a link to the rest.",
    );
}

fn grow(section: &mut Section, name: &str, store: &Path, sizes: &[(&'static str, u32)]) {
    let mut times = vec![Vec::new(); WORK.len() + PAGES.len()];
    let (mut seconds, mut bytes) = (0.0, 0.0);
    for (_, copies) in sizes {
        let output = Command::new(target_folder().join("release").join("grow"))
            .arg(copies.to_string())
            .arg(store)
            .stderr(Stdio::inherit())
            .output()
            .expect("it was built just now");
        assert!(output.status.success(), "{name} could not be filled");
        let printed = String::from_utf8(output.stdout).expect("children print UTF-8");
        let figure = |name| {
            let told = told(&printed, name).and_then(|figure| figure.parse::<f64>().ok());
            told.expect("a child prints its figures")
        };
        seconds += figure("grown");
        bytes = figure("bytes");
        let mut board = Board::start(store);
        let middle = (copies * ITEMS / 2).to_string();
        let pages = PAGES.map(|(_, page)| {
            board.ask_often(&page.replace("MIDDLE", &middle), ASKED).median.as_secs_f64()
        });
        for (times, time) in times.iter_mut().zip(WORK.map(figure).into_iter().chain(pages)) {
            times.push(time);
        }
    }
    let mut shown = table(&format!("{name} with"), sizes.iter().map(|(name, _)| *name));
    let names = WORK.into_iter().map(|what| format!("{what} 100 items"));
    let names = names.chain(PAGES.map(|(what, _)| what.to_owned()));
    for (what, times) in names.zip(&times) {
        row(&mut shown, &what, times, time);
    }
    section.table(shown);
    section.note(format!("{name}: {:.1} GB in the end, written in {seconds:.0} s.", bytes / 1e9));
}
